/*
 * echo: the least that a server on libuv can do, to compare with: it finds where each command of RESP ends and answers
 * :1, all commands of one read by one write. With a file, it finds where each head of HTTP ends, and answers the bytes
 * of the file. It decides nothing.
 *
 *     echo PORT [FILE]       listens on 127.0.0.1 until it is killed
 */
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { INPUT_BYTES = 64 << 10, OUTPUT_BYTES = 512 << 10, REPLY_BYTES_MAX = 1024 };

struct client {
    uv_tcp_t tcp;
    size_t used;
    char input[INPUT_BYTES];
};

static char output[OUTPUT_BYTES];
static char reply[REPLY_BYTES_MAX] = ":1\r\n";
static size_t reply_size = 4;
static bool speaks_http;

/* The number on the line at `at`, and what follows the line; NULL while it is not whole. */
static const char *number_line(const char *at, const char *end, size_t *number)
{
    *number = 0;
    for (at++; at < end && *at != '\r'; at++)
        *number = *number * 10 + (size_t)(*at - '0');
    return end - at < 2 ? NULL : at + 2;
}

/* What follows the command at `at`; NULL while it is not whole. */
static const char *skip_command(const char *at, const char *end)
{
    size_t words, bytes;
    at = at < end ? number_line(at, end, &words) : NULL;
    while (at && words-- > 0) {
        at = at < end ? number_line(at, end, &bytes) : NULL;
        at = at && (size_t)(end - at) >= bytes + 2 ? at + bytes + 2 : NULL;
    }
    return at;
}

/* What follows the head at `at`; NULL while it is not whole. */
static const char *skip_head(const char *at, const char *end)
{
    const char *found = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
    return found ? found + 4 : NULL;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    struct client *client = handle->data;
    (void)wanted;
    *room = uv_buf_init(client->input + client->used, (unsigned)(INPUT_BYTES - client->used));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *room)
{
    struct client *client = stream->data;
    (void)room;
    if (got <= 0) {
        if (got < 0)
            uv_close((uv_handle_t *)stream, on_closed);
        return;
    }
    client->used += (size_t)got;
    const char *at = client->input, *end = at + client->used, *next;
    size_t size = 0;
    while (size + reply_size <= OUTPUT_BYTES &&
           (next = speaks_http ? skip_head(at, end) : skip_command(at, end)) != NULL) {
        memcpy(output + size, reply, reply_size);
        size += reply_size;
        at = next;
    }
    client->used = (size_t)(end - at);
    memmove(client->input, at, client->used);
    uv_buf_t written = uv_buf_init(output, (unsigned)size);
    if (size > 0 && uv_try_write(stream, &written, 1) != (int)size)
        uv_close((uv_handle_t *)stream, on_closed); /* who does not read is not measured */
}

static void on_client(uv_stream_t *server, int status)
{
    struct client *client = status == 0 ? malloc(sizeof *client) : NULL;
    if (!client)
        return;
    client->used = 0;
    (void)uv_tcp_init(server->loop, &client->tcp);
    client->tcp.data = client;
    (void)uv_accept(server, (uv_stream_t *)&client->tcp);
    (void)uv_tcp_nodelay(&client->tcp, 1);
    (void)uv_read_start((uv_stream_t *)&client->tcp, on_room, on_read);
}

static bool read_reply(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    reply_size = fread(reply, 1, sizeof reply, file);
    (void)fclose(file);
    speaks_http = true;
    return reply_size > 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address;
    uv_tcp_t server;
    long port = argc == 2 || argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    if (port < 1 || port > 65535 || (argc == 3 && !read_reply(argv[2])) ||
        uv_ip4_addr("127.0.0.1", (int)port, &address) != 0)
        return 64;
    (void)uv_tcp_init(uv_default_loop(), &server);
    if (uv_tcp_bind(&server, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&server, 1024, on_client) != 0) {
        fprintf(stderr, "echo: cannot listen on port %s\n", argv[1]);
        return 69;
    }
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
