/* A request that is recognised by its shape means what parsing it says. */
#include "wire/shape.h"

#include "tests/lib/draw.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

enum { ROUNDS = 20000, FRAME_BYTES = 1024, TRIES = 12 };

struct parsed {
    struct resp_command command;
    struct command_query query;
    size_t size;
};

/* A CHECK or a PEEK, as shape_of asks for it. */
static bool parse(struct bytes input, struct parsed *parsed)
{
    const char *why;
    char error[COMMAND_ERROR_BYTES];
    return resp_parse(input, &parsed->command, &parsed->size, &why) == RESP_COMMAND && parsed->command.count >= 2 &&
           command_parse_query(&parsed->command, QUERY_COST, &parsed->query, error);
}

static size_t write_frame(char *out, const char *line)
{
    size_t words = 1, size;
    for (const char *at = line; *at; at++)
        words += *at == ' ';
    size = (size_t)snprintf(out, FRAME_BYTES, "*%zu\r\n", words);
    for (const char *at = line;; at += strcspn(at, " ") + 1) {
        size_t length = strcspn(at, " ");
        size += (size_t)snprintf(out + size, FRAME_BYTES - size, "$%zu\r\n%.*s\r\n", length, (int)length, at);
        if (at[length] == '\0')
            return size;
    }
}

static struct bytes frame_of(const char *line)
{
    static char frame[FRAME_BYTES];
    return (struct bytes){frame, write_frame(frame, line)};
}

static bool learn(const char *line, struct shape *made)
{
    static struct parsed parsed;
    struct bytes frame = frame_of(line);
    bool fine = parse(frame, &parsed);
    assert(fine);
    return shape_of(frame, &parsed.command, &parsed.query, made);
}

static bool has_shape(const struct shape *made, const char *line)
{
    struct bytes values[COMMAND_IDS_MAX], frame = frame_of(line);
    size_t size = shape_read(made, frame, values);
    assert(size == 0 || size == frame.size);
    return size > 0;
}

static void table(void)
{
    static struct shape made;
    static const char first[] = "CHECK user=alice ip=10.0.0.1 SERVICE shop COST 2";
    static const struct {
        bool same;
        const char *line;
    } others[] = {
        {true, "CHECK user=alice ip=10.0.0.1 SERVICE shop COST 2"},
        {true, "CHECK user=b ip=a=b SERVICE shop COST 2"},
        {true, "CHECK user=COST ip=SERVICE SERVICE shop COST 2"},
        {false, "CHECK ip=10.0.0.1 user=alice SERVICE shop COST 2"},
        {false, "CHECK user=alice ip=10.0.0.1 SERVICE shop COST 3"},
        {false, "CHECK user=alice ip=10.0.0.1 SERVICE shot COST 2"},
        {false, "CHECK user=alice ip=10.0.0.1 SERVICE shop COST 22"},
        {false, "CHECK user=alice ip=10.0.0.1 SERVICE shop"},
        {false, "CHECK user=alice ip=10.0.0.1 tenant=1 SERVICE shop COST 2"},
        {false, "CHECK user=alice SERVICE shop COST 2"},
        {false, "CHECK user= ip=10.0.0.1 SERVICE shop COST 2"},
        {false, "CHECK alice ip=10.0.0.1 SERVICE shop COST 2"},
        {false, "CHECK uses=alice ip=10.0.0.1 SERVICE shop COST 2"},
        {false, "CHECK user=alice iq=10.0.0.1 SERVICE shop COST 2"},
        {false, "PEEK user=alice ip=10.0.0.1 SERVICE shop COST 2"},
        {false, "check user=alice ip=10.0.0.1 SERVICE shop COST 2"},
        {false, "CHECK user=alice ip=10.0.0.1 COST 2 SERVICE shop"},
    };
    OK(learn(first, &made), "a request is remembered: %s", first);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        OK(has_shape(&made, others[i].line) == others[i].same, "%s: %s",
           others[i].same ? "of its shape" : "not of its shape", others[i].line);
    OK(!learn("CHECK alice SERVICE shop", &made) && !has_shape(&made, "CHECK alice SERVICE shop"),
       "an id without a dimension is not remembered");
    OK(learn("CHECK a_dimension_of_twenty_five=a COST 1", &made) &&
           has_shape(&made, "CHECK a_dimension_of_twenty_five=b COST 1") &&
           !has_shape(&made, "CHECK a_dimension_of_twenty_fivE=b COST 1"),
       "long dimensions are compared to their end");
}

static void unusual_frames(void)
{
    static struct shape made;
    static struct parsed parsed;
    static const char *const frames[] = {
        "CHECK user=alice SERVICE shop\r\n",
        "*4\r\n$5\r\nCHECK\r\n$10\r\nuser=alice\r\n$7\r\nSERVICE\r\n$999\r\n",
        "*3\r\n$5\r\nCHECK\r\n$0010\r\nuser=alice\r\n$7\r\nSERVICE\r\n",
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        struct bytes frame = bytes_of(frames[i]);
        OK(!parse(frame, &parsed) || !shape_of(frame, &parsed.command, &parsed.query, &made),
           "not remembered: frame %zu, which no library writes", i);
    }
    char line[300] = "CHECK user=alice ENDPOINT /";
    memset(line + strlen(line), 'x', 200);
    OK(!learn(line, &made), "nor is what is very long");
}

/* CAN_ACCESS of a key is read from the front and as the parser understands it; all else is 0. */
static void access_of_a_key(void)
{
    static const char *const others[] = {
        "*2\r\n$10\r\ncan_access\r\n$1\r\nk\r\n",            /* small letters */
        "*3\r\n$10\r\nCAN_ACCESS\r\n$1\r\nk\r\n$1\r\n2\r\n", /* a cost */
        "*2\r\n$10\r\nCAN_ACCESS\r\n$0\r\n\r\n",             /* no key */
        "*2\r\n$10\r\nCAN_ACCESS\r\n$01\r\nk\r\n",           /* a leading zero */
        "*2\r\n$10\r\nCAN_ACCESS\r\n$3\r\nk\r\n",            /* not whole */
        "*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\nkk\r\n",           /* another length */
        "*2\r\n$10\r\nCAN_ACCESS\r\n$1x\r\nk\r\n",           /* no length */
        "*2\r\n$10\r\nCAN_ACCESS\r\n$-1\r\n",
        "CAN_ACCESS k\r\n                             ",
    };
    char frame[512];
    struct bytes key;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        OK_U64(shape_read_access(bytes_of(others[i]), &key), 0, "not of the shape of CAN_ACCESS");
    bool right = true, cut = true;
    for (int size = 1; size <= 120; size++) {
        int length =
            snprintf(frame, sizeof frame, "*2\r\n$10\r\nCAN_ACCESS\r\n$%d\r\n%0*d\r\n*2\r\n", size, size, 7);
        struct bytes whole = {frame, (size_t)length};
        size_t taken = shape_read_access(whole, &key);
        right &= size < 100 ? taken == whole.size - 4 && key.size == (size_t)size && key.data[size - 1] == '7'
                            : taken == 0;
        for (size_t some = 0; some < taken; some++) {
            char *exact = malloc(some > 0 ? some : 1); /* so that reading beyond shows */
            assert(exact != NULL);
            memcpy(exact, frame, some);
            cut &= shape_read_access((struct bytes){exact, some}, &key) == 0;
            free(exact);
        }
    }
    OK(right, "a key of 1 to 99 bytes");
    OK(cut, "and nothing less than a whole frame");
}

/* ---- frames like a remembered one, broken somewhere ---- */

static void draw_line(struct random *random, const char *command, const char *const *names, const char *tail,
                      char *line)
{
    int size = snprintf(line, FRAME_BYTES, "%s", command);
    for (; *names; names++) {
        size += snprintf(line + size, FRAME_BYTES - (size_t)size, " %s=", *names);
        for (unsigned left = 1 + below(random, below(random, 20) == 0 ? 110 : 12); left > 0; left--)
            line[size++] = (char)('!' + below(random, 90));
        line[size] = '\0';
    }
    (void)snprintf(line + size, FRAME_BYTES - (size_t)size, "%s", tail);
}

static bool means_the_same(struct bytes input, const struct parsed *first, size_t size, const struct bytes *values)
{
    static struct parsed parsed;
    if (!parse(input, &parsed) || parsed.size != size || parsed.query.id_count != first->query.id_count ||
        !bytes_equal(parsed.command.args[0], first->command.args[0]) ||
        !bytes_equal(parsed.query.service, first->query.service) ||
        !bytes_equal(parsed.query.endpoint, first->query.endpoint) ||
        !bytes_equal(parsed.query.tier, first->query.tier) || parsed.query.cost != first->query.cost ||
        parsed.query.priority != first->query.priority || !bytes_equal(parsed.query.rule, first->query.rule))
        return false;
    for (uint32_t i = 0; i < parsed.query.id_count; i++)
        if (!bytes_equal(parsed.query.id[i].dimension, first->query.id[i].dimension) ||
            parsed.query.id[i].value.data != values[i].data || parsed.query.id[i].value.size != values[i].size)
            return false;
    return true;
}

struct found {
    unsigned known, others, wrong;
};

/* A copy that ends where its memory does: a sanitizer sees whoever reads further. */
static void try(const char *frame, size_t size, const struct shape *made, const struct parsed *first,
                struct found *found)
{
    struct bytes values[COMMAND_IDS_MAX];
    char *copy = malloc(size + 1);
    memcpy(copy + 1, frame, size);
    struct bytes input = {copy + 1, size};
    size_t size_read = shape_read(made, input, values);
    found->known += size_read > 0;
    found->others += size_read == 0;
    found->wrong += size_read > 0 && !means_the_same(input, first, size_read, values);
    free(copy);
}

static void breaking(void)
{
    static struct parsed first;
    static struct shape made;
    struct random random;
    struct found found = {0};
    char line[FRAME_BYTES], before[FRAME_BYTES], frame[FRAME_BYTES];
    random_seed(&random, 1);
    for (int round = 0; round < ROUNDS; round++) {
        const char *names[4] = {ANY(&random, "user", "u", "ip"), ANY(&random, "tenant", "a.long.dimension"),
                                below(&random, 2) ? "organisation" : NULL, NULL};
        const char *command = ANY(&random, "CHECK", "PEEK", "check");
        const char *tail = ANY(&random, "", " SERVICE s", " SERVICE shop ENDPOINT /v1/x", " TIER pro COST 9");
        draw_line(&random, command, names, tail, line);
        size_t size = write_frame(before, line);
        bool fine = parse((struct bytes){before, size}, &first);
        assert(fine);
        if (!shape_of((struct bytes){before, size}, &first.command, &first.query, &made))
            continue;
        for (int i = 0; i < TRIES; i++) {
            draw_line(&random, command, names, tail, line);
            size = write_frame(frame, line);
            if (i % 3 == 1)
                frame[below(&random, (unsigned)size)] = (char)below(&random, 256);
            if (i % 3 == 2)
                size = below(&random, (unsigned)size);
            try(frame, size, &made, &first, &found);
        }
    }
    OK_U64(found.wrong, 0, "%u were recognised, and all mean what parsing says", found.known);
    OK(found.known > ROUNDS && found.others > ROUNDS, "%u broken ones were not", found.others);
}

int main(void)
{
    table();
    unusual_frames();
    access_of_a_key();
    breaking();
    return tap_done();
}
