#include "wire/resp.h"

#include "tests/fuzz/resp_story.h"
#include "tests/lib/tap.h"

enum { STORY_ROOM = 256 * 1024 };

struct sample {
    const char *bytes;
    size_t size;
    const char *story;
};

#define SAMPLE(bytes, story)                                                                                       \
    {                                                                                                              \
        bytes, sizeof bytes - 1, story                                                                             \
    }

static const struct sample samples[] = {
    SAMPLE("", ""),
    SAMPLE("*1\r\n$4\r\nPING\r\n", "[4:PING]"),
    SAMPLE("*2\r\n$10\r\nCAN_ACCESS\r\n$5\r\nalice\r\n*1\r\n$4\r\nPING\r\n", "[10:CAN_ACCESS 5:alice][4:PING]"),
    SAMPLE("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "[4:ECHO 0:]"),
    SAMPLE("*2\r\n$4\r\nECHO\r\n$7\r\na\r\n*1\r\n\r\n", "[4:ECHO 7:a\r\n*1\r\n]"),
    SAMPLE("*0\r\n*-1\r\n\r\n\n  \r\nPING\r\n", "[4:PING]"),
    SAMPLE("PING\nPING\r\n", "[4:PING][4:PING]"),
    SAMPLE("  CHECK \t user=alice   COST 2  \r\n", "[5:CHECK 10:user=alice 4:COST 1:2]"),
    SAMPLE("CAN_ACCESS \"a b\" '1'\r\n", "[10:CAN_ACCESS 3:a b 1:1]"),
    SAMPLE("ECHO \"\\x41\\n\\\"\\q\\x4\" '\\'\\n' \"\" ''\r\n", "[4:ECHO 6:A\n\"qx4 3:'\\n 0: 0:]"),
    SAMPLE("ECHO a\"b c\" d'e'\r\n", "[4:ECHO 4:ab c 2:de]"),
    SAMPLE("*1\r\n$4\r\nPI", ""),
    SAMPLE("PIN", ""),
    SAMPLE("PING\r\nECHO \"a\r\nPING\r\n", "[4:PING]!Protocol error: unbalanced quotes in request"),
    SAMPLE("ECHO \"a\"b\r\n", "!Protocol error: unbalanced quotes in request"),
    SAMPLE("ECHO \"a\\\"\r\n", "!Protocol error: unbalanced quotes in request"),
    SAMPLE("*1\r\nPING\r\n", "!Protocol error: expected '$' before each argument"),
    SAMPLE("*1\r\n$4\r\nPINGxx", "!Protocol error: expected CR LF after an argument of the length announced"),
    SAMPLE("*1\r\n$4\r\nPING\rx", "!Protocol error: expected CR LF after an argument of the length announced"),
    SAMPLE("*1\r\n$-1\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$+4\r\nPING\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$04\r\nPING\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$\r\nPING\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$4x\r\nPING\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$99999999999\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\r\n$9999999999\r\n", "!Protocol error: bulk too long, at most 61440 bytes"),
    SAMPLE("*1\r\n$61441\r\n", "!Protocol error: bulk too long, at most 61440 bytes"),
    SAMPLE("*x\r\n", "!Protocol error: invalid multibulk length"),
    SAMPLE("*-10\r\n*-9999999999\r\nPING\r\n", "[4:PING]"), /* as redis */
    SAMPLE("*-\r\n", "!Protocol error: invalid multibulk length"),
    SAMPLE("*-0\r\n", "!Protocol error: invalid multibulk length"),
    SAMPLE("*-01\r\n", "!Protocol error: invalid multibulk length"),
    SAMPLE("*--1\r\n", "!Protocol error: invalid multibulk length"),
    SAMPLE("*1\r\n$-10\r\n", "!Protocol error: invalid bulk length"),
    SAMPLE("*1\rx$4\r\nPING\r\n", "!Protocol error: invalid multibulk length"),
    SAMPLE("*1234567890123456789012345678901234567890", "!Protocol error: invalid multibulk length"),
    SAMPLE("*65\r\n", "!Protocol error: too many arguments, at most 64"),
};

static void tell(struct resp_story *story, const char *data, size_t size, size_t first, size_t piece)
{
    resp_story_of(story, data, size, first, piece);
    assert(story->size < story->room);
    story->text[story->size] = '\0';
}

/* The same story whole, byte by byte, and cut in two anywhere. */
static void check_sample(struct resp_story *story, const struct sample *sample)
{
    char shown[40];
    size_t length = 0;
    for (size_t i = 0; i < sample->size && length < sizeof shown - 1; i++)
        shown[length++] = sample->bytes[i] < ' ' || sample->bytes[i] == '#' ? '.' : sample->bytes[i];
    shown[length] = '\0';
    tell(story, sample->bytes, sample->size, sample->size, 1);
    OK_STRING(story->text, sample->story, "whole: %s", shown);
    uint64_t hash = story->hash;
    tell(story, sample->bytes, sample->size, 0, 1);
    bool same = story->hash == hash;
    for (size_t cut = 0; cut <= sample->size; cut++) {
        tell(story, sample->bytes, sample->size, cut, sample->size + 1);
        same &= story->hash == hash;
    }
    OK(same, "in pieces: %s", shown);
}

/* All good samples after another in one stream, in pieces of every size. */
static void check_stream(struct resp_story *story)
{
    static char stream[4096];
    size_t size = 0;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct sample *sample = &samples[i];
        bool ends = sample->size == 0 || sample->bytes[sample->size - 1] == '\n';
        if (!ends || strchr(sample->story, '!') != NULL)
            continue;
        memcpy(stream + size, sample->bytes, sample->size);
        size += sample->size;
    }
    tell(story, stream, size, size, 1);
    uint64_t hash = story->hash;
    OK_U64(story->commands, 13, "a stream of commands is understood whole");
    bool same = !story->ended;
    for (size_t piece = 1; piece <= size; piece++) {
        tell(story, stream, size, piece, piece);
        same &= story->hash == hash;
    }
    OK(same, "and in pieces of 1 to %zu bytes", size);
}

/* `count` arguments of `bytes` bytes each. */
static size_t build(char *frame, size_t count, size_t bytes)
{
    size_t size = (size_t)snprintf(frame, 16, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        size += (size_t)snprintf(frame + size, 16, "$%zu\r\n", bytes);
        memset(frame + size, 'a', bytes);
        size += bytes;
        memcpy(frame + size, "\r\n", 2);
        size += 2;
    }
    return size;
}

static void check_limits(struct resp_story *story)
{
    static char frame[300000];
    size_t size = build(frame, RESP_ARGS_MAX, 8);
    tell(story, frame, size, 0, 7);
    OK(story->commands == 1 && !story->ended, "64 arguments are read");
    size = build(frame, 1, RESP_BULK_MAX_BYTES);
    tell(story, frame, size, 0, 7);
    OK(story->commands == 1 && !story->ended, "a bulk of %d bytes is read", RESP_BULK_MAX_BYTES);

    size = build(frame, 15, 4096);
    tell(story, frame, size, 0, 999);
    OK(story->commands == 1 && !story->ended, "a frame of %zu bytes is read", size);
    size = build(frame, 16, 4096);
    tell(story, frame, size, size, 1);
    OK(story->ended && strstr(story->text, "request too long") != NULL, "a frame of %zu bytes is refused", size);
    uint64_t hash = story->hash;
    tell(story, frame, size, 0, 333);
    OK(story->hash == hash, "in pieces as well");

    for (size_t count = 0; count < 1000; count++)
        size = count * 200 + build(frame + count * 200, 1, 200 - 12);
    tell(story, frame, size, size, 1);
    OK(story->commands == 1000 && !story->ended, "many frames of %zu bytes together are read", size);

    memset(frame, 'a', sizeof frame);
    memcpy(frame + RESP_INLINE_MAX_BYTES, "\r\n", 2);
    tell(story, frame, RESP_INLINE_MAX_BYTES + 2, 0, 5);
    OK(story->commands == 1 && !story->ended, "a line of 4096 bytes is read");
    memcpy(frame + RESP_INLINE_MAX_BYTES, "a\r\n", 3);
    tell(story, frame, RESP_INLINE_MAX_BYTES + 3, 0, 5);
    OK(story->ended && strstr(story->text, "line too long") != NULL, "a line of 4097 is refused");
    memcpy(frame + RESP_INLINE_MAX_BYTES, "a\n", 2);
    tell(story, frame, RESP_INLINE_MAX_BYTES + 2, 0, 5);
    OK(story->ended, "with a bare newline as well");
    memset(frame, 'a', sizeof frame);
    tell(story, frame, sizeof frame, 0, 1000);
    OK(story->ended, "so is a line that never ends");

    memset(frame, ' ', sizeof frame);
    for (size_t i = 0; i < RESP_ARGS_MAX; i++)
        frame[2 * i] = 'a';
    frame[200] = '\n';
    tell(story, frame, 201, 201, 1);
    OK(story->commands == 1 && !story->ended, "64 words are read");
    frame[130] = 'b';
    tell(story, frame, 201, 201, 1);
    OK(story->ended, "65 are refused");
}

int main(void)
{
    static char text[STORY_ROOM + 1];
    struct resp_story story = {.text = text, .room = STORY_ROOM + 1};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        check_sample(&story, &samples[i]);
    check_stream(&story);
    check_limits(&story);
    return tap_done();
}
