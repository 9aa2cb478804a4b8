/*
 * The waiting room on simulated time: the first of a key is tried, the others follow in order, everybody at the
 * deadline; and the same against a room that is kept in a plain list.
 */
#include "commands/waiting.h"
#include "tests/lib/draw.h"
#include "tests/lib/tap.h"

#define MS UINT64_C(1000000)

static struct waiting_room room;

static struct key_id key(uint64_t number)
{
    return (struct key_id){.low = number * 77, .high = number % 3}; /* many share a bucket */
}

static void empty(void)
{
    memset(&room, 0, sizeof room);
    waiting_begin_round(&room);
}

static void test_order(void)
{
    empty();
    OK_U64(waiting_tokens(&room, key(1)), 0, "nobody waits for the key");
    const uint32_t a = waiting_enter(&room, key(1), 60, 50 * MS), b = waiting_enter(&room, key(1), 1, 10 * MS),
                   c = waiting_enter(&room, key(1), 2, 90 * MS), other = waiting_enter(&room, key(4), 5, 50 * MS);
    OK(a > 0 && b > 0 && c > 0 && other > 0, "each has a ticket");
    OK_U64(waiting_tokens(&room, key(1)), 63, "three wait for so much of one key,");
    OK_U64(waiting_tokens(&room, key(4)), 5, "one of another that shares its bucket,");
    OK_U64(waiting_tokens(&room, key(7)), 0, "and none of a third");
    OK(key_id_equal(waiting_key(&room, other), key(4)), "a place knows its key");
    OK(waiting_is_due(&room, a, MS, 1) && waiting_is_due(&room, other, MS, 1), "the first of each key is due");
    OK(!waiting_is_due(&room, b, MS, 1) && !waiting_is_due(&room, c, MS, 1),
       "a small one behind a large one is not");
    OK(waiting_ahead(&room, a, MS) == 0 && waiting_ahead(&room, c, MS) == 61, "so much is before each");
    OK(waiting_is_due(&room, b, 10 * MS, 1) && waiting_is_over(&room, b, 10 * MS), "at its deadline it is");
    OK(!waiting_is_over(&room, a, 10 * MS), "others still have time");
    waiting_leave(&room, b);
    waiting_leave(&room, a);
    OK(waiting_is_due(&room, c, 11 * MS, 1), "the next one follows when the first has left");
    waiting_leave(&room, c);
    waiting_leave(&room, other);
    OK(room.count == 0 && waiting_tokens(&room, key(1)) == 0, "and then nobody is there");
}

static void test_tries(void)
{
    empty();
    const uint32_t a = waiting_enter(&room, key(1), 0, 100 * MS);
    OK(waiting_tokens(&room, key(1)) > 0, "who wants nothing waits as well");
    waiting_note_tried(&room, a, 10 * MS, 9 * MS, 20 * MS);
    OK(!waiting_is_due(&room, a, 11 * MS, 9 * MS), "nothing has happened since the last try");
    OK(waiting_is_due(&room, a, 11 * MS, 10 * MS), "the node has made a step: rights may have come");
    OK(waiting_is_due(&room, a, 30 * MS, 9 * MS), "what refill alone may admit is tried then");
    waiting_note_tried(&room, a, 10 * MS, 9 * MS, UINT64_MAX);
    OK(!waiting_is_due(&room, a, 99 * MS, 9 * MS) && waiting_is_due(&room, a, 100 * MS, 9 * MS),
       "never is never, but for the deadline");
    uint32_t tried = 0;
    waiting_begin_round(&room);
    for (uint32_t i = 1; i < 2 * WAITING_TRIES_MAX; i++)
        tried += waiting_is_due(&room, waiting_enter(&room, key(i + 1), 1, 100 * MS), MS, 1);
    OK_U64(tried, WAITING_TRIES_MAX, "a round has so many tries");
    OK(waiting_is_due(&room, a, 100 * MS, 9 * MS), "whose deadline has come is no part of them");
}

/* The client of the first reads no answers: nobody behind it waits for longer than it may. */
static void test_stuck(void)
{
    empty();
    (void)waiting_enter(&room, key(1), 50, 10 * MS);
    const uint32_t next = waiting_enter(&room, key(1), 1, 90 * MS), last = waiting_enter(&room, key(1), 1, 90 * MS);
    OK(!waiting_is_due(&room, next, 9 * MS, 1), "the second waits");
    OK(waiting_is_due(&room, next, 10 * MS, 1) && waiting_ahead(&room, next, 10 * MS) == 0,
       "as long as the first may");
    OK(!waiting_is_due(&room, last, 10 * MS, 1) && waiting_ahead(&room, last, 10 * MS) == 1, "the third behind it");
}

static void test_full(void)
{
    uint32_t tickets[WAITING_MAX];
    empty();
    for (uint32_t i = 0; i < WAITING_MAX; i++)
        tickets[i] = waiting_enter(&room, key(i), 1, MS);
    OK(!waiting_has_room(&room), "a room is full");
    for (uint32_t i = 0; i < WAITING_MAX; i += 2)
        waiting_leave(&room, tickets[i]);
    OK(waiting_has_room(&room) && room.count == WAITING_MAX / 2, "until some leave");
    room.ends = true;
    OK(!waiting_has_room(&room) && waiting_is_due(&room, tickets[1], 0, 0) && waiting_is_over(&room, tickets[1], 0),
       "nobody comes into a room that ends, and all are due");
}

/* ---- against a plain list ---- */

enum { MOST = 60, KEYS = 9 };

struct plain {
    uint32_t ticket;
    uint64_t number, tokens, deadline_ns;
};
static struct plain plain[MOST];
static uint32_t plain_count;

static bool plain_is_first(uint32_t index, uint64_t now_ns)
{
    for (uint32_t i = 0; i < index; i++)
        if (plain[i].number == plain[index].number && plain[i].deadline_ns > now_ns)
            return false;
    return true;
}

static uint64_t plain_tokens(uint64_t number)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < plain_count; i++)
        tokens += plain[i].number == number ? plain[i].tokens : 0;
    return tokens;
}

static bool agree(uint64_t now_ns)
{
    waiting_begin_round(&room);
    for (uint64_t number = 0; number < KEYS; number++)
        if (waiting_tokens(&room, key(number)) != plain_tokens(number))
            return false;
    for (uint32_t i = 0; i < plain_count; i++) {
        const bool due = plain_is_first(i, now_ns) || plain[i].deadline_ns <= now_ns;
        if (waiting_is_due(&room, plain[i].ticket, now_ns, 1) != due ||
            !key_id_equal(waiting_key(&room, plain[i].ticket), key(plain[i].number)))
            return false;
    }
    return room.count == plain_count;
}

static void test_drawn(void)
{
    struct random random;
    random_seed(&random, 30);
    bool same = true;
    uint64_t now_ns = 0;
    empty();
    for (unsigned round = 0; round < 20000 && same; round++) {
        now_ns += below(&random, 3) * MS;
        if (plain_count < MOST && below(&random, 2) == 0) {
            struct plain next = {.number = below(&random, KEYS),
                                 .tokens = 1 + below(&random, 9),
                                 .deadline_ns = now_ns + (1 + below(&random, 50)) * MS};
            next.ticket = waiting_enter(&room, key(next.number), next.tokens, next.deadline_ns);
            plain[plain_count++] = next;
        } else if (plain_count > 0) {
            const uint32_t at = below(&random, plain_count);
            waiting_leave(&room, plain[at].ticket);
            memmove(&plain[at], &plain[at + 1], (plain_count - at - 1) * sizeof *plain);
            plain_count--;
        }
        same = agree(now_ns);
    }
    OK(same, "after any comings and goings the same are due, in the same order");
}

int main(void)
{
    test_order();
    test_tries();
    test_stuck();
    test_full();
    test_drawn();
    return tap_done();
}
