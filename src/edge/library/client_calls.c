/*
 * The blocking calls: each one steps and polls the client until its deadline.
 */
#include "edge/library/client.h"

#include "edge/process/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static uint64_t deadline_of(const struct headgate_client *client)
{
    return clock_monotonic_ns() + (uint64_t)client->timeout_ms * 1000000;
}

/* Waits until the connection is ready, then steps. Closes the connection when the deadline passes. */
static enum headgate_client_status wait_and_step(struct headgate_client *client, uint64_t deadline_ns)
{
    int wanted = headgate_client_wanted(client);
    struct pollfd ready = {.fd = headgate_client_fd(client)};
    ready.events =
        (short)((wanted & HEADGATE_CLIENT_READ ? POLLIN : 0) | (wanted & HEADGATE_CLIENT_WRITE ? POLLOUT : 0));
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns + 999999) / 1000000 : 0;
        int count = poll(&ready, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
        if (count > 0)
            break;
        if (count < 0 && errno != EINTR) {
            int error = errno;
            headgate_client_close(client);
            return client_fail(client, HEADGATE_CLIENT_CLOSED, "cannot wait for %s: %s", client->address,
                               strerror(error));
        }
        if (count == 0 && left_ms == 0) {
            headgate_client_close(client);
            return client_fail(client, HEADGATE_CLIENT_TIMEOUT,
                               "the daemon at %s did not answer within %" PRIu32 " ms", client->address,
                               client->timeout_ms);
        }
    }
    int events = ((ready.revents & POLLIN) ? HEADGATE_CLIENT_READ : 0) |
                 ((ready.revents & POLLOUT) ? HEADGATE_CLIENT_WRITE : 0);
    if (ready.revents & (POLLERR | POLLHUP))
        events = HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE;
    return headgate_client_step(client, events);
}

enum headgate_client_status headgate_client_connect(struct headgate_client *client)
{
    uint64_t deadline_ns = deadline_of(client);
    enum headgate_client_status status = headgate_client_start(client);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    do {
        status = wait_and_step(client, deadline_ns);
    } while (status == HEADGATE_CLIENT_AGAIN);
    return status;
}

enum headgate_client_status headgate_client_command(struct headgate_client *client, size_t count,
                                                    const char *const *words, const size_t *sizes,
                                                    const struct headgate_reply **reply)
{
    uint64_t deadline_ns = deadline_of(client);
    *reply = NULL;
    if (client->pending > 0)
        return client_fail(client, HEADGATE_CLIENT_USAGE, "%zu replies to earlier requests are pending",
                           client->pending);
    enum headgate_client_status status = headgate_client_queue(client, count, words, sizes);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    /* The result of the step does not matter, poll reports it: a reply that came with the end of
     * the connection still counts. */
    (void)headgate_client_step(client, HEADGATE_CLIENT_WRITE);
    while ((status = headgate_client_poll(client, reply)) == HEADGATE_CLIENT_AGAIN) {
        status = wait_and_step(client, deadline_ns);
        if (headgate_client_fd(client) < 0 && client->pending == 0)
            break; /* this side closed the connection and has set the sentence */
    }
    if (status == HEADGATE_CLIENT_CLOSED)
        client->pending = 0; /* its reply will never come */
    return status;
}

const struct headgate_reply *headgate_reply_at(const struct headgate_reply *array, uint32_t index)
{
    if (!array || array->kind != HEADGATE_REPLY_ARRAY || index >= array->count)
        return NULL;
    const struct headgate_reply *element = array + 1;
    while (index-- > 0)
        element += element->span;
    return element;
}

enum headgate_client_status client_misunderstood(struct headgate_client *client, const char *command)
{
    return client_fail(client, HEADGATE_CLIENT_PROTOCOL, "the answer of %s to %s has another form than expected",
                       client->address, command);
}

enum headgate_client_status headgate_client_can_access(struct headgate_client *client, const char *key,
                                                       size_t key_size, uint64_t cost, bool *allowed)
{
    char digits[24];
    int digit_count = snprintf(digits, sizeof digits, "%" PRIu64, cost);
    const char *words[3] = {"CAN_ACCESS", key, digits};
    size_t sizes[3] = {strlen(words[0]), key_size, (size_t)digit_count};
    const struct headgate_reply *reply;
    *allowed = false;
    enum headgate_client_status status = headgate_client_command(client, cost == 1 ? 2 : 3, words, sizes, &reply);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    if (!reply || reply->kind != HEADGATE_REPLY_INTEGER || (reply->integer != 0 && reply->integer != 1))
        return client_misunderstood(client, words[0]);
    *allowed = reply->integer == 1;
    return HEADGATE_CLIENT_OK;
}

/* The elements are allowed, limit, remaining, retry_after_ms, reset_after_ms and rule; a later version may append
 * others. */
bool headgate_client_read_verdict(const struct headgate_reply *reply, struct headgate_client_verdict *verdict)
{
    int64_t number[5];
    for (uint32_t i = 0; i < 5; i++) {
        const struct headgate_reply *element = headgate_reply_at(reply, i);
        if (!element || element->kind != HEADGATE_REPLY_INTEGER)
            return false;
        number[i] = element->integer;
    }
    const struct headgate_reply *rule = headgate_reply_at(reply, 5);
    if (!rule || rule->kind != HEADGATE_REPLY_TEXT || rule->size >= sizeof verdict->rule || number[1] < -1 ||
        number[2] < -1)
        return false;
    verdict->allowed = number[0] == 1;
    verdict->limit = number[1] < 0 ? HEADGATE_CLIENT_UNLIMITED : (uint64_t)number[1];
    verdict->remaining = number[2] < 0 ? HEADGATE_CLIENT_UNLIMITED : (uint64_t)number[2];
    verdict->retry_after_ms = number[3];
    verdict->reset_after_ms = number[4];
    memcpy(verdict->rule, rule->text, rule->size + 1);
    return true;
}

enum headgate_client_status headgate_client_ask(struct headgate_client *client, size_t count,
                                                const char *const *words, struct headgate_client_verdict *verdict)
{
    const struct headgate_reply *reply;
    memset(verdict, 0, sizeof *verdict);
    enum headgate_client_status status = headgate_client_command(client, count, words, NULL, &reply);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    return headgate_client_read_verdict(reply, verdict) ? HEADGATE_CLIENT_OK
                                                        : client_misunderstood(client, words[0]);
}

enum headgate_client_status headgate_client_check(struct headgate_client *client, const char *id, uint64_t cost,
                                                  const char *rule, bool spend,
                                                  struct headgate_client_verdict *verdict)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, cost);
    const char *words[6] = {spend ? "CHECK" : "PEEK", id, "COST", digits, "RULE", rule};
    return headgate_client_ask(client, rule ? 6 : 4, words, verdict);
}
