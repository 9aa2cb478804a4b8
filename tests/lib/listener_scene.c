#include "tests/lib/listener_scene.h"

struct listener listener;

struct seen_state seen;

void on_open(void *context, void *session, uint64_t id, const char *address)
{
    struct visit *visit = session;
    (void)context;
    seen.session_was_zero = visit->id == 0 && visit->lines == 0;
    seen.opened++;
    visit->id = id;
    visit->known = !seen.asks_who;
    (void)snprintf(seen.address, sizeof seen.address, "%s", address);
}

static void on_close(void *context, void *session)
{
    (void)context, (void)session;
    seen.closed++;
}

static void on_answer(void *context, void *session, struct output *output)
{
    const struct visit *visit = session;
    (void)context;
    assert(seen.answered < sizeof seen.order / sizeof seen.order[0]);
    seen.order[seen.answered++] = visit->id;
    output_append(output, "at last\n", 8);
}

static bool on_resume(void *context, void *session, struct output *output)
{
    const struct visit *visit = session;
    (void)context;
    if (!seen.known || visit->id == seen.unknown)
        return false;
    output_append(output, "known\n", 6);
    return true;
}

static void answer_big(struct output *output, size_t size, uint32_t number)
{
    static char block[OUTPUT_REPLY_MAX_BYTES];
    memset(block, 'a' + (int)(number % 26), size);
    output_append(output, block, size);
}

static bool on_feed(void *context, void *session, struct output *output)
{
    char piece[32];
    (void)context, (void)session;
    seen.fed++;
    if (seen.feed_bytes > 0)
        answer_big(output, seen.feed_bytes, seen.fed);
    else
        output_append(output, piece, (size_t)snprintf(piece, sizeof piece, "piece %u\n", seen.fed));
    return !seen.feed_ends;
}

static bool on_knows(void *context, void *session)
{
    const struct visit *visit = session;
    (void)context;
    return visit->known;
}

/* One line, with its end. False: it is not answered now, or the last one; then *status says so. */
static bool serve_line(struct visit *visit, const char *line, size_t size, bool alone, struct output *output,
                       enum serve_status *status)
{
    visit->lines++;
    *status = alone && strncmp(line, "late\n", 5) == 0 ? SERVE_LATER
              : strncmp(line, "wait\n", 5) == 0        ? SERVE_WAIT
              : strncmp(line, "delay\n", 6) == 0       ? SERVE_DELAY
              : strncmp(line, "quit", 4) == 0          ? SERVE_CLOSE
              : strncmp(line, "feed\n", 5) == 0        ? SERVE_FEED
                                                       : SERVE_MORE;
    visit->known |= strncmp(line, "who\n", 4) == 0;
    if (*status == SERVE_CLOSE)
        output_append(output, "bye\n", 4);
    if (*status == SERVE_FEED)
        output_append(output, "begin\n", 6);
    if (*status != SERVE_MORE)
        return false;
    if (strncmp(line, "alone\n", 6) == 0) { /* as whoever changes what answers depend on */
        listener_answer(&listener);
        seen.writes = listener.stats.total_writes;
    }
    if (strncmp(line, "big ", 4) == 0)
        answer_big(output, strtoul(line + 4, NULL, 10), visit->lines);
    else
        output_append(output, line, size);
    return true;
}

enum serve_status on_serve(void *context, void *session, struct bytes input, struct output *output,
                           struct serve_budget *budget, size_t *consumed)
{
    struct visit *visit = session;
    const uint32_t call = seen.served++ % ORDER_MAX;
    enum serve_status status = SERVE_MORE;
    (void)context;
    seen.writes = listener.stats.total_writes;
    seen.turn_of[call] = listener.turn;
    seen.id_of[call] = visit->id;
    seen.work_of[call] = 0;
    seen.writes_of[call] = listener.stats.total_writes;
    *consumed = 0;
    for (bool begun = false; *consumed < input.size; begun = true) {
        const char *line = input.data + *consumed;
        const char *end = memchr(line, '\n', input.size - *consumed);
        if (end == NULL)
            return input.size - *consumed > 60000 ? SERVE_CLOSE : SERVE_MORE;
        if (begun && budget->work == 0)
            return SERVE_ENOUGH;
        if (output->room - output->size < OUTPUT_REPLY_MAX_BYTES)
            return SERVE_AGAIN;
        const uint32_t work = strncmp(line, "work ", 5) == 0 ? (uint32_t)strtoul(line + 5, NULL, 10) : 1;
        budget->work -= work < budget->work ? work : budget->work;
        budget->delay_ms = DELAY_MS;
        seen.work_of[call] += work;
        *consumed += (size_t)(end + 1 - line);
        if (!serve_line(visit, line, (size_t)(end + 1 - line), input.size == 5, output, &status))
            return status;
    }
    return SERVE_MORE;
}

uv_loop_t scene_loop;

bool all_closed;

char *received;

void on_all_closed(void *context)
{
    (void)context;
    all_closed = true;
}

void note_closed(void *context)
{
    *(bool *)context = true;
}

void open_listener(const struct listener_options *options)
{
    struct service service = {.session_bytes = sizeof(struct visit),
                              .open = on_open,
                              .serve = on_serve,
                              .answer = on_answer,
                              .resume = on_resume,
                              .feed = on_feed,
                              .knows = on_knows,
                              .close = on_close,
                              .too_many = "-ERR max number of clients reached\r\n",
                              .unfinished = "-ERR the request is not whole after clients.request_timeout\r\n",
                              .no_password = "-NOAUTH no password came within clients.auth_timeout\r\n"};
    struct error error;
    memset(&seen, 0, sizeof seen);
    all_closed = false;
    bool fine = uv_loop_init(&scene_loop) == 0 &&
                listener_init(&listener, &scene_loop, &service, options, &error) &&
                listener_bind(&listener, "127.0.0.1:0", &listener.service, &error);
    assert(fine);
}

void close_listener(void)
{
    listener_close(&listener, on_all_closed, NULL);
    TURN_UNTIL(all_closed);
    OK(all_closed && uv_loop_close(&scene_loop) == 0, "everything closes");
}

int dial(void)
{
    return dial_port(listener_port(&listener, 0));
}

int dial_port(uint16_t port)
{
    return dial_from(INADDR_LOOPBACK, port);
}

int dial_from(uint32_t from, uint16_t port)
{
    const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int small = 4096;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    int failed = bind(fd, (const struct sockaddr *)&own, sizeof own);
    assert(failed == 0);
    failed = connect(fd, (struct sockaddr *)&address, sizeof address);
    assert(failed == 0);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

void scene_say(int fd, const char *text, size_t size)
{
    size_t sent = 0;
    while (sent < size) {
        ssize_t some = send(fd, text + sent, size - sent, MSG_NOSIGNAL);
        if (some > 0)
            sent += (size_t)some;
        else if (errno != EAGAIN)
            return;
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
    }
}

ssize_t hear(int fd, size_t size, bool *ended)
{
    size_t heard = 0;
    uint64_t end_ms = uv_hrtime() / 1000000 + DEADLINE_MS;
    *ended = false;
    while (heard < size && uv_hrtime() / 1000000 < end_ms) {
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
        ssize_t some = recv(fd, received + heard, size - heard, 0);
        if (some > 0) {
            heard += (size_t)some;
        } else if (some == 0) {
            *ended = true;
            break;
        } else if (errno != EAGAIN) {
            return -1 - errno;
        }
    }
    received[heard] = '\0';
    return (ssize_t)heard;
}

bool hears(int fd, const char *text)
{
    bool ended;
    size_t size = strlen(text);
    return hear(fd, size, &ended) == (ssize_t)size && memcmp(received, text, size) == 0;
}

bool hears_end(int fd)
{
    bool ended;
    return hear(fd, 1, &ended) == 0 && ended;
}

void dial_light(int *fd, uint32_t count)
{
    const uint64_t others = listener.stats.connected_clients;
    bool heard = true;
    for (uint32_t i = 0; i < count; i++)
        fd[i] = dial();
    TURN_UNTIL(listener.stats.connected_clients == others + count);
    for (uint32_t i = 0; i < count; i++) {
        scene_say(fd[i], "hi\n", 3);
        heard &= hears(fd[i], "hi\n");
    }
    assert(heard);
    seen.served = 0;
    listener.stats.total_writes = 0;
}
