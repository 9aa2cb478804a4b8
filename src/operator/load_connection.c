/*
 * One connection of the load: connecting, filling in and sending requests, matching replies to
 * them.
 */
#include "edge/library/client_tls.h"
#include "edge/process/clock.h"
#include "operator/load.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

enum { RETRY_NS = 50 * 1000 * 1000 };

uint64_t load_now(const struct load *load)
{
    return clock_monotonic_ns() - load->origin_ns;
}

static void note_error(struct load *load, const struct load_target *target, const char *text, size_t size)
{
    if (!load->first_error[0])
        (void)snprintf(load->first_error, sizeof load->first_error, "%s: %.*s", target->name, (int)size, text);
}

/* ---- connecting ---- */

static void watch(struct load *load, struct load_connection *connection, int operation, bool writing)
{
    struct epoll_event event = {.events = EPOLLIN | (writing ? (uint32_t)EPOLLOUT : 0), .data.ptr = connection};
    int failed = epoll_ctl(load->epoll, operation, connection->fd, &event);
    assert(!failed);
    connection->writing = writing;
}

/* Closes a connection; its requests in flight are lost. A burst does not reconnect; other runs do. */
static void drop(struct load *load, struct load_connection *connection, const char *why)
{
    struct load_target *target = connection->target;
    note_error(load, target, why, strlen(why));
    target->lost += connection->count;
    if (load->options.burst) {
        target->unsent += connection->burst_left;
        connection->burst_left = 0;
    }
    if (connection->ready)
        load->ready_count--;
    if (connection->tls != NULL)
        client_tls_end(connection->tls);
    (void)close(connection->fd); /* closing the descriptor removes it from epoll */
    connection->fd = -1;
    connection->ready = connection->greets = false;
    connection->head = connection->count = connection->skip = 0;
    connection->output_start = connection->output_end = connection->input_end = 0;
    connection->retry_ns = load_now(load) + RETRY_NS;
}

void load_connection_begin(struct load *load, struct load_connection *connection, uint64_t now_ns)
{
    struct load_target *target = connection->target;
    connection->retry_ns = now_ns + RETRY_NS;
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        note_error(load, target, strerror(errno), strlen(strerror(errno)));
        return;
    }
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (const struct sockaddr *)(const void *)&target->address, target->address_size) < 0 &&
        errno != EINPROGRESS) {
        note_error(load, target, strerror(errno), strlen(strerror(errno)));
        (void)close(fd);
        return;
    }
    connection->fd = fd;
    watch(load, connection, EPOLL_CTL_ADD, true);
}

/* The first request says who asks, where a password is given. */
static void say_who(const struct load *load, struct load_connection *connection)
{
    const char *password = getenv("HEADGATE_PASSWORD"), *user = load->options.access.user;
    if (!password || !password[0] || strlen(password) + (user ? strlen(user) : 0) >= LOAD_REQUEST_BYTES / 2)
        return;
    const int size =
        user ? snprintf(connection->output, LOAD_REQUEST_BYTES, "*3\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                        strlen(user), user, strlen(password), password)
             : snprintf(connection->output, LOAD_REQUEST_BYTES, "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n",
                        strlen(password), password);
    connection->output_end = (size_t)size;
    connection->skip = 1;
}

static void become_ready(struct load *load, struct load_connection *connection)
{
    connection->greets = false;
    connection->ready = true;
    load->ready_count++;
    if (load->sending)
        connection->target->reconnects++;
    say_who(load, connection);
    watch(load, connection, EPOLL_CTL_MOD, false);
}

static void greet(struct load *load, struct load_connection *connection)
{
    switch (client_tls_greet(connection->tls)) {
    case CLIENT_TLS_DONE:
        become_ready(load, connection);
        return;
    case CLIENT_TLS_AGAIN:
        watch(load, connection, EPOLL_CTL_MOD, client_tls_writes(connection->tls));
        return;
    case CLIENT_TLS_FAILED:
        drop(load, connection, client_tls_sentence(connection->tls));
        return;
    }
}

static void finish_connecting(struct load *load, struct load_connection *connection)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0)
        failed = errno;
    if (failed) {
        drop(load, connection, strerror(failed));
        return;
    }
    if (connection->tls == NULL) {
        become_ready(load, connection);
        return;
    }
    if (!client_tls_begin(connection->tls, connection->fd, connection->target->host)) {
        drop(load, connection, client_tls_sentence(connection->tls));
        return;
    }
    connection->greets = true;
    greet(load, connection);
}

/* ---- requests ---- */

static void put_digits(char *digits, uint32_t count, uint32_t number)
{
    for (char *at = digits + count; at > digits; number /= 10)
        *--at = (char)('0' + number % 10);
}

static uint32_t choose_key(struct load *load)
{
    if (load->options.in_order) {
        uint32_t key = load->next_key++;
        if (load->next_key == load->options.keys)
            load->next_key = 0;
        return key;
    }
    if (load->zipf)
        return zipf_draw(load->zipf, &load->random);
    return (uint32_t)(((random_u64(&load->random) >> 32) * load->options.keys) >> 32);
}

void load_connection_request(struct load *load, struct load_connection *connection, uint64_t intended_ns,
                             uint64_t now_ns)
{
    assert(connection->ready && connection->count < load->options.pipeline);
    size_t room = (size_t)load->options.pipeline * load->request_size + LOAD_REQUEST_BYTES;
    if (connection->output_end + load->request_size > room) {
        memmove(connection->output, connection->output + connection->output_start,
                connection->output_end - connection->output_start);
        connection->output_end -= connection->output_start;
        connection->output_start = 0;
    }
    uint32_t key = load->digit_count ? choose_key(load) : 0;
    char *out = connection->output + connection->output_end;
    memcpy(out, load->request, load->request_size);
    for (uint32_t i = 0; load->digit_count > 0 && i < load->hole_count; i++)
        put_digits(out + load->digits_at[i], load->digit_count, key);
    connection->output_end += load->request_size;
    uint32_t tail = connection->head + connection->count;
    if (tail >= load->options.pipeline)
        tail -= load->options.pipeline;
    connection->ring[tail] = (struct load_request){intended_ns, now_ns, key};
    connection->count++;
}

void load_connection_flush(struct load *load, struct load_connection *connection)
{
    while (connection->output_start < connection->output_end) {
        ssize_t sent = load_stream_send(connection, connection->output + connection->output_start,
                                        connection->output_end - connection->output_start);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            if (!connection->writing)
                watch(load, connection, EPOLL_CTL_MOD, true);
            return;
        }
        if (sent <= 0) {
            drop(load, connection, sent < 0 ? load_stream_sentence(connection) : "the connection was closed");
            return;
        }
        connection->output_start += (size_t)sent;
    }
    connection->output_start = connection->output_end = 0;
    if (connection->writing)
        watch(load, connection, EPOLL_CTL_MOD, false);
}

/* ---- replies ---- */

static void record_reply(struct load *load, struct load_connection *connection, bool admitted, uint64_t now_ns)
{
    const struct load_request *request = &connection->ring[connection->head];
    struct load_target *target = connection->target;
    uint32_t next = connection->head + 1;
    target->answered++;
    target->admitted += admitted;
    if (request->intended_ns >= load->measure_from_ns) {
        load->measured++;
        histogram_record(load->latency_tick, now_ns - request->intended_ns, 1);
    }
    if (load->accuracy)
        accuracy_record(&load->accuracy[request->key], &load->judged_limit, load->options.cost, admitted,
                        load->pending_ns, now_ns);
    connection->head = next == load->options.pipeline ? 0 : next;
    connection->count--;
}

/* Takes a reply that is none of the common ones. False: the connection must be dropped. */
static bool take_reply(struct load *load, struct load_connection *connection, struct bytes input, uint64_t now_ns,
                       size_t *taken)
{
    struct reply_parser *parser = &load->parser;
    struct load_target *target = connection->target;
    reply_parser_reset(parser);
    enum reply_progress progress = reply_parse(parser, input);
    *taken = 0;
    if (progress == REPLY_INCOMPLETE)
        return true;
    if (progress != REPLY_COMPLETE)
        return false;
    *taken = parser->position;
    const struct reply_node *reply = &load->node[0];
    if (reply->kind == REPLY_ERROR)
        note_error(load, target, input.data + reply->offset, reply->size);
    if (connection->skip > 0) {
        connection->skip--;
        return true;
    }
    if (connection->count == 0)
        return false;
    if (reply->kind == REPLY_ERROR)
        target->errors++;
    if (reply->kind == REPLY_ARRAY && reply->count > 0)
        reply++;
    bool admitted = reply->kind == REPLY_INTEGER && reply->integer == 1;
    target->refused += reply->kind == REPLY_INTEGER && !admitted;
    record_reply(load, connection, admitted, now_ns);
    return true;
}

/* Takes all complete replies from the input. */
static bool take_replies(struct load *load, struct load_connection *connection, uint64_t now_ns)
{
    const char *at = connection->input, *end = at + connection->input_end;
    while (at < end) {
        while (end - at >= 4 && connection->count > 0 && connection->skip == 0 &&
               (memcmp(at, ":0\r\n", 4) == 0 || memcmp(at, ":1\r\n", 4) == 0)) {
            connection->target->refused += at[1] == '0';
            record_reply(load, connection, at[1] == '1', now_ns);
            at += 4;
        }
        size_t taken = 0;
        if (at < end && !take_reply(load, connection, (struct bytes){at, (size_t)(end - at)}, now_ns, &taken))
            return false;
        if (taken == 0)
            break;
        at += taken;
    }
    connection->input_end = (size_t)(end - at);
    memmove(connection->input, at, connection->input_end);
    load->last_reply_ns = now_ns;
    return true;
}

static void receive(struct load *load, struct load_connection *connection)
{
    ssize_t got = load_stream_receive(connection, connection->input + connection->input_end,
                                      LOAD_INPUT_BYTES - connection->input_end);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(load, connection, got < 0 ? load_stream_sentence(connection) : "the connection was closed");
        return;
    }
    /* The clock is read after the socket: every reply was made before this time. */
    uint64_t now_ns = load_now(load);
    connection->input_end += (size_t)got;
    if (!take_replies(load, connection, now_ns)) {
        drop(load, connection, "what came is not RESP2, or was not asked for");
        return;
    }
    if (!load->sending || load->options.rate > 0)
        return;
    while (connection->count < load->options.pipeline && (!load->options.burst || connection->burst_left > 0)) {
        connection->burst_left -= load->options.burst > 0;
        load_connection_request(load, connection, now_ns, now_ns);
    }
    load_connection_flush(load, connection);
}

void load_connection_event(struct load *load, struct load_connection *connection, uint32_t events)
{
    if (connection->fd < 0)
        return;
    if (!connection->ready) {
        (connection->greets ? greet : finish_connecting)(load, connection);
        return;
    }
    if (events & EPOLLOUT)
        load_connection_flush(load, connection);
    if (connection->fd < 0 || !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    do
        receive(load, connection);
    while (connection->fd >= 0 && load_stream_holds(connection));
}
