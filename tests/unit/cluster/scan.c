#include "cluster/codec/scan.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <msgpack.h>
#include <stdlib.h>

#define SAMPLE(sound, bytes, what)                                                                                 \
    {                                                                                                              \
        sound, bytes, sizeof bytes - 1, what                                                                       \
    }

struct sample {
    bool sound;
    const char *bytes;
    size_t size;
    const char *what;
};

static const struct sample samples[] = {
    SAMPLE(true, "\x00", "the number 0"),
    SAMPLE(true, "\x7f", "the largest number of one byte"),
    SAMPLE(true, "\xe0", "the smallest one"),
    SAMPLE(true, "\xc0", "nil"),
    SAMPLE(true, "\xc3", "true"),
    SAMPLE(true, "\x90", "an empty array"),
    SAMPLE(true, "\x92\x01\x02", "an array of two"),
    SAMPLE(true, "\xdc\x00\x02\x01\x02", "the same, its count in 16 bits"),
    SAMPLE(true, "\xdd\x00\x00\x00\x02\x01\x02", "the same, its count in 32 bits"),
    SAMPLE(true, "\xa3one", "a short text"),
    SAMPLE(true, "\xd9\x03one", "a text, its size in 8 bits"),
    SAMPLE(true, "\xda\x00\x03one", "a text, its size in 16 bits"),
    SAMPLE(true, "\xdb\x00\x00\x00\x03one", "a text, its size in 32 bits"),
    SAMPLE(true, "\xc4\x01x", "bytes, their size in 8 bits"),
    SAMPLE(true, "\xc5\x00\x01x", "bytes, their size in 16 bits"),
    SAMPLE(true, "\xc6\x00\x00\x00\x01x", "bytes, their size in 32 bits"),
    SAMPLE(true, "\xcf\x01\x02\x03\x04\x05\x06\x07\x08", "a number of 64 bits"),
    SAMPLE(true, "\xd3\x01\x02\x03\x04\x05\x06\x07\x08", "a signed one"),
    SAMPLE(true, "\x91\x91\x91\x91\x91\x91\x90", "seven arrays in each other"),
    SAMPLE(true, "\x92\x90\x91\xa0", "an empty array and an empty text"),
    SAMPLE(false, "", "nothing"),
    SAMPLE(false, "\x01\x02", "two values"),
    SAMPLE(false, "\x92\x01", "an array of two that has one"),
    SAMPLE(false, "\x91\x92\x01", "a nested one"),
    SAMPLE(false, "\xdd\xff\xff\xff\xff", "four thousand million elements in five bytes"),
    SAMPLE(false, "\xdd\x00\x00\x00", "a count cut short"),
    SAMPLE(false, "\xdc\x00", "a shorter count cut short"),
    SAMPLE(false, "\xa3on", "a text cut short"),
    SAMPLE(false, "\xdb\xff\xff\xff\xffxx", "a text of four gigabytes"),
    SAMPLE(false, "\xc6\xff\xff\xff\xff", "bytes, four gigabytes of them"),
    SAMPLE(false, "\xc4", "bytes without a size"),
    SAMPLE(false, "\xcf\x01\x02\x03\x04\x05\x06\x07", "a number cut short"),
    SAMPLE(false, "\xc1", "the byte that means nothing"),
    SAMPLE(false, "\x81\x01\x02", "a map"),
    SAMPLE(false, "\xde\x00\x00", "an empty map"),
    SAMPLE(false, "\xd4\x01\x02", "an extension"),
    SAMPLE(false, "\xc7\x00\x01", "an empty extension"),
    SAMPLE(false, "\xca\x00\x00\x00\x00", "a floating point number"),
    SAMPLE(true, "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x90", "ten arrays in each other"),
    SAMPLE(false, "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x90", "eleven arrays in each other"),
};

static bool scans(const char *data, size_t size)
{
    char *exact = malloc(size > 0 ? size : 1); /* so that reading beyond the end shows */
    if (size > 0)
        memcpy(exact, data, size);
    bool sound = scan_is_sound((struct bytes){exact, size}, UINT64_MAX);
    free(exact);
    return sound;
}

/* What passes is one value for the unpacker too, and takes no more than a few dozen times its size. */
static bool unpacker_agrees(const char *data, size_t size)
{
    msgpack_unpacked unpacked;
    size_t offset = 0;
    msgpack_unpacked_init(&unpacked);
    bool agrees = msgpack_unpack_next(&unpacked, data, size, &offset) == MSGPACK_UNPACK_SUCCESS && offset == size;
    msgpack_unpacked_destroy(&unpacked);
    return agrees;
}

/* Random bytes in which headers of every kind are likely. */
static size_t draw(struct random *random, char *data, size_t room)
{
    static const unsigned char heads[] = {0x90, 0x91, 0x92, 0x93, 0xa0, 0xa1, 0xa2, 0xc0, 0xc2, 0xc4, 0xc5, 0xcc,
                                          0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd9, 0xda, 0xdc, 0xdd, 0x00, 0x01, 0x02};
    size_t size = 1 + random_below(random, room);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(random_below(random, 8) == 0 ? random_below(random, 256)
                                                      : heads[random_below(random, sizeof heads)]);
    return size;
}

static void check_random(void)
{
    struct random random;
    char data[24];
    unsigned sound = 0, disagreements = 0;
    random_seed(&random, 1);
    for (unsigned i = 0; i < 300000; i++) {
        size_t size = draw(&random, data, i % 2 ? 6 : sizeof data);
        if (!scans(data, size))
            continue;
        sound++;
        disagreements += !unpacker_agrees(data, size);
    }
    OK(sound > 1000, "of 300,000 random values, %u are sound", sound);
    OK_U64(disagreements, 0, "whatever is sound is one value to the unpacker");
}

/* Only arrays that stand in one of the outermost are counted: so much work is refused before it begins. */
static void check_inner_arrays(void)
{
    static const char two_in_it[] = "\x92\x00\x91\x92\x01\x02", deeper[] = "\x91\x91\x91\x93\x00\x00\x00";
    struct bytes inner = {two_in_it, sizeof two_in_it - 1}, innermost = {deeper, sizeof deeper - 1};
    OK(scan_is_sound(inner, 2), "an array of as many values as there may be is sound");
    OK(!scan_is_sound(inner, 1), "one of more is refused");
    OK(scan_is_sound(innermost, 1), "not so one that is nested deeper");
}

static struct scan_head head_of(const char *data, size_t size)
{
    struct scan_head head;
    char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, data, size);
    scan_head((struct bytes){exact, size}, &head);
    if (head.text.size > 0)
        head.text.data = data + (head.text.data - exact);
    free(exact);
    return head;
}

#define HEAD(text) head_of(text, sizeof text - 1)

/* Nothing but what an array begins with is looked at. */
static void check_heads(void)
{
    static const char whole[] = "\x97\x04\xcc\x80\xcf\x01\x00\x00\x00\x00\x00\x00\x02\xa3"
                                "ann\xc1";
    struct scan_head head = HEAD(whole);
    OK(head.count == 3 && head.number[0] == 4 && head.number[1] == 128 &&
           head.number[2] == (UINT64_C(1) << 56) + 2 && bytes_equal(head.text, bytes_of("ann")),
       "an array begins with three numbers and a text");
    unsigned counts = 0, texts = 0;
    for (size_t size = 0; size < sizeof whole - 2; size++) {
        head = head_of(whole, size);
        counts += head.count;
        texts += head.text.size > 0;
    }
    OK_U64(counts, 2 * 1 + 9 * 2 + 4 * 3, "cut short, it has fewer");
    OK_U64(texts, 0, "and no text that is not whole");
    head = HEAD("\xdc\x00\x04\x01\x02\x03\xd9\x03"
                "ann");
    OK(head.count == 3 && bytes_equal(head.text, bytes_of("ann")), "longer ways to write them are read as well");
    head = HEAD("\x92\x01\x02\x03\xa3"
                "ann");
    OK(head.count == 2 && head.text.size == 0, "what stands behind the array does not count");
    OK(HEAD("\x93\x01\xff\x03").count == 1 && HEAD("\x04").count == 0 && HEAD("\xdd\x00").count == 0,
       "nor does what is no number, or no array");
}

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        OK(scans(samples[i].bytes, samples[i].size) == samples[i].sound, "%s is %s", samples[i].what,
           samples[i].sound ? "sound" : "refused");
    check_random();
    check_inner_arrays();
    check_heads();
    return tap_done();
}
