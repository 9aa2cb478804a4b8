/*
 * Whatever bytes follow requests of which shapes are known, they are answered as if no shape was: the bytes of requests
 * are changed at random, as by somebody who tries to slip another request past the shape. The same bytes are asked of
 * two threads' HTTP, of which one never knows a shape, once all limits are full again.
 */
#include "http/shapes.h"

#include "base/random.h"
#include "http/call.h"
#include "tests/lib/served.h"

#include <string.h>

enum { REQUEST_BYTES = 8192, ROUNDS = TAP_SLOW ? 3000 : 30000, CHANGES_MAX = 3, ANSWER_BYTES = 256 * 1024 };

static struct http *http, *parser; /* `parser` knows no shapes */

#define SOURCES "Host: a\r\nX-User: u1\r\nX-Forwarded-For: 9.9.9.9, 10.0.0.1\r\nX-Uri: /a/b?c=d\r\n"
static const char *const bases[] = {
    "GET /check?tier=t&user=alice HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /check?user=bob&ip=10.0.0.1&cost=2 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
    "GET /check HTTP/1.1\r\n" SOURCES "Content-Length: 0\r\n\r\n",
    "GET /check HTTP/1.1\r\nHost: a\r\nX-User: u1\r\nX-Size: 2\r\n\r\n",
    "HEAD /check/a/b?user=c HTTP/1.1\r\n" SOURCES "\r\n",
};

/* What is put into requests: fields, ends of requests, other ways to write the same. */
static const char *const pieces[] = {
    "Content-Length: 4\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Expect: 100-continue\r\n",
    "X-User: u2\r\n",
    "x-user:u3\r\n",
    "X-User : u4\r\n",
    "Host: b\r\n",
    " folded\r\n",
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n",
    "GET /check?user=smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    "0\r\n\r\n",
    "http://a",
    "%61",
    "%00",
    "&cost=9",
    "&user=eve",
    "#",
    " HTTP/1.0",
    "\t",
    ", 10.0.0.2",
};

static const char bytes_of_note[] = "\0\r\n\t %+:;,&=#?/\\\"'aA0\x7f\x80\xff";

/* Replaces `gone` bytes at `at` by others, as far as there is room. */
static void replace(char *text, size_t *size, size_t at, size_t gone, const char *by, size_t by_size)
{
    if (gone > *size - at)
        gone = *size - at;
    if (*size - gone + by_size > REQUEST_BYTES)
        return;
    memmove(text + at + by_size, text + at + gone, *size - at - gone);
    memcpy(text + at, by, by_size);
    *size += by_size - gone;
}

/* Where the next line begins. */
static size_t line_at(const char *text, size_t size, size_t at)
{
    const char *end = memchr(text + at, '\n', size - at);
    return end != NULL ? (size_t)(end - text) + 1 : size;
}

static void change(struct random *random, char *text, size_t *size)
{
    const size_t at = random_below(random, *size), line = line_at(text, *size, at);
    const char *piece = pieces[random_below(random, sizeof pieces / sizeof pieces[0])];
    const char *byte = &bytes_of_note[random_below(random, sizeof bytes_of_note - 1)];
    char copy[REQUEST_BYTES];
    switch (random_below(random, 6)) {
    case 0:
        replace(text, size, at, 1, byte, 1);
        break;
    case 1:
        replace(text, size, at, 0, byte, 1);
        break;
    case 2:
        replace(text, size, at, 1 + random_below(random, 3), "", 0);
        break;
    case 3:
        replace(text, size, line, 0, piece, strlen(piece));
        break;
    case 4:
        replace(text, size, at, 0, piece, strlen(piece));
        break;
    case 5: /* a line twice */
        memcpy(copy, text + line, *size - line);
        replace(text, size, line, 0, copy, line_at(text, *size, line < *size ? line : at) - line);
        break;
    }
}

/* Some requests, a part of them changed. */
static size_t make(struct random *random, char *text)
{
    const char *base = bases[random_below(random, sizeof bases / sizeof bases[0])];
    size_t size = 0;
    for (uint64_t many = 1 + random_below(random, 4); many > 0; many--) {
        char one[REQUEST_BYTES];
        size_t one_size = strlen(base);
        memcpy(one, base, one_size);
        for (uint64_t changes = random_below(random, CHANGES_MAX + 1); changes > 0; changes--)
            change(random, one, &one_size);
        replace(text, &size, size, 0, one, one_size);
    }
    return size;
}

/* A new connection: all that it answers to the bytes, of which the first `cut` come first. */
static size_t serve(struct http *by, struct bytes input, size_t cut, char *answer)
{
    struct output output = output_over(answer, ANSWER_BYTES);
    const struct turn turn = {.now_ns = served.now_ns, .wall_ns = SERVED_WALL_NS};
    struct http_session session = {0};
    size_t at = 0, consumed = 0;
    enum serve_status status = SERVE_MORE;
    http_open(&session, "10.0.0.1:1234");
    for (size_t end = cut; status == SERVE_MORE; end = input.size) {
        if (end > at)
            status = http_serve(by, &session, (struct bytes){input.data + at, end - at}, &output, turn, &consumed);
        at += consumed;
        consumed = 0;
        if (end == input.size)
            break;
    }
    http_close(by, &session);
    (void)snprintf(answer + output.size, 64, "left %zu, then %d", input.size - at, (int)status);
    return output.size;
}

static void begin(void)
{
    static struct http_settings settings = {.source_count = 5,
                                            .source = {{.header = "x-user", .gives = "user"},
                                                       {.header = "x-forwarded-for", .gives = "ip"},
                                                       {.header = "x-uri", .gives = "endpoint"},
                                                       {.header = "x-size", .gives = "size"},
                                                       {.header = "x-size", .gives = "cost"}}};
    served_plan(65536, 0);
    served_begin();
    json_arena_prepare(7);
    http = http_create(&served.commands, &settings);
    parser = http_create(&served.commands, &settings);
    assert(http != NULL && parser != NULL);
}

static void show(struct bytes input, size_t cut, const char *known, const char *parsed)
{
    printf("# cut at %zu: ", cut);
    for (size_t i = 0; i < input.size; i++)
        printf(input.data[i] >= ' ' && input.data[i] <= '~' ? "%c" : "\\%02x", (unsigned char)input.data[i]);
    printf("\n# known: %s\n# parsed: %s\n", known, parsed);
}

int main(void)
{
    static char text[REQUEST_BYTES], known[ANSWER_BYTES + 64], parsed[ANSWER_BYTES + 64];
    uint32_t unequal = 0;
    struct random random;
    begin();
    OK(set_rules("{id: u, by: user, rate: 100/s, burst: 5}"), "a rule");
    parser->shapes = (struct http_shapes){.edition = ruleset_edition(node_rules(served.node)),
                                          .learning = {.unknown = UINT32_MAX}};
    random_seed(&random, 11);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const size_t size = make(&random, text),
                     cut = random_below(&random, 3) > 0 ? size : random_below(&random, size + 1);
        http->shapes.learning.trust = LEARNING_TRUST_MAX;
        http->shapes.learning.unknown %= 8;
        const size_t parsed_size = serve(parser, (struct bytes){text, size}, size, parsed);
        served_wait_ms(2000);
        const size_t known_size = serve(http, (struct bytes){text, size}, cut, known);
        served_wait_ms(2000);
        if (known_size == parsed_size && memcmp(known, parsed, known_size) == 0 &&
            strcmp(known + known_size, parsed + parsed_size) == 0)
            continue;
        if (++unequal == 1)
            show((struct bytes){text, size}, cut, known, parsed);
    }
    OK_U64(unequal, 0, "changed requests are answered the same");
    OK(http->shapes.learning.recognised > ROUNDS / 8, "of which %u were recognised",
       (unsigned)http->shapes.learning.recognised);
    http_destroy(&http);
    http_destroy(&parser);
    served_close();
    return tap_done();
}
