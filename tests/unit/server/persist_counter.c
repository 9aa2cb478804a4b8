#include "persist.h"

#include "tests/lib/tap.h"

#define SECOND_NS ((uint64_t)1000000000)
#define WALL_NS ((uint64_t)1800000000000000000) /* some day */
#define NOW_NS (77 * SECOND_NS)

static struct counter counter_of(enum limit_kind kind, uint64_t number, uint64_t expires_ns)
{
    return (struct counter){
        .id = {1, 2},
        .terms = {(uint8_t)kind, LIMIT_PERSISTENT, 100, kind == LIMIT_BUCKET ? 10 : 0, 10 * SECOND_NS, 5, 0},
        .number = number,
        .expires_ns = expires_ns,
    };
}

/* Kept at NOW_NS and WALL_NS, taken back `away_ns` later by a daemon whose clock is at `now_ns`. */
static bool comes_back(struct counter counter, uint64_t away_ns, uint64_t now_ns, struct counter *back)
{
    struct store_counter kept = persist_counter(&counter, NOW_NS, WALL_NS);
    return persist_counter_back(&kept, now_ns, WALL_NS + away_ns, back);
}

int main(void)
{
    struct counter bucket = counter_of(LIMIT_BUCKET, 10 * SECOND_NS, 0), back;
    struct counter cell = counter_of(LIMIT_CELL, 40, NOW_NS + 3600 * SECOND_NS);
    struct counter log = counter_of(LIMIT_LOG, 7, NOW_NS + 10 * SECOND_NS);

    OK(comes_back(bucket, 4 * SECOND_NS, 5, &back) && back.number == 6 * SECOND_NS && back.expires_ns == 0,
       "a bucket refilled while nobody ran");
    OK(back.id.high == 1 && back.id.low == 2 && limit_terms_equal(&back.terms, &bucket.terms), "its id and terms");
    OK(!comes_back(bucket, 10 * SECOND_NS, 5, &back), "until it was full");
    bucket.number = UINT64_MAX;
    OK(comes_back(bucket, 4 * SECOND_NS, 5, &back) && back.number > (uint64_t)1 << 63, "or never will be");

    bucket.terms = (struct limit_terms){LIMIT_BUCKET, LIMIT_PERSISTENT, 4000000, 1, 3600 * SECOND_NS, 0, 0};
    bucket.number = 3000000;
    OK(comes_back(bucket, 600 * SECOND_NS, 5, &back) && back.number == 3000000,
       "the tokens of one that takes centuries to fill are kept as tokens");

    OK(comes_back(cell, 600 * SECOND_NS, 5, &back) && back.number == 40 && back.expires_ns == 5 + 3000 * SECOND_NS,
       "a window ends when it would have ended, by the wall clock");
    OK(!comes_back(cell, 3600 * SECOND_NS, 5, &back), "and then it is over");
    cell.expires_ns = NOW_NS;
    OK(!comes_back(cell, 0, 5, &back), "as it is for one that was over already");

    OK(comes_back(log, 9 * SECOND_NS, 5, &back) && back.number == 7 && back.expires_ns == 5 + SECOND_NS,
       "spends of a log count until the last of them ends");
    OK(!comes_back(log, 10 * SECOND_NS, 5, &back), "and then are over");

    const struct counter_part part = {.ends_ns = NOW_NS + 10 * SECOND_NS, .tokens = 3};
    const struct store_part kept = persist_part(&part, NOW_NS, WALL_NS);
    struct counter_part part_back = persist_part_back(&kept, 5, WALL_NS + 4 * SECOND_NS);
    OK(part_back.ends_ns == 5 + 6 * SECOND_NS && part_back.tokens == 3, "a part of it ends when it would have");
    part_back = persist_part_back(&kept, 5, WALL_NS + 11 * SECOND_NS);
    OK(part_back.ends_ns == 5, "one that has ended is over");

    for (int kind = 0; kind < LIMIT_KINDS; kind++) {
        struct counter unused = counter_of((enum limit_kind)kind, 0, NOW_NS + SECOND_NS);
        OK(persist_counter(&unused, NOW_NS, WALL_NS).until_wall_ns == 0, "kind %d: nothing used is nothing to keep",
           kind);
    }
    struct store_counter odd = {.terms = {.kind = 9}, .number = 1, .until_wall_ns = UINT64_MAX};
    OK(!persist_counter_back(&odd, 0, 0, &back), "an unknown kind does not come back");
    return tap_done();
}
