/*
 * One worker's links while settings of the central store change: which store decides, and until when the one before is
 * kept. The stores are two that this file plays, over real sockets in the same loop.
 */
#include "worker_central.h"

#include "commands/commands.h"
#include "edge/process/clock.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND_NS ((uint64_t)1000000000)

enum { CLIENTS_MAX = 64, INPUT_BYTES = 64 << 10, OUTPUT_BYTES = 512, TICK_MS = 5 };


struct client {
    struct store *store;
    uv_tcp_t socket;
    char input[INPUT_BYTES], output[OUTPUT_BYTES];
    size_t size;
};

/* What a Redis would say, to one client after the other. */
struct store {
    uv_tcp_t socket;
    char address[64];
    bool refuses; /* the password is wrong */
    bool holds;   /* calls are not answered until later, */
    struct client *held;
    unsigned held_keys;
    unsigned calls, open, accepted;
    struct client client[CLIENTS_MAX];
};

static uv_loop_t loop;
static uv_timer_t tick;
static struct store *stores;
static struct commands *commands;
static struct worker_central *central;

/* ---- the stores ---- */

static void say(struct client *client, const char *text)
{
    uv_buf_t buffer = uv_buf_init(client->output, (unsigned)strlen(text));
    memcpy(client->output, text, strlen(text));
    (void)uv_try_write((uv_stream_t *)&client->socket, &buffer, 1);
}

static void answer_call(struct client *client, unsigned keys)
{
    char text[OUTPUT_BYTES];
    size_t size = (size_t)snprintf(text, sizeof text, "*%u\r\n:1\r\n", 1 + keys * CENTRAL_FIGURES);
    for (unsigned i = 0; i < keys; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, ":1\r\n:9\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
    say(client, text);
}

static void answer(struct client *client, const char *word, unsigned keys)
{
    struct store *store = client->store;
    if (strcmp(word, "AUTH") == 0) {
        say(client, store->refuses ? "-WRONGPASS no\r\n" : "+OK\r\n");
    } else if (strcmp(word, "SCRIPT") == 0) {
        say(client, "$40\r\n0123456789012345678901234567890123456789\r\n");
    } else {
        store->calls++;
        if (store->holds) {
            store->held = client;
            store->held_keys = keys;
        } else {
            answer_call(client, keys);
        }
    }
}

/* One command at the front; returns its bytes, 0: it is not whole. */
static size_t hear(struct client *client)
{
    char word[3][16] = {"", "", ""};
    const char *at = client->input, *end = at + client->size;
    const char *line = memchr(at, '\n', client->size);
    if (line == NULL)
        return 0;
    const unsigned long count = strtoul(at + 1, NULL, 10);
    at = line + 1;
    for (unsigned long i = 0; i < count; i++) {
        line = memchr(at, '\n', (size_t)(end - at));
        if (line == NULL)
            return 0;
        const size_t size = strtoul(at + 1, NULL, 10);
        if ((size_t)(end - line) < size + 3)
            return 0;
        if (i < 3 && size < sizeof word[i])
            memcpy(word[i], line + 1, size);
        at = line + 1 + size + 2;
    }
    answer(client, word[0], (unsigned)strtoul(word[2], NULL, 10));
    return (size_t)(at - client->input);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    struct client *client = handle->data;
    (void)wanted;
    *buffer = uv_buf_init(client->input + client->size, (unsigned)(INPUT_BYTES - client->size));
}

static void on_gone(uv_handle_t *handle)
{
    struct client *client = handle->data;
    client->store->open--;
}

static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct client *client = stream->data;
    (void)buffer;
    if (size < 0) {
        uv_close((uv_handle_t *)stream, on_gone);
        return;
    }
    client->size += (size_t)size;
    for (size_t heard; client->size > 0 && (heard = hear(client)) > 0;) {
        client->size -= heard;
        memmove(client->input, client->input + heard, client->size);
    }
}

static void on_client(uv_stream_t *stream, int status)
{
    struct store *store = stream->data;
    assert(status == 0 && store->accepted < CLIENTS_MAX);
    struct client *client = &store->client[store->accepted++];
    client->store = store;
    (void)uv_tcp_init(&loop, &client->socket);
    client->socket.data = client;
    store->open++;
    const int accepted = uv_accept(stream, (uv_stream_t *)&client->socket);
    assert(accepted == 0);
    (void)uv_read_start((uv_stream_t *)&client->socket, on_room, on_bytes);
}

static void open_store(struct store *store)
{
    struct sockaddr_in address;
    int size = sizeof address;
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    (void)uv_tcp_init(&loop, &store->socket);
    store->socket.data = store;
    int good = uv_tcp_bind(&store->socket, (const struct sockaddr *)&address, 0);
    good |= uv_listen((uv_stream_t *)&store->socket, 8, on_client);
    good |= uv_tcp_getsockname(&store->socket, (struct sockaddr *)&address, &size);
    assert(good == 0);
    (void)snprintf(store->address, sizeof store->address, "127.0.0.1:%u", ntohs(address.sin_port));
}

/* ---- the worker ---- */

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static bool becomes(bool (*test)(void))
{
    const uint64_t end_ns = clock_monotonic_ns() + 60 * SECOND_NS;
    while (!test() && clock_monotonic_ns() < end_ns)
        (void)uv_run(&loop, UV_RUN_ONCE);
    return test();
}

static struct central_settings settings_of(const char *address, const char *secret)
{
    struct central_settings settings = {.timeout_ns = 5 * SECOND_NS};
    (void)snprintf(settings.address, sizeof settings.address, "%s", address);
    (void)snprintf(settings.secret, sizeof settings.secret, "%s", secret);
    return settings;
}

static void change(const char *address, const char *secret)
{
    const struct central_settings settings = settings_of(address, secret);
    worker_central_change(central, &settings);
}

static bool decides(const struct store *store)
{
    return strcmp(central->now->settings.address, store->address) == 0 && central_is_up(commands->central) &&
           commands->central == central_link_central(central->now->link);
}

static bool is_quiet(void)
{
    return central->next == NULL && central->before == NULL && !uv_is_active((uv_handle_t *)&central->watch);
}

static bool first_decides(void)
{
    return is_quiet() && decides(&stores[0]) && stores[1].open == 0;
}

static bool second_decides(void)
{
    return is_quiet() && decides(&stores[1]) && stores[0].open == 0;
}

static bool second_is_new(void)
{
    return decides(&stores[1]);
}

static bool next_has_failed(void)
{
    return central->next != NULL &&
           strcmp(central_error(central_link_central(central->next->link)), "it has not answered yet") != 0;
}

static bool first_holds_a_call(void)
{
    return stores[0].held != NULL;
}

static uint64_t changing(void)
{
    return central_stats(commands->central)->changing;
}

static void begin(void)
{
    const struct central_settings settings = settings_of(stores[0].address, "");
    struct error error;
    worker_central_init(central, &loop);
    central->commands = commands;
    const bool good = worker_central_connect(central, &settings, false, &error);
    OK(good && becomes(first_decides), "the store of the config decides");
}

static void test_failing(void)
{
    change("127.0.0.1:1", "");
    OK(becomes(next_has_failed) && decides(&stores[0]) && changing() == 1, "a store that is away decides nothing");
    change(stores[0].address, "");
    OK(becomes(first_decides) && changing() == 0, "and is forgotten when the config names the one before");
    stores[1].refuses = true;
    change(stores[1].address, "wrong");
    OK(becomes(next_has_failed) && decides(&stores[0]), "nor does one whose password is another");
    stores[1].refuses = false;
    change(stores[1].address, "right");
    OK(becomes(second_decides), "until it is right");
    OK(stores[0].open == 0, "the store before is left");
    change(stores[0].address, "");
    OK(becomes(first_decides), "and may come back");
}

/* A call is on its way to the store before. */
static void test_call_on_its_way(void)
{
    const struct central_charge charge = {.id = {1, 2}, .cost = 1, .capacity = 10, .window_us = 1000000};
    struct central *before = commands->central;
    const bool turn = commands->central_turn;
    const uint64_t asked = central_stats(before)->asked;
    const struct central_answer *heard;
    stores[0].holds = true;
    const uint32_t ticket = central_ask(before, CENTRAL_TAKE, &charge, 1, clock_monotonic_ns());
    OK(ticket > 0 && becomes(first_holds_a_call), "a call is on its way");
    stores[0].holds = false;
    change(stores[1].address, "");
    OK(becomes(second_is_new), "while another store takes over");
    OK(commands->central_before == before && commands->central_turn != turn && stores[0].open == 1,
       "the one before is kept, and whoever has a ticket can see where it is from");
    OK_U64(central_ask(before, CENTRAL_TAKE, &charge, 1, clock_monotonic_ns()), 0, "but is asked no more");
    answer_call(stores[0].held, stores[0].held_keys);
    while (central_look(before, ticket, &heard) == CENTRAL_WAITS)
        (void)uv_run(&loop, UV_RUN_ONCE);
    OK(central_look(before, ticket, &heard) == CENTRAL_ANSWERED && heard->allowed, "its answer is heard");
    central_end(before, ticket, true);
    OK(becomes(second_decides) && commands->central_before == NULL, "then it is left");
    OK(central_stats(commands->central)->asked > asked, "and its counts go on");
}

/* The last settings win, however many come. */
static void test_many(void)
{
    for (unsigned i = 0; i < 4; i++) {
        change(stores[0].address, "");
        change("127.0.0.1:1", "");
        (void)uv_run(&loop, UV_RUN_ONCE);
        change(stores[i % 2].address, i % 2 == 0 ? "a" : "b");
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
    OK(strcmp(central->wanted.secret, "b") == 0 && becomes(second_decides),
       "of many changes the last one is in force");
    change(stores[0].address, "");
    (void)uv_run(&loop, UV_RUN_ONCE);
}

static void close_all(void)
{
    worker_central_stop(central);
    worker_central_close(central);
    uv_close((uv_handle_t *)&tick, NULL);
    for (unsigned i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&stores[i].socket, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    OK(uv_loop_close(&loop) == 0, "a worker may end in the middle of a change");
    worker_central_destroy(central);
}

int main(void)
{
    stores = calloc(2, sizeof *stores);
    commands = calloc(1, sizeof *commands);
    central = calloc(1, sizeof *central);
    assert(stores != NULL && commands != NULL && central != NULL);
    (void)uv_loop_init(&loop);
    (void)uv_timer_init(&loop, &tick);
    (void)uv_timer_start(&tick, on_tick, TICK_MS, TICK_MS); /* the loop never sleeps for long */
    open_store(&stores[0]);
    open_store(&stores[1]);
    begin();
    test_failing();
    test_call_on_its_way();
    test_many();
    close_all();
    free(central);
    free(commands);
    free(stores);
    return tap_done();
}
