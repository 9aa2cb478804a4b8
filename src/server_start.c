/*
 * server_start makes a daemon from its settings: loop, workers, ports, node, store. It runs the
 * loop and takes everything down at the end. server.c has what happens in between.
 */
#include "server.h"

#include "base/units.h"
#include "base/version.h"
#include "commands/replay.h"
#include "edge/clients/handed.h"
#include "edge/peers/transport_trial.h"
#include "edge/process/clock.h"
#include "edge/process/memory.h"
#include "edge/process/memory_limit.h"
#include "edge/process/sandbox.h"
#include "edge/settings/settings_listen.h"
#include "edge/settings/settings_place.h"
#include "edge/settings/settings_tls.h"
#include "http/json_arena.h"
#include "server_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { REQUEST_TIMEOUT_MS = 2000, LOOK_INTERVALS = 5, LOOK_LEAST_MS = 100, LOOK_MOST_MS = 5000 };

#define HANDED_WAIT_NS UINT64_C(2000000000) /* the longest time for which their clients wait for a start */

/* Puts the place of state_dir before the sentence, if the config has that key. Returns false. */
static bool state_fails(const struct server *server, struct error *error)
{
    return server->settings->state_dir[0] &&
           settings_locate(server->settings, server->config_path, "state_dir", error);
}

/* Restores rules and counters from the store before the node asks or tells any peer. */
static bool open_store(struct server *server, struct error *error)
{
    struct persist *persist = &server->persist;
    if (!persist_open(persist, server->settings, server_on_store_wake, server, error))
        return state_fails(server, error);
    struct persist_stepper stepper = {server_on_persist_step, server, worker_turn(&server->worker).now_ns};
    server_tell(server, &persist->place);
    if (persist->seed.text[0])
        server_tell(server, &persist->seed);
    if (persist->key_notice.text[0])
        server_tell(server, &persist->key_notice);
    server_hear_store(server);
    if (!persist_restore(persist, &stepper, error))
        return false;
    if (persist->read_versions + persist->read_counters > 0)
        log_write(&server->log, LOG_LEVEL_INFO, "versions of rules read: %llu, counters: %llu",
                  (unsigned long long)persist->read_versions, (unsigned long long)persist->read_counters);
    return true;
}

static bool open_listeners(struct server *server, struct error *error)
{
    const struct settings *settings = server->settings;
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.connections_max = settings->max_connections;
    options.buffers_max_bytes /= settings->threads;
    options.request_timeout_ms = settings->request_timeout_ns / MILLISECOND_NS;
    options.stranger_timeout_ms =
        settings_have_passwords(settings) ? settings->auth_timeout_ns / MILLISECOND_NS : 0;
    options.idle_timeout_ms = settings->idle_timeout_ns / MILLISECOND_NS;
    options.id_step = settings->threads;
    options.shares_port = settings->threads > 1;
    options.connected = settings->threads > 1 ? &server->connected : NULL;
    const struct worker_addresses addresses = {.resp = settings->clients_address,
                                               .http = settings->http_address,
                                               .resp_tls = settings->clients_tls_address,
                                               .http_tls = settings->http_tls_address,
                                               .tls = server->tls,
                                               .http_settings = &settings->http,
                                               .grpc = settings->grpc_address,
                                               .grpc_tls = settings->grpc_tls_address,
                                               .grpc_options = server_grpc_options(settings)};
    struct handed *handed = &server->handed;
    if (!handed_open(handed, error))
        return false;
    const uint32_t handed_count = handed->count;
    options.handed = handed;
    options.accepts_handed = &server->accepts_handed;
    json_arena_prepare(hash_64(&settings->node.hash_key, "json", 4));
    const bool good = worker_listen(&server->worker, &options, &addresses, NULL, error) &&
                      worker_threads_listen(&server->worker_threads, &options, &addresses, &server->worker, error);
    struct error left;
    const bool all_taken = handed_close(handed, good ? error : &left);
    if (good && all_taken && handed_count > 0)
        log_write(&server->log, LOG_LEVEL_INFO, "sockets of the service manager: %u", handed_count);
    return good && all_taken;
}

/* Five intervals: a peer with something to say has said it some times. */
static uint64_t look_each_ms(uint64_t interval_ns)
{
    const uint64_t ms = LOOK_INTERVALS * interval_ns / MILLISECOND_NS;
    if (ms < LOOK_LEAST_MS)
        return LOOK_LEAST_MS;
    return ms < LOOK_MOST_MS ? ms : LOOK_MOST_MS;
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
        .look_each_ms = look_each_ms(settings->node.interval_ns),
        .hash_key = settings->node.hash_key,
        .tls = server->peers_tls,
        .receiver = {.context = server,
                     .message = server_on_message,
                     .request = server_on_request,
                     .response = server_on_response,
                     .published = server_on_published,
                     .stuck = server_on_stuck,
                     .reopened = server_on_reopened,
                     .warn = server_on_warn},
    };
    if (!transport_trial(error))
        return false;
    server->transport = transport_create(&options, error);
    return server->transport != NULL;
}

static bool open_journal(struct server *server, struct error *error)
{
    if (!server->settings->refusal_log[0])
        return true;
    server->journal = journal_open(server->settings->refusal_log, error);
    if (server->journal == NULL)
        return settings_locate(server->settings, server->config_path, "refusal_log", error);
    server->refusals = refusals_create(server->journal);
    return server->refusals != NULL || error_set(error, EX_OSERR, "not enough memory for refusal_log");
}

static bool watch(struct server *server, struct error *error)
{
    const struct settings *settings = server->settings;
    const uint64_t seed = hash_64(&settings->node.hash_key, "hot", 3);
    bool good = open_journal(server, error) && worker_watch(&server->worker, settings->remember_names, seed, error);
    for (uint32_t i = 0; i < server->worker_threads.count && good; i++)
        good = worker_watch(&server->worker_threads.worker_thread[i].worker, settings->remember_names, seed, error);
    return good;
}

static bool open_users(struct server *server, struct error *error)
{
    if (!settings_have_passwords(server->settings))
        return true;
    server->users = users_create(&server->settings->users);
    return server->users != NULL || error_set(error, EX_OSERR, "not enough memory for users");
}

static bool open_replays(struct server *server, struct error *error)
{
    server->replays = replays_create(&server->settings->node.hash_key);
    return server->replays != NULL || error_set(error, EX_OSERR, "not enough memory for idempotency keys");
}

static void set_commands(struct server *server, const char *config_path)
{
    const struct settings *settings = server->settings;
    struct commands_worker_threads *serving = &server->serving;
    const struct commands like = {
        .node = server->node,
        .limits = node_named_limits(server->node),
        .hash_key = settings->node.hash_key,
        .name = settings->node.name,
        .region = settings->node.region,
        .version = HEADGATE_VERSION,
        .config_path = config_path,
        .config_reads = &server->config_reads,
        .sandbox = &server->sandbox,
        .password = settings_secret_is_given(&settings->password) ? settings->password.text : NULL,
        .users = server->users,
        .reservation_ttl_max_ms = (uint32_t)(settings->reservation_ttl_max_ns / MILLISECOND_NS),
        .debug = settings->debug,
        .puts_off = true,
        .started_ns = worker_turn(&server->worker).now_ns,
        .port = listener_port(&server->worker.listener, 0),
        .worker_threads = serving,
        .store = server->persist.store,
        .observer.refusals = server->refusals,
        .transport = server->transport,
        .tls = server->tls,
        .replays = server->replays,
    };
    worker_set_commands(&server->worker, &like, &server->log);
    for (uint32_t i = 0; i < server->worker_threads.count; i++)
        worker_set_commands(&server->worker_threads.worker_thread[i].worker, &like, &server->log);
    serving->count = settings->threads;
    serving->gate = server->worker.gate;
    serving->member[0] = &server->worker.commands;
    for (uint32_t i = 0; i < server->worker_threads.count; i++)
        serving->member[i + 1] = &server->worker_threads.worker_thread[i].worker.commands;
}

static bool connect_central(struct server *server, struct error *error)
{
    const struct central_settings *central = &server->settings->central;
    bool good = true;
    if (!settings_have_central(server->settings))
        return true;
    good = worker_connect(&server->worker, central, true, error);
    for (uint32_t i = 0; i < server->worker_threads.count && good; i++)
        good = worker_connect(&server->worker_threads.worker_thread[i].worker, central, false, error);
    return good;
}

static void back_memory(void *context, void *memory, size_t bytes)
{
    struct server *server = context;
    memory_prefer_huge_pages(memory, bytes);
    if (server->settings->table_populate)
        populate_add(&server->populate, memory, bytes);
}

static void on_populated(void *context, size_t bytes, int failed)
{
    struct server *server = context;
    char size[UNITS_TEXT_BYTES];
    units_format_size_short(size, sizeof size, bytes);
    if (failed)
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "table.populate: no more than %s of memory could be had now (%s)", size,
                  failed == EINVAL ? "it needs Linux 5.14" : strerror(failed));
    else
        log_write(&server->log, LOG_LEVEL_INFO, "table.populate: %s of memory are there", size);
}

/* After all that only a start does; threads that are there are in it as well. */
static void enter_sandbox(struct server *server)
{
    if (!server->settings->sandbox)
        return;
    switch (sandbox_enter()) {
    case SANDBOX_ON:
        server->sandbox.calls = true;
        log_write(&server->log, LOG_LEVEL_DEBUG,
                  "sandbox: what the daemon has no use for, the kernel refuses it now");
        break;
    case SANDBOX_NOT_HERE:
        log_write(&server->log, LOG_LEVEL_DEBUG, "sandbox: there is none in a build with a sanitizer");
        break;
    case SANDBOX_FAILED:
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "sandbox: the kernel does not filter system calls (%s); "
                  "going on without, sandbox: false says no more of it",
                  strerror(errno));
        break;
    }
}

static bool start(struct server *server, const char *config_path, struct error *error)
{
    if (!persist_find(&server->persist, server->settings, error))
        return state_fails(server, error);
    persist_settle_seed(&server->persist, server->settings);
    if (!persist_settle_key(&server->persist, server->settings, error))
        return settings_locate(server->settings, config_path, "signatures", error);
    server->memory_limit_bytes = memory_limit_bytes();
    if (!server_build_fence(server, error))
        return false;
    if ((settings_has_tls(server->settings) &&
         !settings_tls_open(server->settings, config_path, &server->tls, error)) ||
        (settings_has_peers_tls(server->settings) &&
         !settings_peers_tls_open(server->settings, config_path, &server->peers_tls, error)))
        return false;
    if (!settings_check_hosts(server->settings, config_path, error))
        return false;
    if (!open_users(server, error))
        return false;
    if (!open_listeners(server, error) || !open_transport(server, error))
        return settings_locate_listen(server->settings, config_path, error);
    if (!watch(server, error) || !open_replays(server, error))
        return false;
    server->settings->node.keeps_weights = server->persist.directory[0] != '\0';
    server->node = node_create(&server->settings->node, error);
    if (!server->node)
        return false;
    node_visit_memory(server->node, back_memory, server);
    node_set_tenant_keys_max(server->node, server->settings->service_keys_max);
    server_introduce(server);
    if (!open_store(server, error))
        return false;
    server_describe(server, config_path);
    set_commands(server, config_path);
    if (!connect_central(server, error))
        return false;
    server_signals_start(server);
    server->accepts_handed_ns = worker_turn(&server->worker).now_ns + HANDED_WAIT_NS;
    server_step(server, &(struct event){.kind = EVENT_START});
    server_recall_reservations(server);
    server_step(server, &(struct event){.kind = EVENT_WAKE});
    server_recall_replays(server);
    if (!populate_start(&server->populate, &server->worker.loop, on_populated, server))
        return error_set(error, EX_OSERR, "table.populate: cannot start a thread");
    if (!worker_threads_start(&server->worker_threads, error))
        return false;
    enter_sandbox(server);
    supervisor_ready(&server->supervisor, server->settings->clients_address);
    return true;
}

/* Makes the handles of the loop, and the other workers. */
static bool prepare(struct server *server, struct error *error)
{
    uint32_t threads = server->settings->threads;
    uv_loop_t *loop = &server->worker.loop;
    struct gate *gate = threads > 1 ? &server->gate : NULL;
    (void)uv_timer_init(loop, &server->wake);
    server->wake.data = server;
    (void)uv_idle_init(loop, &server->awake);
    server->awake.data = server;
    (void)uv_async_init(loop, &server->store_wakes, server_on_store_wakes);
    server->store_wakes.data = server;
    server_signals_init(server);
    supervisor_init(&server->supervisor, loop);
    struct worker_threads_owner owner = {server, server_on_submit, server_on_reload, server_on_wanted,
                                         server_on_ended};
    return worker_threads_init(&server->worker_threads, threads - 1, loop, gate, &owner, error);
}

static struct server *create(struct settings *settings, const char *config_path)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    struct worker_owner owner = {server, server_on_decided, server_on_polled, server_on_submit, server_on_reload};
    struct gate *gate = settings->threads > 1 ? &server->gate : NULL;
    server->settings = settings;
    server->config_path = config_path;
    server->config_reads.success_s = clock_wall_ns() / 1000000000u;
    if (gate_init(&server->gate, settings->threads) && worker_init(&server->worker, &owner, gate, 0))
        return server;
    free(server);
    return NULL;
}

bool server_run(struct settings *settings, const char *config_path, struct error *error)
{
    struct server *server = create(settings, config_path);
    if (!server)
        return error_set(error, EX_OSERR, "cannot make an event loop: out of memory or file descriptors");
    log_init(&server->log, settings->log_level, settings->log_format, 2);
    effects_init(&server->effects);
    bool started = prepare(server, error) && start(server, config_path, error);
    if (!started)
        server_end(server);
    worker_run(&server->worker);
    worker_threads_close(&server->worker_threads);
    if (started)
        log_write(&server->log, LOG_LEVEL_INFO, "%s has left", settings->node.name);
    worker_close(&server->worker);
    persist_close(&server->persist);
    tls_destroy(&server->tls);
    transport_tls_release(&server->peers_tls);
    users_destroy(&server->users);
    refusals_destroy(&server->refusals);
    journal_close(&server->journal);
    effects_close(&server->effects);
    node_destroy(&server->node);
    replays_destroy(&server->replays);
    gate_destroy(&server->gate);
    free(server);
    return started;
}
