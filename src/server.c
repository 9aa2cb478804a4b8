#include "server.h"

#include "base/units.h"
#include "base/version.h"
#include "cluster/node.h"
#include "commands/commands.h"
#include "edge/clock.h"
#include "edge/listener.h"
#include "edge/log.h"
#include "edge/memory.h"
#include "edge/settings.h"
#include "edge/transport.h"
#include "keep.h"

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
    uv_loop_t loop;
    struct log log;
    struct loop_clock clock;
    struct node *node;
    struct effects effects;
    struct transport *transport; /* NULL before it is open and once it closes */
    struct listener listener;
    struct commands commands;
    struct keep keep;
    uv_async_t store_wakes;
    uv_check_t polled;
    uv_timer_t wake;
    uv_signal_t signals[2];
    uint64_t next_wake_ns, last_step_ns;
    bool stepping;     /* effects are being carried out */
    bool has_listener; /* it was initialised and does not close yet */
    bool leaving, ending;
};

/* ---- the node: events in, effects out ---- */

static void on_wake(uv_timer_t *timer);

/* The timer counts milliseconds: late by less than one, never early by more than the loop's idea of now. */
static void set_timer(struct server *server, uint64_t at_ns, uint64_t now_ns)
{
    if (at_ns == UINT64_MAX) {
        (void)uv_timer_stop(&server->wake);
        return;
    }
    uint64_t wait_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    uv_update_time(&server->loop);
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
    if (server->has_listener)
        listener_answer(&server->listener); /* decided under the rules and limits that there were */
    server->stepping = true;
    event->now_ns = loop_clock_now(&server->clock);
    event->wall_ms = loop_clock_wall(&server->clock) / MILLISECOND_NS;
    node_step(server->node, event, &server->effects);
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

static void on_wake(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t now_ns = loop_clock_now(&server->clock);
    if (now_ns >= server->next_wake_ns || node_wants_step(server->node))
        step(server, &(struct event){.kind = EVENT_WAKE});
    else
        set_timer(server, server->next_wake_ns, now_ns);
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
    struct keep_node node = {on_keep_step, server, loop_clock_now(&server->clock)};
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
    struct keep_node node = {on_keep_step, server, loop_clock_now(&server->clock)};
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

static void on_open(void *context, void *session, uint64_t id, const char *address)
{
    struct server *server = context;
    session_open(session, &server->commands, id, address);
}

static void step_if_wanted(struct server *server, uint64_t now_ns)
{
    uint64_t due_ns = server->last_step_ns + PUSH_GAP_NS;
    if (!node_wants_step(server->node))
        return;
    if (now_ns >= due_ns)
        step(server, &(struct event){.kind = EVENT_WAKE});
    else if (due_ns < server->next_wake_ns)
        set_timer(server, due_ns, now_ns);
}

static struct turn turn_of(struct server *server)
{
    uint64_t now_ns = loop_clock_now(&server->clock);
    return (struct turn){.now_ns = now_ns, .wall_ns = loop_clock_wall(&server->clock)};
}

static enum serve_status on_serve(void *context, void *session, struct bytes input, struct output *output,
                                  size_t *consumed)
{
    struct server *server = context;
    struct turn turn = turn_of(server);
    enum serve_status status = commands_serve(&server->commands, session, input, output, turn, consumed);
    if (status != SERVE_LATER)
        step_if_wanted(server, turn.now_ns);
    return status;
}

static void on_answer(void *context, void *session, struct output *output)
{
    struct server *server = context;
    commands_answer(&server->commands, session, output, turn_of(server));
}

/* The loop has polled, and whoever sent something was heard. */
static void on_polled(uv_check_t *handle)
{
    struct server *server = handle->data;
    if (!server->has_listener || list_empty(&server->listener.late))
        return;
    listener_answer(&server->listener);
    step_if_wanted(server, loop_clock_now(&server->clock));
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

/* ---- the end ---- */

static void nothing(void *context)
{
    (void)context;
}

static void close_listener(struct server *server)
{
    if (server->has_listener)
        listener_close(&server->listener, nothing, NULL);
    server->has_listener = false;
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
    uv_close((uv_handle_t *)&server->polled, NULL);
    uv_close((uv_handle_t *)&server->wake, NULL);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
}

/* Nothing comes from the node any more; what it said last gets a moment to leave. Then the loop runs empty. */
static void end(struct server *server)
{
    server->ending = true;
    close_listener(server);
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
    close_listener(server); /* no spends after this: what was spent can be told to all */
    step(server, &(struct event){.kind = EVENT_STOP});
}

/* ---- the beginning ---- */

static bool open_listener(struct server *server, struct error *error)
{
    struct service service = {
        .context = server,
        .session_bytes = sizeof(struct session),
        .open = on_open,
        .serve = on_serve,
        .answer = on_answer,
    };
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.connections_max = server->settings->max_connections;
    if (!listener_init(&server->listener, &server->loop, &service, &options, error))
        return false;
    server->has_listener = true;
    return listener_bind(&server->listener, server->settings->clients_address, error);
}

static bool open_transport(struct server *server, struct error *error)
{
    const struct settings *settings = server->settings;
    struct transport_options options = {
        .loop = &server->loop,
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
    server->commands = (struct commands){
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
        .started_ns = loop_clock_now(&server->clock),
        .port = listener_port(&server->listener, 0),
        .listener = &server->listener.stats,
        .submit = on_submit,
        .context = server,
    };
    commands_init(&server->commands);
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
    if (!open_listener(server, error) || !open_transport(server, error))
        return false;
    server->node = node_create(&server->settings->node, error);
    if (!server->node)
        return false;
    node_visit_memory(server->node, memory_prefer_huge_pages);
    node_set_tenant_keys_max(server->node, server->settings->service_keys_max);
    set_commands(server, config_path);
    introduce(server);
    if (!open_store(server, error))
        return false;
    server->commands.store = server->keep.store;
    (void)uv_signal_start(&server->signals[0], on_signal, SIGTERM);
    (void)uv_signal_start(&server->signals[1], on_signal, SIGINT);
    step(server, &(struct event){.kind = EVENT_START});
    return true;
}

bool server_run(const struct settings *settings, const char *config_path, struct error *error)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server || uv_loop_init(&server->loop) != 0) {
        free(server);
        return error_set(error, EX_OSERR, "cannot make an event loop: out of memory or file descriptors");
    }
    server->settings = settings;
    log_init(&server->log, settings->log_level, 2);
    effects_init(&server->effects);
    loop_clock_init(&server->clock, &server->loop);
    (void)uv_timer_init(&server->loop, &server->wake);
    server->wake.data = server;
    (void)uv_async_init(&server->loop, &server->store_wakes, on_store_wakes);
    server->store_wakes.data = server;
    (void)uv_check_init(&server->loop, &server->polled);
    server->polled.data = server;
    (void)uv_check_start(&server->polled, on_polled);
    uv_unref((uv_handle_t *)&server->polled);
    for (size_t i = 0; i < 2; i++) {
        (void)uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
    }
    bool started = start(server, config_path, error);
    if (!started)
        end(server);
    (void)uv_run(&server->loop, UV_RUN_DEFAULT);
    if (started)
        log_write(&server->log, LOG_LEVEL_INFO, "%s has left", settings->node.name);
    loop_clock_close(&server->clock);
    (void)uv_run(&server->loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&server->loop);
    assert(busy == 0);
    effects_close(&server->effects);
    commands_close(&server->commands);
    node_destroy(&server->node);
    free(server);
    return started;
}
