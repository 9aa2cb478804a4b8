#include "server.h"

#include "base/units.h"
#include "base/version.h"
#include "cluster/node.h"
#include "crew.h"
#include "edge/log.h"
#include "edge/memory.h"
#include "edge/settings.h"
#include "edge/transport.h"
#include "keep.h"
#include "worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    REQUEST_TIMEOUT_MS = 2000,
    PUSH_GAP_NS = 1000000, /* steps that clients' spends call for: at most one in this time */
    LINGER_MS = 100,       /* for the last messages to leave the process */
};
#define MILLISECOND_NS ((uint64_t)1000000)

struct server {
    const struct settings *settings;
    struct log log;
    struct gate gate; /* if there are several workers */
    struct worker worker;
    struct crew crew;
    struct commands_crew serving; /* all of them */
    atomic_uint_least32_t connected;
    struct node *node;
    struct effects effects;
    struct transport *transport; /* NULL before it is open and once it closes */
    struct keep keep;
    uv_async_t store_wakes;
    uv_timer_t wake;
    uv_idle_t again; /* the node has more to do at once */
    uv_signal_t signals[2];
    uint64_t next_wake_ns, last_step_ns;
    bool stepping; /* effects are being carried out */
    bool leaving, ending;
};

/* ---- the node: events in, effects out ---- */

static void on_wake(uv_timer_t *timer);

static void on_again(uv_idle_t *handle);

/*
 * The timer counts milliseconds: late by less than one, never early by more than the loop's idea of now. What is due
 * by the time of a step follows in the next turn of the loop, after clients.
 */
static void set_timer(struct server *server, uint64_t at_ns, uint64_t now_ns)
{
    if (at_ns <= server->last_step_ns) {
        (void)uv_timer_stop(&server->wake);
        (void)uv_idle_start(&server->again, on_again);
        return;
    }
    (void)uv_idle_stop(&server->again);
    if (at_ns == UINT64_MAX) {
        (void)uv_timer_stop(&server->wake);
        return;
    }
    uint64_t wait_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    uv_update_time(&server->worker.loop);
    (void)uv_timer_start(&server->wake, on_wake, (wait_ns + MILLISECOND_NS - 1) / MILLISECOND_NS, 0);
}

static void tell(struct server *server, const struct notice *notice)
{
    switch (notice->level) {
    case NOTICE_INFO:
        log_write(&server->log, LOG_LEVEL_INFO, "%s", notice->text);
        break;
    case NOTICE_WARNING:
        log_write(&server->log, LOG_LEVEL_WARNING, "%s", notice->text);
        break;
    }
}

static void carry_out(struct server *server, const struct effect *effect)
{
    struct bytes bytes = effect_bytes(&server->effects, effect);
    switch (effect->kind) {
    case EFFECT_PUBLISH:
        transport_publish(server->transport, bytes);
        break;
    case EFFECT_REQUEST:
        transport_request(server->transport, effect->address, bytes);
        break;
    case EFFECT_REPLY:
        transport_reply(server->transport, bytes);
        break;
    case EFFECT_CONNECT:
        if (!transport_connect(server->transport, effect->address))
            log_write(&server->log, LOG_LEVEL_WARNING, "cannot listen to the peer at '%s'", effect->address);
        break;
    case EFFECT_DISCONNECT:
        transport_disconnect(server->transport, effect->address);
        break;
    }
}

static void end(struct server *server);

static void step(struct server *server, struct event *event)
{
    if (server->ending)
        return;
    assert(!server->stepping);
    server->stepping = true;
    worker_begin_alone(&server->worker);
    struct turn turn = worker_turn(&server->worker);
    event->now_ns = turn.now_ns;
    event->wall_ms = turn.wall_ns / MILLISECOND_NS;
    crew_stepped(&server->crew);
    node_step(server->node, event, &server->effects);
    worker_end_alone(&server->worker);
    for (size_t i = 0; i < server->effects.effect_count; i++)
        carry_out(server, &server->effects.effect[i]);
    for (size_t i = 0; i < server->effects.notice_count; i++)
        tell(server, &server->effects.notice[i]);
    keep_effects(&server->keep, &server->effects, event->now_ns);
    server->last_step_ns = event->now_ns;
    server->next_wake_ns = server->effects.next_wake_ns;
    server->stepping = false;
    if (server->leaving && server->effects.left)
        end(server);
    else
        set_timer(server, server->next_wake_ns, event->now_ns);
}

static bool wants_step(const struct server *server)
{
    return node_wants_step(server->node) || crew_wants_step(&server->crew);
}

static void on_wake(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t now_ns = worker_turn(&server->worker).now_ns;
    if (now_ns >= server->next_wake_ns || wants_step(server))
        step(server, &(struct event){.kind = EVENT_WAKE});
    else
        set_timer(server, server->next_wake_ns, now_ns);
}

static void on_again(uv_idle_t *handle)
{
    struct server *server = handle->data;
    step(server, &(struct event){.kind = EVENT_WAKE});
}

/* ---- the store ---- */

/* In the store's thread. */
static void on_store_wake(void *context)
{
    struct server *server = context;
    (void)uv_async_send(&server->store_wakes);
}

static void hear_store(struct server *server)
{
    struct notice notice;
    while (server->keep.store && store_notice(server->keep.store, &notice))
        tell(server, &notice);
}

static void on_keep_step(void *context, struct event *event)
{
    step(context, event);
}

static void on_store_wakes(uv_async_t *handle)
{
    struct server *server = handle->data;
    struct keep_node node = {on_keep_step, server, worker_turn(&server->worker).now_ns};
    hear_store(server);
    if (server->node && !server->ending)
        keep_all(&server->keep, server->node, &node);
}

/* What was kept, before anybody is asked or told anything. */
static bool open_store(struct server *server, struct error *error)
{
    struct notice said;
    struct keep *keep = &server->keep;
    if (!keep_open(keep, server->settings, on_store_wake, server, &said, error))
        return false;
    struct keep_node node = {on_keep_step, server, worker_turn(&server->worker).now_ns};
    tell(server, &said);
    hear_store(server);
    keep_restore(keep, &node);
    if (keep->read_versions + keep->read_counters > 0)
        log_write(&server->log, LOG_LEVEL_INFO, "versions of rules read: %llu, counters: %llu",
                  (unsigned long long)keep->read_versions, (unsigned long long)keep->read_counters);
    return true;
}

/* ---- peers ---- */

static void on_message(void *context, struct bytes bytes)
{
    step(context, &(struct event){.kind = EVENT_MESSAGE, .bytes = bytes});
}

static void on_request(void *context, struct bytes bytes)
{
    step(context, &(struct event){.kind = EVENT_REQUEST, .bytes = bytes});
}

static void on_response(void *context, struct bytes bytes)
{
    step(context, &(struct event){.kind = EVENT_RESPONSE, .bytes = bytes});
}

/* ---- clients ---- */

static void step_if_wanted(struct server *server, uint64_t now_ns)
{
    uint64_t due_ns = server->last_step_ns + PUSH_GAP_NS;
    if (!wants_step(server))
        return;
    if (now_ns >= due_ns)
        step(server, &(struct event){.kind = EVENT_WAKE});
    else if (due_ns < server->next_wake_ns)
        set_timer(server, due_ns, now_ns);
}

static void on_decided(void *context, uint64_t now_ns)
{
    step_if_wanted(context, now_ns);
}

static void on_submit(void *context, const struct event *event, struct rules_result *result)
{
    struct server *server = context;
    struct event copy = *event;
    bool stepped = !server->ending;
    step(server, &copy);
    if (result && stepped)
        *result = server->effects.rules;
}

/* ---- other threads ---- */

static void on_wanted(void *context)
{
    struct server *server = context;
    if (!server->ending)
        step_if_wanted(server, worker_turn(&server->worker).now_ns);
}

/* No spends after this: what was spent can be told to all. */
static void on_ended(void *context)
{
    struct server *server = context;
    if (server->leaving)
        step(server, &(struct event){.kind = EVENT_STOP});
}

/* ---- the end ---- */

static void nothing(void *context)
{
    (void)context;
}

static void on_lingered(uv_timer_t *timer)
{
    struct server *server = timer->data;
    if (server->transport)
        transport_destroy(&server->transport, nothing, NULL);
    hear_store(server);
    if (!keep_close(&server->keep))
        log_write(&server->log, LOG_LEVEL_WARNING, "what waited to be written to %s is lost",
                  server->keep.directory);
    uv_close((uv_handle_t *)&server->store_wakes, NULL);
    crew_leave(&server->crew);
    uv_close((uv_handle_t *)&server->again, NULL);
    uv_close((uv_handle_t *)&server->wake, NULL);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
}

/* Nothing comes from the node any more; what it said last gets a moment to leave. Then the loop runs empty. */
static void end(struct server *server)
{
    server->ending = true;
    (void)uv_idle_stop(&server->again);
    worker_close_listener(&server->worker);
    crew_stop(&server->crew);
    bool talks = server->transport && transport_stats(server->transport)->published_messages > 0;
    (void)uv_timer_start(&server->wake, on_lingered, talks ? LINGER_MS : 0, 0);
}

static void on_signal(uv_signal_t *handle, int signal_number)
{
    struct server *server = handle->data;
    const char *name = signal_number == SIGTERM ? "SIGTERM" : "SIGINT";
    if (server->leaving) {
        log_write(&server->log, LOG_LEVEL_WARNING, "%s again: ending at once", name);
        _Exit(128 + signal_number);
    }
    log_write(&server->log, LOG_LEVEL_INFO, "%s: leaving the cluster", name);
    server->leaving = true;
    worker_close_listener(&server->worker);
    crew_stop(&server->crew); /* then see on_ended */
}

/* ---- the beginning ---- */

static bool open_listeners(struct server *server, struct error *error)
{
    const struct settings *settings = server->settings;
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.connections_max = settings->max_connections;
    options.buffers_max_bytes /= settings->threads;
    options.id_step = settings->threads;
    options.shares_port = settings->threads > 1;
    options.connected = settings->threads > 1 ? &server->connected : NULL;
    return worker_listen(&server->worker, &options, settings->clients_address, NULL, error) &&
           crew_listen(&server->crew, &options, &server->worker, error);
}

static bool open_transport(struct server *server, struct error *error)
{
    const struct settings *settings = server->settings;
    struct transport_options options = {
        .loop = &server->worker.loop,
        .gossip_address = settings->gossip_address,
        .snapshot_address = settings->snapshot_address,
        .message_max_bytes = settings->node.message_max_bytes,
        .request_timeout_ms = REQUEST_TIMEOUT_MS,
        .redial_after_ms = (settings->node.silent_after_ns + MILLISECOND_NS - 1) / MILLISECOND_NS,
        .receiver = {.context = server, .message = on_message, .request = on_request, .response = on_response},
    };
    server->transport = transport_create(&options, error);
    return server->transport != NULL;
}

static void set_commands(struct server *server, const char *config_path)
{
    const struct settings *settings = server->settings;
    struct commands_crew *serving = &server->serving;
    const struct commands like = {
        .node = server->node,
        .limits = &settings->limits,
        .hash_key = settings->node.hash_key,
        .name = settings->node.name,
        .region = settings->node.region,
        .version = HEADGATE_VERSION,
        .config_path = config_path,
        .password = settings->password[0] ? settings->password : NULL,
        .debug = settings->debug,
        .puts_off = true,
        .started_ns = worker_turn(&server->worker).now_ns,
        .port = listener_port(&server->worker.listener, 0),
        .crew = serving,
        .store = server->keep.store,
    };
    worker_set_commands(&server->worker, &like);
    for (uint32_t i = 0; i < server->crew.count; i++)
        worker_set_commands(&server->crew.mate[i].worker, &like);
    serving->count = settings->threads;
    serving->gate = server->worker.gate;
    serving->member[0] = &server->worker.commands;
    for (uint32_t i = 0; i < server->crew.count; i++)
        serving->member[i + 1] = &server->crew.mate[i].worker.commands;
}

static void introduce(struct server *server)
{
    const struct settings *settings = server->settings;
    const struct node_options *node = &settings->node;
    struct table_stats table;
    char keys[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
    node_table_stats(server->node, &table);
    log_write(&server->log, LOG_LEVEL_INFO,
              "headgated %s: node %s in region %s, limits: %u, peers in the config: %u", HEADGATE_VERSION,
              node->name, node->region, settings->limits.count, node->peer_count);
    log_write(&server->log, LOG_LEVEL_INFO, "table %s keys, %s",
              units_format_count(keys, sizeof keys, table.capacity_keys),
              units_format_size_short(bytes, sizeof bytes, table.bytes));
    log_write(&server->log, LOG_LEVEL_INFO, "listening on %s for clients, %s for gossip, %s for snapshots",
              settings->clients_address, settings->gossip_address, settings->snapshot_address);
    if (settings->debug)
        log_write(&server->log, LOG_LEVEL_WARNING, "debug is true: any client may cut this node off (DEBUG DROP)");
}

static bool start(struct server *server, const char *config_path, struct error *error)
{
    if (!open_listeners(server, error) || !open_transport(server, error))
        return false;
    server->node = node_create(&server->settings->node, error);
    if (!server->node)
        return false;
    node_visit_memory(server->node, memory_prefer_huge_pages);
    node_set_tenant_keys_max(server->node, server->settings->service_keys_max);
    introduce(server);
    if (!open_store(server, error))
        return false;
    set_commands(server, config_path);
    (void)uv_signal_start(&server->signals[0], on_signal, SIGTERM);
    (void)uv_signal_start(&server->signals[1], on_signal, SIGINT);
    step(server, &(struct event){.kind = EVENT_START});
    return crew_start(&server->crew, error);
}

/* The loop's handles, and the other workers. */
static bool prepare(struct server *server, struct error *error)
{
    uint32_t threads = server->settings->threads;
    uv_loop_t *loop = &server->worker.loop;
    struct gate *gate = threads > 1 ? &server->gate : NULL;
    (void)uv_timer_init(loop, &server->wake);
    server->wake.data = server;
    (void)uv_idle_init(loop, &server->again);
    server->again.data = server;
    (void)uv_async_init(loop, &server->store_wakes, on_store_wakes);
    server->store_wakes.data = server;
    for (size_t i = 0; i < 2; i++) {
        (void)uv_signal_init(loop, &server->signals[i]);
        server->signals[i].data = server;
    }
    struct crew_owner owner = {server, on_submit, on_wanted, on_ended};
    return crew_init(&server->crew, threads - 1, loop, gate, &owner, error);
}

static struct server *create(const struct settings *settings)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    struct worker_owner owner = {server, on_decided, on_submit};
    struct gate *gate = settings->threads > 1 ? &server->gate : NULL;
    server->settings = settings;
    if (gate_init(&server->gate, settings->threads) && worker_init(&server->worker, &owner, gate, 0))
        return server;
    free(server);
    return NULL;
}

bool server_run(const struct settings *settings, const char *config_path, struct error *error)
{
    struct server *server = create(settings);
    if (!server)
        return error_set(error, EX_OSERR, "cannot make an event loop: out of memory or file descriptors");
    log_init(&server->log, settings->log_level, 2);
    effects_init(&server->effects);
    bool started = prepare(server, error) && start(server, config_path, error);
    if (!started)
        end(server);
    (void)uv_run(&server->worker.loop, UV_RUN_DEFAULT);
    crew_close(&server->crew);
    if (started)
        log_write(&server->log, LOG_LEVEL_INFO, "%s has left", settings->node.name);
    worker_close(&server->worker);
    effects_close(&server->effects);
    node_destroy(&server->node);
    gate_destroy(&server->gate);
    free(server);
    return started;
}
