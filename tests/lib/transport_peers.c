#include "tests/lib/transport_peers.h"

uv_loop_t peers_loop;

#if !defined(__SANITIZE_ADDRESS__) /* or the header of LSan declares it */
const char *__lsan_default_suppressions(void);
#endif

/*
 * nng 1.5.2 forgets memory of its own: of a connection that is just being made when its dialer or listener is closed,
 * and its copy of a message that it is just sending when the connection ends. Most of it is allocated by its own
 * threads, so that the library is all that a suppression can name.
 */
const char *__lsan_default_suppressions(void)
{
    return "leak:libnng.so\nleak:send_now\n";
}

void free_address(char address[64])
{
    for (;;) {
        uint16_t port = (uint16_t)(10000 + rand() % 22000);
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        bool taken = bind(fd, (struct sockaddr *)&in, sizeof in) != 0;
        (void)close(fd);
        if (!taken) {
            (void)snprintf(address, 64, "127.0.0.1:%u", port);
            return;
        }
    }
}

static void note_from(struct peer *peer, const char *from)
{
    (void)snprintf(peer->from, sizeof peer->from, "%s", from ? from : "(in clear)");
}

static void on_message(void *context, const char *from, struct bytes bytes)
{
    struct peer *peer = context;
    note_from(peer, from);
    peer->messages++;
    peer->bytes += bytes.size;
    peer->last_size = bytes.size;
    uint64_t number;
    if (bytes.size >= sizeof number) {
        memcpy(&number, bytes.data, sizeof number);
        peer->misordered += number != peer->next;
        peer->next = number + 1;
    }
    if (peer->rests)
        transport_hold(peer->transport, true);
}

static void on_request(void *context, const char *from, struct bytes bytes)
{
    struct peer *peer = context;
    note_from(peer, from);
    char answer[64];
    peer->requests++;
    if (peer->silent)
        return;
    int length = snprintf(answer, sizeof answer, "you said %.*s", (int)bytes.size, bytes.data);
    transport_reply(peer->transport, (struct bytes){answer, (size_t)length});
}

static void on_response(void *context, const char *from, struct bytes bytes)
{
    struct peer *peer = context;
    note_from(peer, from);
    peer->responses++;
    (void)snprintf(peer->last, sizeof peer->last, "%.*s", (int)bytes.size, bytes.data);
}

static void on_published(void *context, uint64_t from_ns, uint64_t to_ns)
{
    struct peer *peer = context;
    peer->later++;
    peer->later_ns += to_ns - from_ns;
}

static void on_stuck(void *context, uint64_t connections)
{
    struct peer *peer = context;
    peer->stuck += connections;
}

static void on_warn(void *context, const char *sentence)
{
    struct peer *peer = context;
    peer->warnings++;
    (void)snprintf(peer->warning, sizeof peer->warning, "%s", sentence);
}

bool peer_start(struct peer *peer, struct error *error)
{
    struct transport_options options = {
        .loop = &peers_loop,
        .gossip_address = peer->gossip,
        .snapshot_address = peer->snapshots,
        .message_max_bytes = MESSAGE_MAX,
        .request_timeout_ms = peer->hasty ? HASTY_MS : PATIENT_MS,
        .redial_after_ms = peer->hasty ? HASTY_MS : PATIENT_MS,
        .tls = peer->tls,
        .receiver = {.context = peer,
                     .message = on_message,
                     .request = on_request,
                     .response = on_response,
                     .published = on_published,
                     .stuck = on_stuck,
                     .warn = on_warn},
    };
    peer->transport = transport_create(&options, error);
    return peer->transport != NULL;
}

struct peer a, b, c, listening, hasty = {.hasty = true}, others[PEERS_OTHERS];

void turn(uv_run_mode mode)
{
    struct peer *const everybody[] = {&a, &b, &c, &listening, &hasty, &others[0], &others[1], &others[2]};
    (void)uv_run(&peers_loop, mode);
    for (size_t i = 0; i < sizeof everybody / sizeof *everybody; i++)
        while (everybody[i]->transport && !everybody[i]->lazy && transport_work(everybody[i]->transport))
            ;
}

bool was_refused; /* by who took a port meanwhile: then the loop has to forget that first */

void peer_open(struct peer *peer)
{
    struct error error;
    for (bool started = false; !started; was_refused |= !started) {
        free_address(peer->gossip);
        do
            free_address(peer->snapshots);
        while (strcmp(peer->gossip, peer->snapshots) == 0);
        started = peer_start(peer, &error);
    }
}

void on_closed(void *context)
{
    bool *closed = context;
    *closed = true;
}

void wake(uv_timer_t *timer)
{
    (void)timer;
}

bool run_until(condition_function *condition, void (*each)(void))
{
    uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_S * 1000000000ull;
    uv_timer_t timer;
    bool held;
    (void)uv_timer_init(&peers_loop, &timer);
    (void)uv_timer_start(&timer, wake, 1, 5);
    while (!(held = condition()) && clock_monotonic_ns() < deadline_ns) {
        if (each)
            each();
        turn(UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    turn(UV_RUN_NOWAIT);
    return held;
}

void peers_say(struct peer *peer, const char *text)
{
    transport_publish(peer->transport, bytes_of(text));
    transport_flush(peer->transport);
}

void a_says_something(void)
{
    peers_say(&a, "a");
}
