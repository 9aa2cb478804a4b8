/*
 * central_link_connect makes the connection of a link: it asks a sentinel where the store is, if there are any,
 * resolves the host, connects, speaks TLS if that is wanted, says the password, and loads the script.
 */
#include "base/host_port.h"
#include "edge/central/central_link_state.h"
#include "edge/central/central_reader.h"
#include "edge/central/central_sentinel.h"
#include "edge/central/central_socket.h"
#include "edge/process/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void central_link_note_error(struct central_link *link, const char *why)
{
    char text[CENTRAL_ERROR_BYTES];
    if (link->options.sentinels[0] == '\0') {
        central_set_error(link->central, why);
        return;
    }
    (void)snprintf(text, sizeof text, "the %s at %.60s: %s", link->asks_sentinel ? "sentinel" : "store", link->at,
                   why);
    central_set_error(link->central, text);
}

void central_link_lose(struct central_link *link, const redisAsyncContext *redis)
{
    if (link->redis != redis)
        return;
    link->redis = NULL;
    link->greeted = false;
    central_connected(link->central, false);
}

void central_link_drop(struct central_link *link)
{
    redisAsyncContext *redis = link->redis;
    if (redis == NULL)
        return;
    central_link_lose(link, redis);
    redisAsyncFree(redis);
}

static void on_lost(const redisAsyncContext *redis, int status)
{
    struct central_link *link = redis->data;
    if (link->redis == redis && status != REDIS_OK)
        central_link_note_error(link, central_reader_reason(redis));
    central_link_lose(link, redis);
}

static void on_script(redisAsyncContext *redis, void *context, void *ignored)
{
    struct central_link *link = redis->data;
    const redisReply *reply = context;
    (void)ignored;
    if (reply == NULL) {
        central_link_lose(link, redis);
        return;
    }
    if (reply->type != REDIS_REPLY_STRING || reply->len != SHA_BYTES - 1) {
        if (link->redis == redis) {
            central_set_error(link->central, reply->type == REDIS_REPLY_ERROR ? reply->str : "it is no Redis");
            central_link_drop(link);
        }
        return;
    }
    memcpy(link->sha, reply->str, SHA_BYTES);
    if (link->greeted || link->redis != redis)
        return;
    link->greeted = true;
    central_connected(link->central, true);
    (void)central_probe(link->central, clock_monotonic_ns());
}

static void on_password(redisAsyncContext *redis, void *context, void *ignored)
{
    struct central_link *link = redis->data;
    const redisReply *reply = context;
    (void)ignored;
    if (reply == NULL || reply->type != REDIS_REPLY_ERROR || link->redis != redis)
        return;
    central_set_error(link->central, reply->str);
    central_link_drop(link);
}

void central_link_load_script(struct central_link *link)
{
    (void)redisAsyncCommand(link->redis, on_script, NULL, "SCRIPT LOAD %s", central_script);
}

static void on_master(redisAsyncContext *redis, void *context, void *ignored)
{
    struct central_link *link = redis->data;
    const redisReply *reply = context;
    (void)ignored;
    if (reply == NULL || link->redis != redis)
        return;
    const bool known = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                       reply->element[0]->type == REDIS_REPLY_STRING &&
                       reply->element[1]->type == REDIS_REPLY_STRING;
    if (known) {
        const char *host = reply->element[0]->str, *port = reply->element[1]->str;
        const bool is_v6 = strchr(host, ':') != NULL;
        (void)snprintf(link->found, sizeof link->found, "%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                       port);
    } else {
        central_link_note_error(link, reply->type == REDIS_REPLY_ERROR ? reply->str : "it knows no such master");
    }
    central_link_drop(link);
    if (known)
        central_link_begin(link);
}

/* The first commands of a connection: who asks, and the script; or, of a sentinel, where the store is. */
static void begin_commands(struct central_link *link)
{
    const struct central_link_options *options = &link->options;
    if (link->asks_sentinel) {
        (void)redisAsyncCommand(link->redis, on_master, NULL, "SENTINEL get-master-addr-by-name %s",
                                options->master);
        return;
    }
    if (options->password[0] != '\0' && options->user[0] != '\0')
        (void)redisAsyncCommand(link->redis, on_password, NULL, "AUTH %s %s", options->user, options->password);
    else if (options->password[0] != '\0')
        (void)redisAsyncCommand(link->redis, on_password, NULL, "AUTH %s", options->password);
    central_link_load_script(link);
}

static void on_connected(const redisAsyncContext *redis, int status)
{
    struct central_link *link = redis->data;
    if (link->redis != redis)
        return;
    if (status != REDIS_OK) {
        central_link_note_error(link, redis->errstr);
        central_link_lose(link, redis);
        return;
    }
    if (link->options.tls == NULL)
        begin_commands(link);
}

/* ---- TLS ---- */

static void on_greeted(redisAsyncContext *redis)
{
    struct central_link *link = redis->data;
    if (link->redis == redis)
        begin_commands(link);
}

static void on_broken(redisAsyncContext *redis, const char *why)
{
    struct central_link *link = redis->data;
    if (link->redis != redis)
        return;
    central_link_note_error(link, why);
    central_link_drop(link);
}

static void connect_to(struct central_link *link, const struct addrinfo *address)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    redisAsyncContext *redis = redisAsyncConnect(host, (int)strtol(port, NULL, 10));
    const struct central_socket_tls tls = {.tls = link->options.tls,
                                           .host = link->host,
                                           .greeted = on_greeted,
                                           .broken = on_broken};
    if (redis == NULL || redis->err != 0 || !central_socket_watch(link->loop, redis, &tls)) {
        central_link_note_error(link, redis != NULL && redis->err != 0 ? redis->errstr : "not enough memory");
        if (redis != NULL)
            redisAsyncFree(redis);
        return;
    }
    redis->data = link;
    link->redis = redis;
    link->refuses = false;
    (void)redisAsyncSetConnectCallback(redis, on_connected);
    (void)redisAsyncSetDisconnectCallback(redis, on_lost);
}

void central_link_resolved(void *context, const char *why, const struct addrinfo *addresses)
{
    struct central_link *link = context;
    uint32_t count = 0;
    if (link->closing) {
        central_link_give_up(link);
        return;
    }
    for (const struct addrinfo *at = addresses; at != NULL; at = at->ai_next)
        count++;
    if (why != NULL || count == 0) {
        central_link_note_error(link, why != NULL ? why : "the host has no address");
        return;
    }
    const struct addrinfo *at = addresses;
    for (uint32_t skip = link->attempts++ % count; skip > 0; skip--)
        at = at->ai_next;
    connect_to(link, at);
}

/* Where the next connection goes: to the store, or to a sentinel, which says where the store is. */
static bool choose(struct central_link *link, char *address, size_t room)
{
    const char *sentinels = link->options.sentinels;
    link->asks_sentinel = sentinels[0] != '\0' && link->found[0] == '\0';
    if (!link->asks_sentinel) {
        (void)snprintf(address, room, "%s", sentinels[0] != '\0' ? link->found : link->options.address);
        link->found[0] = '\0'; /* the next connection may have to go elsewhere */
        return true;
    }
    return central_sentinel(sentinels, link->sentinels_asked++, address, room);
}

void central_link_begin(struct central_link *link)
{
    char host[NI_MAXHOST], port[PORT_TEXT_BYTES];
    if (resolver_is_busy(&link->resolver) || link->redis != NULL)
        return;
    if (!choose(link, link->at, sizeof link->at))
        return;
    if (!host_port_split(link->at, host, sizeof host, port)) {
        central_set_error(link->central, "a sentinel says an address that is none");
        return;
    }
    (void)snprintf(link->host, sizeof link->host, "%s", host);
    link->begun_ns = clock_monotonic_ns();
    if (!resolver_begin(&link->resolver, host, port))
        central_link_note_error(link, "no thread can look its host up");
}
