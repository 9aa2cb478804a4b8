/*
 * central_link makes calls over the link, looks after its health, and begins and ends it. How a connection comes to be
 * is in central_link_connect.c.
 */
#include "edge/central/central_link.h"

#include "base/number.h"
#include "edge/central/central_link_state.h"
#include "edge/central/central_reader.h"
#include "edge/library/client_tls.h"
#include "edge/process/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBES_UNANSWERED_MAX_MS = 3000, /* a connection is dropped that has not answered for so long */
    CONNECT_MAX_MS = 2000,
    CHECKS_UP_MIN = 2,
    LINK_HANDLES = 3, /* two timers, and that of the resolver */
};
#define MILLISECOND_NS ((uint64_t)1000000)

/* A store that was down is back when it has answered for as long as lies between two health checks: one that is good
 * for a moment after each connection would fill the log. */
static void report(struct central_link *link)
{
    struct log *log = link->options.log;
    const char *name = link->options.name;
    const bool up = central_is_up(link->central), first = link->told.count == 0;
    if (log == NULL || link->closing)
        return;
    if (up && (link->told_up || (!first && link->checks_up < CHECKS_UP_MIN)))
        return;
    if (up)
        log_write(log, LOG_LEVEL_INFO, "the central store at %s answers", name);
    else if (central_told_note(&link->told, central_error(link->central)))
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
    else
        link->checks_up = 0;
    if (link->told_up || central_is_up(link->central))
        report(link); /* before it was ever up, the next health check tells what is the matter */
    if (link->options.news != NULL)
        link->options.news(link->options.context);
}

/* ---- health ---- */

static void on_health(uv_timer_t *timer)
{
    struct central_link *link = timer->data;
    const uint64_t now_ns = clock_monotonic_ns();
    const bool is_late = now_ns - link->begun_ns >= CONNECT_MAX_MS * MILLISECOND_NS;
    if (central_is_up(link->central) && link->checks_up < CHECKS_UP_MIN)
        link->checks_up++;
    report(link);
    if (resolver_is_busy(&link->resolver) && is_late) {
        central_link_note_error(link, "the name server does not answer");
    } else if (link->redis != NULL && !link->greeted && is_late) {
        central_link_note_error(link, "it does not answer");
        central_link_drop(link);
    } else if (link->greeted && link->refuses && !central_is_up(link->central)) {
        central_link_drop(link); /* another store may have its address by now */
    } else if (link->greeted && central_probe(link->central, now_ns) >= PROBES_UNANSWERED_MAX_MS * MILLISECOND_NS) {
        central_link_drop(link);
    }
    central_link_begin(link);
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
        const bool had_text = link->place[ticket] != 0;
        central_link_load_script(link);
        if (!had_text && central_again(link->central, ticket))
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
        const char *reason = central_reader_reason(redis);
        central_link_lose(link, redis);
        central_failed(link->central, ticket, reason);
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
    link->place[ticket] = link->sha[0] == '\0';
    central_script_call(words, link->sha[0] != '\0' ? link->sha : NULL, link->options.prefix, way, charges, count,
                        LEASE_SPAN_US, 0);
    if (redisAsyncCommandArgv(link->redis, on_reply, &link->place[ticket], words->count, words->word,
                              words->size) != REDIS_OK)
        return false;
    if (!uv_is_active((const uv_handle_t *)&link->deadline))
        watch_deadlines(link, clock_monotonic_ns() +
                                  number_least(link->options.timeout_ns, LEASE_SPAN_US * UINT64_C(1000)));
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
    if (!resolver_init(&link->resolver, loop, central_link_resolved, link)) {
        central_destroy(&link->central);
        free(link);
        return NULL;
    }
    (void)uv_timer_init(loop, &link->health);
    (void)uv_timer_init(loop, &link->deadline);
    link->health.data = link->deadline.data = link;
    link->open_handles = LINK_HANDLES;
    (void)uv_timer_start(&link->health, on_health, CENTRAL_HEALTH_MS, CENTRAL_HEALTH_MS);
    central_link_begin(link);
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

static void on_resolver_closed(uv_handle_t *handle)
{
    struct resolver *resolver = handle->data;
    struct central_link *link = resolver->context;
    link->open_handles--;
}

void central_link_give_up(struct central_link *link)
{
    if (!link->resolver_closes)
        resolver_close(&link->resolver, on_resolver_closed);
    link->resolver_closes = true;
}

void central_link_close(struct central_link *link)
{
    if (link->closing)
        return;
    link->closing = true;
    central_stop(link->central);
    central_link_drop(link);
    if (!resolver_is_busy(&link->resolver))
        central_link_give_up(link);
    uv_close((uv_handle_t *)&link->health, on_handle_closed);
    uv_close((uv_handle_t *)&link->deadline, on_handle_closed);
}

bool central_link_is_closed(const struct central_link *link)
{
    return link->open_handles == 0;
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
