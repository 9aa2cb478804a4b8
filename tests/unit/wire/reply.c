#include "wire/reply.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <stdlib.h>

enum { NODE_ROOM = 16, MAX_BYTES = 200, STORY_BYTES = 512 };

static struct reply_node nodes[NODE_ROOM];

static void story_add(char *story, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void story_add(char *story, const char *format, ...)
{
    size_t used = strlen(story);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(story + used, STORY_BYTES - used, format, arguments);
    va_end(arguments);
}

/* What a parser understood, as text: "[1 'a' [nil] +OK]". */
static uint32_t tell(const struct reply_parser *parser, struct bytes input, uint32_t index, char *story)
{
    const struct reply_node *node = &parser->node[index];
    int size = (int)node->size;
    uint32_t next = index + 1;
    switch (node->kind) {
    case REPLY_STATUS:
        story_add(story, "+%.*s", size, input.data + node->offset);
        break;
    case REPLY_ERROR:
        story_add(story, "-%.*s", size, input.data + node->offset);
        break;
    case REPLY_TEXT:
        story_add(story, "'%.*s'", size, input.data + node->offset);
        break;
    case REPLY_INTEGER:
        story_add(story, "%" PRId64, node->integer);
        break;
    case REPLY_NIL:
        story_add(story, "nil");
        break;
    case REPLY_ARRAY:
        story_add(story, "[");
        for (uint32_t i = 0; i < node->count; i++) {
            story_add(story, "%s", i ? " " : "");
            next = tell(parser, input, next, story);
        }
        story_add(story, "]");
        break;
    }
    if (next != index + node->span)
        story_add(story, " WRONG SPAN");
    return next;
}

static const char *progress_name(enum reply_progress progress)
{
    static const char *const names[] = {"complete", "incomplete", "invalid", "too large"};
    return names[progress];
}

/*
 * Parses what `input` holds, as if it had come in pieces that end at each of the `cuts` (ascending) and at its end,
 * every piece in memory of its own size so that the sanitizer sees a byte too many. Tells all replies in a row.
 */
static void run(struct bytes input, const size_t *cuts, size_t cut_count, char *story)
{
    struct reply_parser parser;
    size_t start = 0;
    reply_parser_init(&parser, nodes, NODE_ROOM, MAX_BYTES);
    story[0] = '\0';
    for (size_t i = 0; i <= cut_count; i++) {
        size_t there = i < cut_count ? cuts[i] : input.size;
        while (start < there) {
            char *copy = malloc(there - start + 1);
            memcpy(copy, input.data + start, there - start);
            char *exact = realloc(copy, there - start ? there - start : 1);
            struct bytes seen = {exact, there - start};
            enum reply_progress progress = reply_parse(&parser, seen);
            if (progress == REPLY_COMPLETE) {
                (void)tell(&parser, seen, 0, story);
                story_add(story, ";");
                start += parser.position;
                reply_parser_reset(&parser);
            }
            free(exact);
            if (progress == REPLY_INVALID || progress == REPLY_TOO_LARGE ||
                (progress == REPLY_INCOMPLETE && i == cut_count)) {
                story_add(story, "%s", progress_name(progress));
                return;
            }
            if (progress == REPLY_INCOMPLETE)
                break;
        }
    }
}

static bool same_in_every_chunking(struct bytes input, const char *expected)
{
    char story[STORY_BYTES];
    size_t cuts[STORY_BYTES];
    for (size_t i = 1; i < input.size; i++)
        cuts[i - 1] = i;
    run(input, cuts, input.size ? input.size - 1 : 0, story);
    bool same = strcmp(story, expected) == 0;
    for (size_t a = 0; same && a <= input.size; a++) {
        for (size_t b = a; same && b <= input.size; b++) {
            size_t pair[2] = {a, b};
            run(input, pair, 2, story);
            same = strcmp(story, expected) == 0;
        }
    }
    if (!same)
        printf("# in some chunking: %s\n", story);
    return same;
}

static void expect(const char *input, const char *expected)
{
    char story[STORY_BYTES];
    run(bytes_of(input), NULL, 0, story);
    char title[64] = "";
    for (size_t i = 0; i < sizeof title - 1 && input[i]; i++)
        title[i] = input[i] < ' ' || input[i] == '#' ? '.' : input[i];
    OK_STRING(story, expected, "%s", title);
    OK(same_in_every_chunking(bytes_of(input), expected), "%s: in every chunking", title);
}

static void test_values(void)
{
    expect(":1\r\n", "1;");
    expect(":0\r\n:1\r\n:-7\r\n", "0;1;-7;");
    expect(":9223372036854775807\r\n:-9223372036854775808\r\n:+5\r\n",
           "9223372036854775807;-9223372036854775808;5;");
    expect("+OK\r\n+\r\n", "+OK;+;");
    expect("-ERR wrong number of arguments\r\n", "-ERR wrong number of arguments;");
    expect("$5\r\nhello\r\n$0\r\n\r\n$-1\r\n", "'hello';'';nil;");
    expect("$4\r\na\r\nb\r\n", "'a\r\nb';");
    expect("*0\r\n*-1\r\n", "[];nil;");
    expect("*6\r\n:1\r\n:100\r\n:99\r\n:0\r\n:10\r\n$7\r\ndefault\r\n", "[1 100 99 0 10 'default'];");
    expect("*3\r\n*2\r\n$1\r\na\r\n*0\r\n+x\r\n*1\r\n*1\r\n:5\r\n:6\r\n", "[['a' []] +x [[5]]];6;");
    expect("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "[[[[[[[[1]]]]]]]];");
    expect("", "");
    expect("*2\r\n:1\r\n", "incomplete");
    expect("$5\r\nhell", "incomplete");
}

static void test_refused(void)
{
    expect("HTTP/1.1 400 Bad Request\r\n", "invalid");
    expect("%1\r\n", "invalid");
    expect(":\r\n", "invalid");
    expect(":-\r\n", "invalid");
    expect(":1x\r\n", "invalid");
    expect(":9223372036854775808\r\n", "invalid");
    expect(":-9223372036854775809\r\n", "invalid");
    expect(":0000000000000000000000000001\r\n", "invalid");
    expect(":1\rx", "invalid");
    expect("+a\rb\r\n", "invalid");
    expect("$-2\r\n", "invalid");
    expect("*-2\r\n", "invalid");
    expect("$2\r\nabc\r\n", "invalid");
    expect("$2\r\nab\rc", "invalid");
    expect("$201\r\n", "too large");
    expect("$999999999999999999\r\n", "too large");
    expect("*15\r\n", "incomplete");
    expect("*16\r\n", "too large");
    expect("*2147483648\r\n", "too large");
    expect("*4294967296\r\n", "too large");
    expect("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "too large");
    expect("*9\r\n*7\r\n:1\r\n", "incomplete");
    expect("*9\r\n*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "incomplete");
}

/* The largest reply that is allowed passes, one byte more does not, however it comes. */
static void test_byte_limit(void)
{
    for (int excess = 0; excess <= 1; excess++) {
        char input[MAX_BYTES + 2] = "", expected[STORY_BYTES] = "too large";
        int size = MAX_BYTES - 8 + excess;
        (void)snprintf(input, sizeof input, "$%d\r\n%0*d\r\n", size, size, 7);
        if (!excess)
            (void)snprintf(expected, sizeof expected, "'%0*d';", size, 7);
        OK(same_in_every_chunking(bytes_of(input), expected), "a text of %zu bytes in all, limit %d", strlen(input),
           MAX_BYTES);
        (void)snprintf(input, sizeof input, "+%0*d\r\n", size + 5, 7);
        if (!excess)
            (void)snprintf(expected, sizeof expected, "+%0*d;", size + 5, 7);
        OK(same_in_every_chunking(bytes_of(input), expected), "a line of %zu bytes in all", strlen(input));
    }
}

/* Damaged replies: whatever comes out is the same in one piece and in random pieces, and nothing is overrun. */
static void test_damage(void)
{
    static const char whole[] =
        "*3\r\n$3\r\nabc\r\n:12\r\n*2\r\n+OK\r\n$-1\r\n-ERR no\r\n*2\r\n*0\r\n$2\r\n\r\n\r\n:5\r\n";
    static const char letters[] = "+-:$*\r\n0123456789a";
    struct random random;
    random_seed(&random, 11);
    size_t agreed = 0;
    enum { ROUNDS = 20000 };
    for (int round = 0; round < ROUNDS; round++) {
        char input[sizeof whole];
        memcpy(input, whole, sizeof whole);
        for (uint64_t hits = 1 + random_below(&random, 3); hits > 0; hits--)
            input[random_below(&random, sizeof whole - 1)] = letters[random_below(&random, sizeof letters - 1)];
        size_t cuts[8], last = 0, count = 0;
        while (count < 8 && last < sizeof whole - 1) {
            last += random_below(&random, 16);
            cuts[count++] = last < sizeof whole - 1 ? last : sizeof whole - 1;
        }
        char in_one[STORY_BYTES], in_pieces[STORY_BYTES];
        run((struct bytes){input, sizeof whole - 1}, NULL, 0, in_one);
        run((struct bytes){input, sizeof whole - 1}, cuts, count, in_pieces);
        if (strcmp(in_one, in_pieces) == 0)
            agreed++;
        else if (agreed == (size_t)round)
            printf("# %s\n# %s\n", in_one, in_pieces);
    }
    OK_U64(agreed, ROUNDS, "%d damaged streams are understood alike in one piece and in several", ROUNDS);
}

int main(void)
{
    test_values();
    test_refused();
    test_byte_limit();
    test_damage();
    return tap_done();
}
