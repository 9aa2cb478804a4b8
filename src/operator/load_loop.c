/*
 * The loop of the load: waits, sends the requests that are due, reconnects, prints progress.
 */
#include "base/number.h"
#include "edge/process/clock.h"
#include "operator/load.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>

#include <sys/epoll.h>

#define SECOND_NS UINT64_C(1000000000)
#define CONNECT_NS (5 * SECOND_NS)
#define DRAIN_NS (2 * SECOND_NS) /* the longest wait for the last replies */
#define RECONNECT_POLL_NS (20 * UINT64_C(1000000))

/* ---- waiting ---- */

/* epoll_pwait2 waits by the nanosecond. Older kernels wait by the millisecond; the loop spins for
 * the last one. */
static int wait_until(struct load *load, struct epoll_event *events, int room, uint64_t wake_ns)
{
    static bool coarse;
    uint64_t now_ns = load_now(load);
    uint64_t left_ns = wake_ns > now_ns && !load->options.busy ? wake_ns - now_ns : 0;
    if (!coarse) {
        struct timespec timeout = {.tv_sec = (time_t)(left_ns / SECOND_NS), .tv_nsec = (long)(left_ns % SECOND_NS)};
        int count = epoll_pwait2(load->epoll, events, room, &timeout, NULL);
        if (count >= 0 || errno == EINTR)
            return count < 0 ? 0 : count;
        coarse = true;
    }
    int count = epoll_wait(load->epoll, events, room, (int)(left_ns / 1000000));
    return count < 0 ? 0 : count;
}

/* Notes the oldest unanswered request: every reply of this turn was made after it was sent. */
static void note_pending(struct load *load)
{
    uint64_t oldest = load_now(load);
    for (uint32_t i = 0; i < load->connection_count; i++) {
        const struct load_connection *connection = &load->connections[i];
        if (connection->count > 0 && connection->ring[connection->head].sent_ns < oldest)
            oldest = connection->ring[connection->head].sent_ns;
    }
    load->pending_ns = oldest;
}

static void turn(struct load *load, uint64_t wake_ns)
{
    struct epoll_event events[256];
    int count = wait_until(load, events, 256, wake_ns);
    if (count > 0 && load->accuracy)
        note_pending(load);
    for (int i = 0; i < count; i++)
        load_connection_event(load, events[i].data.ptr, events[i].events);
}

static uint64_t in_flight(const struct load *load)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < load->connection_count; i++)
        sum += load->connections[i].count + load->connections[i].burst_left;
    return sum;
}

/* ---- pacing ---- */

static double step_ns(const struct load *load)
{
    return 1e9 * load->options.target_count / load->options.rate;
}

static void advance(struct load *load, struct load_target *target)
{
    double step = step_ns(load);
    target->next_ns += load->options.poisson ? -log(1 - random_unit(&load->random)) * step : step;
}

/* Picks the target's next connection with room, in turns; NULL: there is none. */
static struct load_connection *pick(const struct load *load, struct load_target *target, bool *any_ready)
{
    *any_ready = false;
    for (uint32_t i = 0; i < load->options.connections; i++) {
        struct load_connection *connection = &target->connection[target->next_connection];
        if (++target->next_connection == load->options.connections)
            target->next_connection = 0;
        *any_ready = *any_ready || connection->ready;
        if (connection->ready && connection->count < load->options.pipeline)
            return connection;
    }
    return NULL;
}

/* Records lateness caused by this program or its scheduling: the target had room. */
static void note_late(struct load *load, uint64_t intended_ns, uint64_t now_ns)
{
    if (intended_ns >= load->measure_from_ns)
        histogram_record(load->late, now_ns - intended_ns, 1);
}

/* Sends the requests that are due; returns when the next one is due. The replies of a full target
 * wake the loop. */
static uint64_t send_due(struct load *load, uint64_t now_ns)
{
    double wake_ns = 1e18;
    for (uint32_t t = 0; t < load->options.target_count; t++) {
        struct load_target *target = &load->target[t];
        bool was_blocked = target->blocked;
        target->blocked = false;
        while (target->next_ns <= (double)now_ns) {
            bool any_ready;
            struct load_connection *connection = pick(load, target, &any_ready);
            target->blocked = !connection && any_ready;
            if (target->blocked)
                break;
            if (connection && !was_blocked)
                note_late(load, (uint64_t)target->next_ns, now_ns);
            if (connection)
                load_connection_request(load, connection, (uint64_t)target->next_ns, now_ns);
            else
                target->unsent++; /* no connection is there: the request fails at once and does not pile up */
            advance(load, target);
        }
        for (uint32_t i = 0; i < load->options.connections; i++)
            if (target->connection[i].ready && !target->connection[i].writing)
                load_connection_flush(load, &target->connection[i]);
        if (!target->blocked && target->next_ns < wake_ns)
            wake_ns = target->next_ns;
    }
    return (uint64_t)wake_ns;
}

static void fill_pipelines(struct load *load, uint64_t now_ns)
{
    for (uint32_t i = 0; i < load->connection_count; i++) {
        struct load_connection *connection = &load->connections[i];
        if (!connection->ready || connection->count > 0)
            continue;
        while (connection->count < load->options.pipeline && (!load->options.burst || connection->burst_left > 0)) {
            connection->burst_left -= load->options.burst > 0;
            load_connection_request(load, connection, now_ns, now_ns);
        }
        load_connection_flush(load, connection);
    }
}

/* ---- phases ---- */

static int connect_all(struct load *load)
{
    uint64_t deadline_ns = load_now(load) + CONNECT_NS;
    while (load->ready_count < load->connection_count) {
        uint64_t now_ns = load_now(load);
        if (now_ns >= deadline_ns) {
            fprintf(stderr, "headgate load: only %u of %u connections could be made: %s\n", load->ready_count,
                    load->connection_count, load->first_error[0] ? load->first_error : "no answer");
            return EX_UNAVAILABLE;
        }
        for (uint32_t i = 0; i < load->connection_count; i++)
            if (load->connections[i].fd < 0 && load->connections[i].retry_ns <= now_ns)
                load_connection_begin(load, &load->connections[i], now_ns);
        turn(load, now_ns + RECONNECT_POLL_NS);
    }
    load->first_error[0] = '\0';
    return EX_OK;
}

static uint64_t reconnect(struct load *load, uint64_t now_ns)
{
    if (load->ready_count == load->connection_count || load->options.burst)
        return UINT64_MAX;
    for (uint32_t i = 0; i < load->connection_count; i++)
        if (load->connections[i].fd < 0 && load->connections[i].retry_ns <= now_ns)
            load_connection_begin(load, &load->connections[i], now_ns);
    return now_ns + RECONNECT_POLL_NS;
}

static void tick(struct load *load, uint64_t *next_tick_ns, uint64_t *last_measured, uint64_t now_ns)
{
    if (now_ns < *next_tick_ns)
        return;
    if (load->options.progress)
        load_progress(load, (double)now_ns / 1e9, load->measured - *last_measured);
    *last_measured = load->measured;
    histogram_merge(load->latency, load->latency_tick);
    histogram_init(load->latency_tick);
    *next_tick_ns += SECOND_NS;
}

/* Counts requests that were due by the end and could not be sent because every pipeline was full. */
static void count_unsent(struct load *load, uint64_t end_ns)
{
    for (uint32_t t = 0; t < load->options.target_count && load->options.rate > 0; t++)
        for (; load->target[t].next_ns < (double)end_ns; advance(load, &load->target[t]))
            load->target[t].unsent++;
}

int load_run(struct load *load)
{
    const struct load_options *options = &load->options;
    int status = connect_all(load);
    if (status != EX_OK)
        return status;
    load->origin_ns = clock_monotonic_ns();
    uint64_t end_ns = (uint64_t)((options->warmup + options->seconds) * 1e9), next_tick_ns = SECOND_NS;
    uint64_t now_ns = 0, last_measured = 0;
    load->measure_from_ns = (uint64_t)(options->warmup * 1e9);
    for (uint32_t t = 0; t < options->target_count && options->rate > 0; t++)
        load->target[t].next_ns = step_ns(load) * t / options->target_count;
    /* A burst is dealt out evenly. */
    for (uint32_t i = 0; i < load->connection_count; i++)
        load->connections[i].burst_left = options->burst / options->connections +
                                          (i % options->connections < options->burst % options->connections);
    load->sending = true;
    while ((now_ns = load_now(load)) < end_ns) {
        uint64_t wake_ns = number_least(end_ns, number_least(next_tick_ns, reconnect(load, now_ns)));
        if (options->rate > 0)
            wake_ns = number_least(wake_ns, send_due(load, now_ns));
        else
            fill_pipelines(load, now_ns);
        if (options->burst && in_flight(load) == 0)
            break;
        turn(load, wake_ns);
        tick(load, &next_tick_ns, &last_measured, load_now(load));
    }
    if (options->rate > 0)
        (void)send_due(load, end_ns - 1); /* requests that became due after the last wake-up */
    load->sending = false;
    load->send_end_ns = load_now(load);
    count_unsent(load, end_ns);
    while (in_flight(load) > 0 && load_now(load) < load->send_end_ns + DRAIN_NS)
        turn(load, load->send_end_ns + DRAIN_NS);
    for (uint32_t i = 0; i < load->connection_count; i++)
        load->connections[i].target->lost += load->connections[i].count;
    histogram_merge(load->latency, load->latency_tick);
    return EX_OK;
}
