#include "edge/central/central_link.h"

#include "base/host_port.h"
#include "edge/central/central_sentinel.h"
#include "edge/central/central_socket.h"
#include "edge/central/central_told.h"
#include "edge/library/client_tls.h"
#include "edge/process/clock.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBES_UNANSWERED_MAX_MS = 3000, /* a connection is dropped that has not answered for so long */
    CONNECT_MAX_MS = 2000,
    SHA_BYTES = 41, /* terminated */
};
#define MILLISECOND_NS ((uint64_t)1000000)

struct central_link {
    struct central_link_options options;
    struct central *central;
    uv_loop_t *loop;
    uv_timer_t health, deadline;
    uv_getaddrinfo_t resolve;
    uint32_t attempts;        /* which address of a host is next */
    uint32_t sentinels_asked; /* which sentinel is next */
    bool asks_sentinel;
    char at[NI_MAXHOST + NI_MAXSERV];    /* what is connected to, as it is configured or was found */
    char host[NI_MAXHOST];               /* that is connected to, as its address says */
    char found[NI_MAXHOST + NI_MAXSERV]; /* "host:port" of the store, as a sentinel says; "": none has said it */
    redisAsyncContext *redis;
    uint64_t begun_ns; /* of the connection, or of resolving */
    uint32_t open_handles;
    bool resolving, greeted, closing;
    bool refuses; /* some call was answered with an error since the store was up */
    bool told_up;
    struct central_told told; /* since the store was up */
    char sha[SHA_BYTES];
    struct central_words words;       /* of the call that is being made */
    char place[CENTRAL_ASKS_MAX + 2]; /* hiredis keeps the address of a ticket's place, and no number */
};

/* Why there is no connection. Where sentinels are asked, the reason says who has failed: one of them, or the store. */
static void note_error(struct central_link *link, const char *why)
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

static void report(struct central_link *link)
{
    struct log *log = link->options.log;
    const char *name = link->options.name;
    const bool up = central_is_up(link->central), first = link->told.count == 0;
    if (log == NULL || link->closing)
        return;
    if (up && !link->told_up)
        log_write(log, LOG_LEVEL_INFO, "the central store at %s answers", name);
    else if (!up && central_told_note(&link->told, central_error(link->central)))
        log_write(log, LOG_LEVEL_WARNING,
                  "the central store at %s is %sdown: %s; rules with sync: central go by their when_down", name,
                  first ? "" : "still ", central_error(link->central));
    link->told_up = up;
    if (up)
        link->told.count = 0;
}

static void on_news(void *context)
{
    struct central_link *link = context;
    if (central_is_up(link->central))
        link->refuses = false;
    if (link->told_up || central_is_up(link->central))
        report(link); /* before it was ever up, the next health check tells what is the matter */
    if (link->options.news != NULL)
        link->options.news(link->options.context);
}

/* ---- the connection ---- */

/* hiredis frees it, or is told to. */
static void lose(struct central_link *link, const redisAsyncContext *redis)
{
    if (link->redis != redis)
        return;
    link->redis = NULL;
    link->greeted = false;
    central_connected(link->central, false);
}

static void drop(struct central_link *link)
{
    redisAsyncContext *redis = link->redis;
    if (redis == NULL)
        return;
    lose(link, redis);
    redisAsyncFree(redis);
}

static void on_lost(const redisAsyncContext *redis, int status)
{
    struct central_link *link = redis->data;
    if (link->redis == redis && status != REDIS_OK)
        note_error(link, redis->errstr[0] != '\0' ? redis->errstr : "the connection was lost");
    lose(link, redis);
}

static void on_script(redisAsyncContext *redis, void *context, void *ignored)
{
    struct central_link *link = redis->data;
    const redisReply *reply = context;
    (void)ignored;
    if (reply == NULL) {
        lose(link, redis);
        return;
    }
    if (reply->type != REDIS_REPLY_STRING || reply->len != SHA_BYTES - 1) {
        if (link->redis == redis) {
            central_set_error(link->central, reply->type == REDIS_REPLY_ERROR ? reply->str : "it is no Redis");
            drop(link);
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
    drop(link);
}

static void load_script(struct central_link *link)
{
    (void)redisAsyncCommand(link->redis, on_script, NULL, "SCRIPT LOAD %s", central_script);
}

static void begin(struct central_link *link);

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
        note_error(link, reply->type == REDIS_REPLY_ERROR ? reply->str : "it knows no such master");
    }
    drop(link);
    if (known)
        begin(link);
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
    load_script(link);
}

static void on_connected(const redisAsyncContext *redis, int status)
{
    struct central_link *link = redis->data;
    if (link->redis != redis)
        return;
    if (status != REDIS_OK) {
        note_error(link, redis->errstr);
        lose(link, redis);
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
    note_error(link, why);
    drop(link);
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
        note_error(link, redis != NULL && redis->err != 0 ? redis->errstr : "not enough memory");
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

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct central_link *link = request->data;
    uint32_t count = 0;
    link->resolving = false;
    for (const struct addrinfo *at = addresses; at != NULL; at = at->ai_next)
        count++;
    if (status != 0 || count == 0) {
        note_error(link, status != 0 ? uv_strerror(status) : "the host has no address");
    } else if (!link->closing) {
        const struct addrinfo *at = addresses;
        for (uint32_t skip = link->attempts++ % count; skip > 0; skip--)
            at = at->ai_next;
        connect_to(link, at);
    }
    uv_freeaddrinfo(addresses);
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

static void begin(struct central_link *link)
{
    char host[NI_MAXHOST], port[PORT_TEXT_BYTES];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    if (link->resolving || link->redis != NULL)
        return;
    if (!choose(link, link->at, sizeof link->at))
        return;
    if (!host_port_split(link->at, host, sizeof host, port)) {
        central_set_error(link->central, "a sentinel says an address that is none");
        return;
    }
    (void)snprintf(link->host, sizeof link->host, "%s", host);
    link->begun_ns = clock_monotonic_ns();
    link->resolving = uv_getaddrinfo(link->loop, &link->resolve, on_resolved, host, port, &hints) == 0;
}

/* ---- health ---- */

static void on_health(uv_timer_t *timer)
{
    struct central_link *link = timer->data;
    const uint64_t now_ns = clock_monotonic_ns();
    report(link);
    central_sweep(link->central, now_ns);
    if (link->redis != NULL && !link->greeted && now_ns - link->begun_ns >= CONNECT_MAX_MS * MILLISECOND_NS) {
        note_error(link, "it does not answer");
        drop(link);
    } else if (link->greeted && link->refuses && !central_is_up(link->central)) {
        drop(link); /* another store may have its address by now */
    } else if (link->greeted && central_probe(link->central, now_ns) >= PROBES_UNANSWERED_MAX_MS * MILLISECOND_NS) {
        drop(link);
    }
    begin(link);
}

static void watch_deadlines(struct central_link *link, uint64_t due_ns);

static void on_deadline(uv_timer_t *timer)
{
    struct central_link *link = timer->data;
    watch_deadlines(link, central_expire(link->central, clock_monotonic_ns()));
}

static void watch_deadlines(struct central_link *link, uint64_t due_ns)
{
    if (due_ns != UINT64_MAX)
        (void)uv_timer_start(&link->deadline, on_deadline, clock_timeout_ms(link->loop, due_ns), 0);
}

/* ---- calls ---- */

static bool read_numbers(const redisReply *reply, int64_t *numbers, size_t room)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements > room)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
        numbers[i] = reply->element[i]->integer;
    }
    return true;
}

static void take_error(struct central_link *link, uint32_t ticket, const char *why)
{
    link->refuses = true;
    if (strncmp(why, "NOSCRIPT", 8) == 0 && link->redis != NULL) {
        link->sha[0] = '\0'; /* by its text until it is loaded: nothing was done */
        load_script(link);
        if (central_again(link->central, ticket))
            return;
    }
    central_failed(link->central, ticket, why);
}

static void on_reply(redisAsyncContext *redis, void *context, void *data)
{
    enum { NUMBERS_MAX = 1 + CHARGES_MAX * CENTRAL_FIGURES };
    struct central_link *link = redis->data;
    const redisReply *reply = context;
    const uint32_t ticket = (uint32_t)((const char *)data - link->place);
    struct central_answer answer;
    int64_t numbers[NUMBERS_MAX];
    if (reply == NULL) {
        lose(link, redis);
        central_failed(link->central, ticket, "the connection was lost");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        take_error(link, ticket, reply->str);
    } else if (read_numbers(reply, numbers, NUMBERS_MAX) &&
               central_script_read(&answer, numbers, reply->elements, central_count(link->central, ticket))) {
        central_answered(link->central, ticket, &answer, clock_monotonic_ns());
    } else {
        central_failed(link->central, ticket, "the answer is none of the script's");
    }
}

static bool on_send(void *context, uint32_t ticket, enum central_way way, const struct central_charge *charges,
                    uint32_t count)
{
    struct central_link *link = context;
    struct central_words *words = &link->words;
    if (link->redis == NULL)
        return false;
    central_script_call(words, link->sha[0] != '\0' ? link->sha : NULL, link->options.prefix, way, charges, count,
                        LEASE_SPAN_US, 0);
    if (redisAsyncCommandArgv(link->redis, on_reply, &link->place[ticket], words->count, words->word,
                              words->size) != REDIS_OK)
        return false;
    if (!uv_is_active((const uv_handle_t *)&link->deadline))
        watch_deadlines(link, clock_monotonic_ns() + link->options.timeout_ns);
    return true;
}

/* ---- creation and end ---- */

struct central_link *central_link_create(uv_loop_t *loop, const struct central_link_options *options)
{
    struct central_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    const struct central_wire wire = {.context = link, .send = on_send, .news = on_news};
    link->central = central_create(&wire, options->timeout_ns);
    if (link->central == NULL) {
        free(link);
        return NULL;
    }
    link->options = *options;
    link->loop = loop;
    link->resolve.data = link;
    (void)uv_timer_init(loop, &link->health);
    (void)uv_timer_init(loop, &link->deadline);
    link->health.data = link->deadline.data = link;
    link->open_handles = 2;
    central_set_error(link->central, "it has not answered yet");
    (void)uv_timer_start(&link->health, on_health, CENTRAL_HEALTH_MS, CENTRAL_HEALTH_MS);
    begin(link);
    return link;
}

struct central *central_link_central(const struct central_link *link)
{
    return link->central;
}

void central_link_tell(struct central_link *link, struct log *log)
{
    link->options.log = log;
    report(link);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct central_link *link = handle->data;
    link->open_handles--;
}

void central_link_close(struct central_link *link)
{
    if (link->closing)
        return;
    link->closing = true;
    central_stop(link->central);
    drop(link);
    if (link->resolving)
        (void)uv_cancel((uv_req_t *)&link->resolve);
    uv_close((uv_handle_t *)&link->health, on_handle_closed);
    uv_close((uv_handle_t *)&link->deadline, on_handle_closed);
}

bool central_link_is_closed(const struct central_link *link)
{
    return link->open_handles == 0 && !link->resolving;
}

void central_link_destroy(struct central_link **link)
{
    if (*link == NULL)
        return;
    assert((*link)->closing && central_link_is_closed(*link));
    central_destroy(&(*link)->central);
    client_tls_destroy(&(*link)->options.tls);
    free(*link);
    *link = NULL;
}
