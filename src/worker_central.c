#include "worker_central.h"

#include "commands/commands.h"
#include "edge/central/central_tls.h"
#include "edge/library/client_tls.h"
#include "edge/process/clock.h"

#include <assert.h>
#include <sodium.h>
#include <sysexits.h>

#define MILLISECOND_NS ((uint64_t)1000000)

enum {
    WATCH_MS = 50,
    TELL_AFTER_MS = 1500,  /* a store has had the time to say what is the matter */
    LEAVE_AFTER_MS = 8000, /* more than any call may take */
};

static const char *name_of(const struct central_settings *settings)
{
    return settings->sentinels[0] != '\0' ? settings->master : settings->address;
}

static struct log *log_of(struct worker_central *central)
{
    return central->tells ? central->log : NULL;
}

/* ---- places ---- */

static bool open_place(struct worker_central *central, struct central_place *place,
                       const struct central_settings *settings, struct log *log, struct error *error)
{
    place->settings = *settings;
    place->closing = false;
    place->since_ns = clock_monotonic_ns();
    const struct central_settings *its = &place->settings;
    struct client_tls *tls = its->tls ? central_tls_create(its) : NULL;
    if (its->tls && tls == NULL)
        return error_set(error, EX_OSERR, "not enough memory for TLS to the central store");
    const struct central_link_options options = {.name = name_of(its),
                                                 .sentinels = its->sentinels,
                                                 .master = its->master,
                                                 .address = its->address,
                                                 .user = its->user,
                                                 .password = its->secret,
                                                 .prefix = its->prefix,
                                                 .timeout_ns = its->timeout_ns,
                                                 .tls = tls,
                                                 .log = log,
                                                 .news = central->news,
                                                 .context = central->context};
    place->link = central_link_create(central->loop, &options);
    if (place->link != NULL)
        return true;
    client_tls_destroy(&tls);
    return error_set(error, EX_OSERR, "not enough memory for the connection to the central store");
}

static struct central_place *free_place(struct worker_central *central)
{
    for (uint32_t i = 0; i < CENTRAL_PLACES; i++)
        if (central->place[i].link == NULL)
            return &central->place[i];
    return NULL;
}

static void close_place(struct central_place *place)
{
    if (!place->closing)
        central_link_close(place->link);
    place->closing = true;
}

static void clear_place(struct central_place *place)
{
    central_link_destroy(&place->link);
    sodium_memzero(place, sizeof *place);
}

static struct central *central_of(const struct central_place *place)
{
    return central_link_central(place->link);
}

/* ---- from one to the other ---- */

static void be_alone(const struct commands *commands, bool alone)
{
    if (commands->alone)
        commands->alone(commands->context, alone);
}

static void watch(struct worker_central *central);

/* Other threads read the counters of both. Late requests are answered first, by the store that they know. */
static void take_over(struct worker_central *central)
{
    struct commands *commands = central->commands;
    be_alone(central->commands, true);
    central_retire(commands->central);
    commands->central_before = commands->central;
    commands->central = central_of(central->next);
    commands->central_turn = !commands->central_turn;
    be_alone(central->commands, false);
    central->before = central->now;
    central->now = central->next;
    central->next = NULL;
    central->before->since_ns = clock_monotonic_ns();
    central_link_tell(central->before->link, NULL);
    central_link_tell(central->now->link, log_of(central));
}

static void forget_before(struct worker_central *central)
{
    be_alone(central->commands, true);
    central_inherit(central->commands->central, central->commands->central_before);
    central->commands->central_before = NULL;
    be_alone(central->commands, false);
    clear_place(central->before);
    central->before = NULL;
}

/* Requests that wait there end by their deadline. What else is on its way is given up some time. */
static void let_go(struct worker_central *central)
{
    struct central *before = central_of(central->before);
    if (!central->before->closing) {
        const uint64_t past_ns = clock_monotonic_ns() - central->before->since_ns;
        central_sweep(before, UINT64_MAX);
        if (central_is_idle(before) ||
            (central_stats(before)->waiting == 0 && past_ns >= LEAVE_AFTER_MS * MILLISECOND_NS))
            close_place(central->before);
    } else if (central_link_is_closed(central->before->link)) {
        forget_before(central);
    }
}

static void tell_next(struct worker_central *central)
{
    const char *why = central_error(central_of(central->next));
    if (central->tells && clock_monotonic_ns() - central->next->since_ns >= TELL_AFTER_MS * MILLISECOND_NS &&
        central_told_note(&central->told, why))
        log_write(
            central->log, LOG_LEVEL_WARNING,
            "the central store at %s cannot be asked as the config says now: %s; the one at %s is asked as before",
            name_of(&central->next->settings), why, name_of(&central->now->settings));
}

static void begin_next(struct worker_central *central)
{
    struct central_place *place = free_place(central);
    struct error error;
    if (place == NULL) /* a store is being left */
        return;
    if (open_place(central, place, &central->wanted, NULL, &error)) {
        central->next = place;
        central->told.count = 0;
    } else {
        log_write(central->log, LOG_LEVEL_ERROR, "%s; the one at %s is asked as before", error.text,
                  name_of(&central->now->settings));
        central->wanted = central->now->settings;
    }
}

static void go_on(struct worker_central *central)
{
    struct central_place *next = central->next;
    if (next == NULL) {
        if (!central_settings_equal(&central->now->settings, &central->wanted))
            begin_next(central);
    } else if (next->closing) {
        if (!central_link_is_closed(next->link))
            return;
        clear_place(next);
        central->next = NULL;
    } else if (!central_settings_equal(&next->settings, &central->wanted)) {
        close_place(next);
    } else if (central->before == NULL && central_is_up(central_of(next))) {
        take_over(central);
    } else {
        tell_next(central);
    }
}

static bool is_settled(const struct worker_central *central)
{
    return central->next == NULL && central->before == NULL &&
           central_settings_equal(&central->now->settings, &central->wanted);
}

static void on_watch(uv_timer_t *timer)
{
    struct worker_central *central = timer->data;
    if (central->before != NULL)
        let_go(central);
    go_on(central);
    watch(central);
}

static void watch(struct worker_central *central)
{
    const bool changing = !central_settings_equal(&central->now->settings, &central->wanted);
    central_note_changing(central->commands->central, changing);
    if (is_settled(central))
        (void)uv_timer_stop(&central->watch);
    else if (!uv_is_active((const uv_handle_t *)&central->watch))
        (void)uv_timer_start(&central->watch, on_watch, WATCH_MS, WATCH_MS);
}

void worker_central_change(struct worker_central *central, const struct central_settings *settings)
{
    assert(central->now != NULL);
    central->wanted = *settings;
    watch(central);
}

/* ---- creation and end ---- */

void worker_central_init(struct worker_central *central, uv_loop_t *loop)
{
    central->loop = loop;
    (void)uv_timer_init(loop, &central->watch);
    central->watch.data = central;
    uv_unref((uv_handle_t *)&central->watch);
}

bool worker_central_connect(struct worker_central *central, const struct central_settings *settings, bool tells,
                            struct error *error)
{
    central->tells = tells;
    central->wanted = *settings;
    if (!open_place(central, &central->place[0], settings, log_of(central), error))
        return false;
    central->now = &central->place[0];
    central->commands->central = central_of(central->now);
    return true;
}

void worker_central_stop(struct worker_central *central)
{
    (void)uv_timer_stop(&central->watch);
    for (uint32_t i = 0; i < CENTRAL_PLACES; i++)
        if (central->place[i].link != NULL) {
            close_place(&central->place[i]);
            central_link_give_up(central->place[i].link);
        }
}

void worker_central_close(struct worker_central *central)
{
    uv_close((uv_handle_t *)&central->watch, NULL);
}

void worker_central_destroy(struct worker_central *central)
{
    for (uint32_t i = 0; i < CENTRAL_PLACES; i++)
        clear_place(&central->place[i]);
    sodium_memzero(&central->wanted, sizeof central->wanted);
}
