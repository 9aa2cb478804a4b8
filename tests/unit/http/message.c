/*
 * Requests of HTTP as they come: whole, in pieces, together, and such as are refused.
 */
#include "http/message.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static struct http_message message;

static const char *rest(size_t size, size_t all)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "%zu behind", all - size);
    return text;
}

/* What a request comes to, as one text. `cut` > 0: its first bytes come so many at a time. */
static const char *told(struct bytes input, size_t cut)
{
    static char text[4096];
    struct http_framer framer = {0};
    struct http_fault fault;
    enum http_framing framing = HTTP_MORE;
    size_t size = 0, continues = 0;
    for (size_t end = cut > 0 ? cut : input.size; framing != HTTP_WHOLE && framing != HTTP_FAULT; end += cut) {
        /* a copy of its own size: what is read beyond it is found */
        const size_t there = end < input.size ? end : input.size;
        char *copy = malloc(there);
        assert(copy != NULL);
        memcpy(copy, input.data, there);
        framing = http_frame(&framer, (struct bytes){copy, there}, &message, &size, &fault);
        continues += framing == HTTP_CONTINUE;
        if (framing == HTTP_WHOLE)
            (void)snprintf(text, sizeof text, "%s%d %.*s %u [%.*s] %s%s", continues > 0 ? "continue " : "",
                           (int)message.method, (int)message.target.size, message.target.data, message.header_count,
                           (int)message.body.size, message.body.size > 0 ? message.body.data : "",
                           size == input.size ? "all" : rest(size, input.size), message.keep_alive ? " on" : "");
        else if (framing == HTTP_FAULT)
            (void)snprintf(text, sizeof text, "%u", fault.status);
        else
            (void)snprintf(text, sizeof text, continues > 0 ? "continue" : "more");
        free(copy);
        if (there == input.size)
            break;
    }
    return text;
}

/* The same, whatever pieces it comes in; 100 (Continue) is asked for only where the body is not there yet. */
static void is(const char *input, const char *expected)
{
    const struct bytes bytes = bytes_of(input);
    char shown[61];
    (void)snprintf(shown, sizeof shown, "%s", input);
    for (char *c = shown; *c; c++)
        if (*c == '\r' || *c == '\n')
            *c = '|';
    OK_STRING(told(bytes, 0), expected, "%s", shown);
    if (strstr(input, "Expect") != NULL)
        return;
    for (size_t cut = 1; cut < bytes.size; cut++)
        if (strcmp(told(bytes, cut), expected) != 0) {
            OK_STRING(told(bytes, cut), expected, "%s in pieces of %zu", shown, cut);
            return;
        }
    OK(true, "and in pieces");
}

static void test_whole(void)
{
    is("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "1 / 1 [] all on");
    is("\r\nHEAD /a?b=c HTTP/1.1\r\nHost: a\r\nX: \r\nY:z\r\n\r\n", "2 /a?b=c 3 [] all on");
    is("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz", "4 /a 2 [xyz] all on");
    is("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: "
       "u\r\n\r\n",
       "4 /a 2 [abc] all on");
    is("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "1 / 2 [] all");
    is("GET / HTTP/1.0\r\n\r\n", "1 / 0 [] all");
    is("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "1 / 1 [] all on");
    is("GET http://a.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "1 /x?y 1 [] all on");
    is("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
       "1 / 3 [] all on");
    is("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz", "32 a:1 2 [xyz] all on");
    is("DELETE / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n", "16 / 1 [] 16 behind on");
    is("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz", "8 / 2 [xyz] all on");
}

static void test_unfinished(void)
{
    is("GET / HTTP/1.1\r\nHost: a\r\n", "more");
    is("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxy", "more");
    is("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", "continue");
    is("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nxyz",
       "4 /a 3 [xyz] all on");
    const struct bytes late =
        bytes_of("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nxyz");
    OK_STRING(told(late, 1), "continue 4 /a 3 [xyz] all on", "it is said once, when the head is there");
    is("POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", "more");
}

/* Where two who read the same bytes could find different requests, nobody does. */
static void test_smuggling(void)
{
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\nx", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: \r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\n: chunked\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\n X: y\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nX: y\n\r\n", "400");
    is("GET / HTTP/1.1\nHost: a\n\n", "400");
    is("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400");
    is("\r\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\n\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nX:\n y\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nX: \r\n y\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nX: y\rZ: 1\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n", "400");
    is("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400");
}

/* Trailers say nothing, but where they end everybody finds. */
static void test_trailers(void)
{
#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    is(CHUNKED "\r\nGET", "4 / 2 [x] 3 behind on");
    is(CHUNKED "A: b\r\nC: \r\n\r\nGET", "4 / 2 [x] 3 behind on");
    is(CHUNKED "Connection: close\r\nHost: b\r\nContent-Length: 3\r\n\r\nGET", "4 / 2 [x] 3 behind on");
    is(CHUNKED "\nGET", "400");
    is(CHUNKED "A: b\r\n\nGET", "400");
    is(CHUNKED "A: b\nC: d\r\n\r\n", "400");
    is(CHUNKED "A: b\rC: d\r\n\r\n", "400");
    is(CHUNKED "A: b\r\n C: d\r\n\r\n", "400");
    is(CHUNKED "A:\r\n b\r\n\r\n", "400");
    is(CHUNKED "A: b\r\n: d\r\n\r\n", "400");
}

static void test_refused(void)
{
    is("GET / HTTP/1.1\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400");
    is("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505");
    is("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400");
    is("GET /\r\n\r\n", "505");
    is("*1\r\n$4\r\nPING\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nX y\r\n\r\n", "400");
    is("GET / HTTP/1.1\r\nHost: a\r\nExpect: gold\r\n\r\n", "417");
    is("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", "413");
}

static char *repeated(const char *before, char c, size_t count, const char *after)
{
    const size_t size = strlen(before) + count + strlen(after) + 1;
    char *text = malloc(size);
    assert(text != NULL);
    (void)snprintf(text, size, "%s", before);
    memset(text + strlen(before), c, count);
    (void)snprintf(text + strlen(before) + count, strlen(after) + 1, "%s", after);
    return text;
}

static void has_bound(const char *before, size_t most, const char *after, const char *beyond, const char *name)
{
    char *fits = repeated(before, 'x', most, after), *more = repeated(before, 'x', most + 1, after);
    OK(told(bytes_of(fits), 0)[0] == '1', "%s: so much fits", name);
    OK_STRING(told(bytes_of(more), 0), beyond, "%s: one byte more does not", name);
    OK_STRING(told(bytes_of(more), 1000), beyond, "%s: nor in pieces", name);
    free(fits);
    free(more);
}

static void test_bounds(void)
{
    static const char end[] = "\r\n\r\n", target_end[] = " HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    has_bound("GET /", HTTP_TARGET_MAX_BYTES - 1, target_end, "414", "a target");
    has_bound(head, HTTP_HEAD_MAX_BYTES - sizeof head + 1 - sizeof end + 1, end, "431", "a head");
    char *chunk = repeated("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n", 'x',
                           HTTP_BODY_MAX_BYTES, "\r\n0\r\n\r\n");
    OK(told(bytes_of(chunk), 0)[0] == '4' && message.body.size == HTTP_BODY_MAX_BYTES, "a body: so much fits");
    free(chunk);
    chunk = repeated("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n", 'x',
                     HTTP_BODY_MAX_BYTES + 1, "\r\n0\r\n\r\n");
    OK_STRING(told(bytes_of(chunk), 0), "413", "a body: one byte more does not");
    OK_STRING(told(bytes_of(chunk), 1000), "413", "a body: nor in pieces");
    const struct bytes begun = {chunk, strlen(chunk) - strlen("\r\n0\r\n\r\n")};
    OK_STRING(told(begun, 1000), "413", "a body: nor before it has ended");
    free(chunk);
}

int main(void)
{
    test_whole();
    test_unfinished();
    test_smuggling();
    test_trailers();
    test_refused();
    test_bounds();
    return tap_done();
}
