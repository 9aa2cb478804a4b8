/*
 * Connecting, failing and reading replies, for all subcommands.
 */
#include "operator/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* The daemon did what it was asked for, and could not write it: what a program tries again would change nothing. */
static bool is_in_force(const char *message)
{
    static const char word[] = "NOTKEPT ";
    return strncmp(message, word, sizeof word - 1) == 0;
}

int command_failed(const char *name, const struct headgate_client *client, enum headgate_client_status status)
{
    fprintf(stderr, "headgate %s: %s\n", name, headgate_client_message(client));
    switch (status) {
    case HEADGATE_CLIENT_OK:
    case HEADGATE_CLIENT_AGAIN:
        break;
    case HEADGATE_CLIENT_USAGE:
    case HEADGATE_CLIENT_FULL:
        return EX_USAGE;
    case HEADGATE_CLIENT_UNREACHABLE:
    case HEADGATE_CLIENT_TIMEOUT:
    case HEADGATE_CLIENT_CLOSED:
        return EX_UNAVAILABLE;
    case HEADGATE_CLIENT_PROTOCOL:
        return EX_PROTOCOL;
    case HEADGATE_CLIENT_REFUSED:
        return is_in_force(headgate_client_message(client)) ? EX_IOERR : EX_DATAERR;
    }
    return EX_SOFTWARE;
}

int command_no_memory(const char *name)
{
    fprintf(stderr, "headgate %s: not enough memory\n", name);
    return EX_OSERR;
}

int command_unexpected(const char *name, const char *at)
{
    fprintf(stderr, "headgate %s: %s answered in a form that was not expected: is it a headgate daemon?\n", name,
            at);
    return EX_PROTOCOL;
}

struct command_access command_access_of(const char *const *values)
{
    return (struct command_access){.user = values[0],
                                   .tls = values[1] != NULL,
                                   .ca = values[2],
                                   .certificate = values[3],
                                   .key = values[4]};
}

bool command_access_fits(const char *name, const struct command_access *access, const char *key)
{
    const char *password = getenv("HEADGATE_PASSWORD");
    if (!access->tls && (access->ca || access->certificate || access->key))
        fprintf(stderr, "headgate %s: --cacert, --cert and --%s have no effect without --tls\n", name, key);
    else if (!access->certificate != !access->key)
        fprintf(stderr, "headgate %s: --cert and --%s belong together\n", name, key);
    else if (access->user && (!password || !password[0]))
        fprintf(stderr, "headgate %s: --user needs the user's secret in $HEADGATE_PASSWORD\n", name);
    else
        return true;
    return false;
}

/* A port for TLS closes whoever says something else, without a word. */
static int failed_over(const char *name, const struct headgate_client *client, enum headgate_client_status status,
                       const struct command_access *access)
{
    const int failure = command_failed(name, client, status);
    if (status == HEADGATE_CLIENT_CLOSED && !access->tls)
        fprintf(stderr, "headgate %s: a port for TLS does that: is --tls missing?\n", name);
    return failure;
}

/* A file that cannot be read is no fault of the daemon. */
static bool has_files(const char *name, const struct command_access *access)
{
    const char *const files[] = {access->ca, access->certificate, access->key};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        FILE *file = files[i] ? fopen(files[i], "rb") : NULL;
        if (file)
            (void)fclose(file);
        if (!files[i] || file)
            continue;
        fprintf(stderr, "headgate %s: %s cannot be read: %s\n", name, files[i], strerror(errno));
        return false;
    }
    return true;
}

struct headgate_client *command_connect(const char *name, const char *at, uint32_t timeout_ms,
                                        const struct command_access *access, int *status)
{
    struct headgate_client_options options = {.address = at,
                                              .timeout_ms = timeout_ms,
                                              .reply_elements_max = 16384,
                                              .tls = access->tls,
                                              .tls_ca = access->ca,
                                              .tls_certificate = access->certificate,
                                              .tls_key = access->key};
    if (!has_files(name, access)) {
        *status = EX_NOINPUT;
        return NULL;
    }
    struct headgate_client *client = headgate_client_create(&options);
    if (!client) {
        *status = command_no_memory(name);
        return NULL;
    }
    const char *password = getenv("HEADGATE_PASSWORD");
    const char *words[3] = {"AUTH", access->user ? access->user : password, password};
    const struct headgate_reply *reply;
    enum headgate_client_status reached = headgate_client_connect(client);
    if (reached == HEADGATE_CLIENT_OK && password && password[0])
        reached = headgate_client_command(client, access->user ? 3 : 2, words, NULL, &reply);
    if (reached == HEADGATE_CLIENT_OK)
        return client;
    *status = failed_over(name, client, reached, access);
    headgate_client_destroy(&client);
    return NULL;
}

int command_exchange(const struct invocation *invocation, const char *const *words, size_t count,
                     enum headgate_reply_kind expected,
                     void (*print)(const struct invocation *, const struct headgate_reply *))
{
    return command_exchange_checked(invocation, words, count, expected, NULL, print);
}

int command_exchange_checked(const struct invocation *invocation, const char *const *words, size_t count,
                             enum headgate_reply_kind expected,
                             int (*check)(const struct invocation *, const struct headgate_reply *),
                             void (*print)(const struct invocation *, const struct headgate_reply *))
{
    int failure;
    struct headgate_client *client =
        command_connect(invocation->name, invocation->at, invocation->timeout_ms, &invocation->access, &failure);
    if (!client)
        return failure;
    const struct headgate_reply *reply;
    enum headgate_client_status status = headgate_client_command(client, count, words, NULL, &reply);
    if (status != HEADGATE_CLIENT_OK) {
        failure = failed_over(invocation->name, client, status, &invocation->access);
    } else if (reply->kind != expected) {
        failure = command_unexpected(invocation->name, invocation->at);
    } else {
        failure = check ? check(invocation, reply) : EX_OK;
        if (failure == EX_OK)
            print(invocation, reply);
    }
    headgate_client_destroy(&client);
    return failure;
}

const struct headgate_reply *command_member(const struct headgate_reply *map, const char *name)
{
    for (uint32_t i = 0; i + 1 < map->count; i += 2) {
        const struct headgate_reply *key = headgate_reply_at(map, i);
        if (key->kind == HEADGATE_REPLY_TEXT && strcmp(key->text, name) == 0)
            return headgate_reply_at(map, i + 1);
    }
    return NULL;
}

int64_t command_member_integer(const struct headgate_reply *map, const char *name)
{
    const struct headgate_reply *value = command_member(map, name);
    return value && value->kind == HEADGATE_REPLY_INTEGER ? value->integer : 0;
}

const char *command_member_text(const struct headgate_reply *map, const char *name)
{
    const struct headgate_reply *value = command_member(map, name);
    return value && value->kind == HEADGATE_REPLY_TEXT ? value->text : "";
}

const char *command_duration(char out[UNITS_TEXT_BYTES], int64_t ms)
{
    return units_format_duration_short(out, UNITS_TEXT_BYTES, (uint64_t)(ms < 0 ? 0 : ms) * 1000000);
}

bool command_take_timeout(const char *name, const char *value, uint32_t *timeout_ms)
{
    uint64_t ns = COMMAND_TIMEOUT_MS * UINT64_C(1000000);
    if (value && !units_take(bytes_of(value), units_parse_duration, 1000000, UINT64_C(3600000000000), &ns)) {
        fprintf(stderr, "headgate %s: --timeout is \"%s\": expected a duration from 1ms to 1h\n", name, value);
        return false;
    }
    *timeout_ms = (uint32_t)(ns / 1000000);
    return true;
}
