/*
 * Reservations: each call is one command and reads the form of its answer.
 */
#include "edge/library/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ID_AT = 6 }; /* of the answer to RESERVE: behind the figures and the rule */

enum headgate_client_status headgate_client_reserve(struct headgate_client *client, size_t count,
                                                    const char *const *words,
                                                    struct headgate_client_reservation *reservation)
{
    const struct headgate_reply *reply;
    memset(reservation, 0, sizeof *reservation);
    const enum headgate_client_status status = headgate_client_command(client, count, words, NULL, &reply);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    const struct headgate_reply *id = headgate_reply_at(reply, ID_AT);
    struct headgate_client_verdict verdict;
    if (!id || !headgate_client_read_verdict(reply, &verdict) ||
        id->kind != (verdict.allowed ? HEADGATE_REPLY_TEXT : HEADGATE_REPLY_NIL) ||
        id->size >= sizeof reservation->id)
        return client_misunderstood(client, words[0]);
    reservation->verdict = verdict;
    if (verdict.allowed)
        memcpy(reservation->id, id->text, id->size + 1);
    return HEADGATE_CLIENT_OK;
}

/* Sends the command, with `number` as its last word unless that is NULL. The answer is a number up to `most`. */
static enum headgate_client_status end(struct headgate_client *client, const char *command, const char *id,
                                       const uint64_t *number, int64_t most, int64_t *answer)
{
    char digits[24];
    const char *words[] = {command, id, digits};
    const struct headgate_reply *reply;
    *answer = 0;
    (void)snprintf(digits, sizeof digits, "%" PRIu64, number ? *number : 0);
    const enum headgate_client_status status = headgate_client_command(client, number ? 3 : 2, words, NULL, &reply);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    if (reply->kind != HEADGATE_REPLY_INTEGER || reply->integer < 0 || reply->integer > most)
        return client_misunderstood(client, command);
    *answer = reply->integer;
    return HEADGATE_CLIENT_OK;
}

enum headgate_client_status headgate_client_commit(struct headgate_client *client, const char *id, uint64_t cost,
                                                   uint64_t *charged)
{
    int64_t answer;
    const enum headgate_client_status status = end(client, "COMMIT", id, &cost, INT64_MAX, &answer);
    *charged = (uint64_t)answer;
    return status;
}

enum headgate_client_status headgate_client_cancel(struct headgate_client *client, const char *id, bool *done)
{
    int64_t answer;
    const enum headgate_client_status status = end(client, "CANCEL", id, NULL, 1, &answer);
    *done = answer == 1;
    return status;
}

enum headgate_client_status headgate_client_renew(struct headgate_client *client, const char *id, uint64_t ttl_ms,
                                                  bool *done)
{
    int64_t answer;
    const enum headgate_client_status status = end(client, "RENEW", id, &ttl_ms, 1, &answer);
    *done = answer == 1;
    return status;
}
