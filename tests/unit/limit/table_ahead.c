/* A key found or obtained where it was guessed to stand is what it would be if it were searched for; and glances. */
#include "base/random.h"
#include "limit/table.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <string.h>

enum { KEYS = 600, TOGETHER = 64, TURNS = 4000, FULL_AGAIN_NS = 20000 };

static struct limit_set limits;
static struct budget budget;

/* hints are made for all of a turn, a turn before they are used. */
struct turn {
    struct key_id id[TOGETHER];
    uint64_t slot_hint[TOGETHER];
};

static void draw_turn(struct random *random, const struct key_id *ids, struct turn *turn)
{
    for (int i = 0; i < TOGETHER; i++)
        turn->id[i] = ids[random_below(random, KEYS)];
}

static void make_slot_hints(const struct table *table, struct turn *turn)
{
    for (int i = 0; i < TOGETHER; i++)
        turn->slot_hint[i] = table_prefetch(table, turn->id[i]);
}

static struct bucket take(struct entry *entry, uint64_t now_ns)
{
    (void)bucket_take(&entry->bucket, &limits.limit[0], &budget, 1, 0, now_ns);
    return entry->bucket;
}

static bool alike(const struct table *a, const struct table *b)
{
    struct table_stats of_a, of_b;
    table_stats(a, &of_a);
    table_stats(b, &of_b);
    return memcmp(&of_a, &of_b, sizeof of_a) == 0;
}

/* Keys are full again soon, and many are forgotten in passing, between the hint and the request as well. */
static void hinted(uint64_t table_keys, unsigned least_right, const char *what)
{
    struct table *one = table_create(table_keys, 1, &limits, &budget);
    struct table *other = table_create(table_keys, 1, &limits, &budget);
    struct key_id ids[KEYS];
    struct random random;
    struct turn turn = {0}, next;
    uint64_t now_ns = 1, wrong = 0, pairs = 0, right = 0, before_hint = 0;
    const struct entry *before = NULL;
    bool all_alike = true;
    assert(one && other);
    random_seed(&random, table_keys);
    for (int i = 0; i < KEYS; i++) {
        ids[i].high = random_u64(&random);
        ids[i].low = random_u64(&random);
    }
    draw_turn(&random, ids, &turn);
    make_slot_hints(one, &turn);
    for (int t = 0; t < TURNS; t++, turn = next) {
        draw_turn(&random, ids, &next);
        make_slot_hints(one, &next);
        for (int i = 0; i < TOGETHER; i++) {
            now_ns += random_below(&random, 2 * FULL_AGAIN_NS / KEYS);
            struct entry *found = table_find(one, turn.id[i]);
            wrong += table_find_at(one, turn.slot_hint[i], turn.id[i]) != found;
            if (found && before) { /* entries are as far from each other as their hints, if both are right */
                pairs++;
                right += found - before == (int64_t)(turn.slot_hint[i] - before_hint);
            }
            before = found;
            before_hint = turn.slot_hint[i];
            wrong += table_find_at(one, 0, turn.id[i]) != found;
            const struct bucket here = take(table_obtain(one, turn.id[i], 0, 0, now_ns), now_ns);
            const struct bucket there = take(table_obtain(other, turn.id[i], 0, 0, now_ns), now_ns);
            wrong += here.settled != there.settled || here.last_refill_ns != there.last_refill_ns;
        }
        all_alike &= alike(one, other);
    }
    struct table_stats stats;
    table_stats(one, &stats);
    table_check(one);
    OK_U64(wrong, 0, "%s: every key has what it would have", what);
    OK(all_alike && stats.expired_keys > TURNS / 5, "%s: the same keys are forgotten, %llu times", what,
       (unsigned long long)stats.expired_keys);
    OK(right >= pairs * least_right / 100, "%s: %llu of %llu guesses are right, twice in a row", what,
       (unsigned long long)right, (unsigned long long)pairs);
    table_destroy(&one);
    table_destroy(&other);
}

/* Every third key is marked; whatever else stands next to open_index is full of ones. */
static void glanced(void)
{
    enum { EVERY = 3, FIRST = (1 << 20) - KEYS };
    struct table *table = table_create(4 * KEYS, 1, &limits, &budget);
    struct key_id ids[KEYS];
    struct random random;
    uint64_t own = 0, marked = 0, of_marked = 0;
    assert(table);
    random_seed(&random, KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        ids[i] = (struct key_id){random_u64(&random), random_u64(&random)};
        struct entry *entry = table_obtain(table, ids[i], 0, 0, 1);
        entry->open_index = (FIRST + i) & 0xfffffu;
        entry->tenant = 0xfff;
        entry->last_spender = 0x7f;
        entry->dirty = 1;
        entry->own_batch = 0xff;
    }
    for (uint32_t i = 0; i < KEYS; i += EVERY) /* when nothing moves any more */
        table_mark_set(table_mark_of(table, table_find(table, ids[i])));
    struct table_aged aged;
    for (uint64_t place = 0;
         place < table_places(table) / 2 / TABLE_MARKS * TABLE_MARKS;) /* half of them are old */
        table_age_marks(table, &place, table_places(table) / 2 / TABLE_MARKS * TABLE_MARKS, AGING_ALL, &aged);
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t index;
        bool says = table_peek_open(table, table_prefetch(table, ids[i]), &index);
        own += says && index == FIRST + i;
        marked += !says;
        of_marked += says && i % EVERY == 0 && index == FIRST + i;
    }
    OK(own >= (KEYS - KEYS / EVERY) * 95 / 100, "%llu of %d keys that are not marked say where their spends stand",
       (unsigned long long)own, KEYS - KEYS / EVERY);
    OK(marked >= KEYS / EVERY * 95 / 100 && of_marked == 0, "none of %d that are marked does", KEYS / EVERY);
    table_destroy(&table);
}

int main(void)
{
    struct error error;
    const struct limit_terms terms = {.capacity = 2, .rate = 2, .period_ns = FULL_AGAIN_NS};
    bool made = limit_set_init(&limits, 1, NULL) && limit_set_intern(&limits, &terms, &error) == 0;
    assert(made);
    budget_init(&budget, &limits.limit[0], SHARE_ONE, true);
    hinted(4 * KEYS, 95, "a table with room");
    hinted(KEYS, 75, "a table that is nearly full");
    hinted(KEYS / 2, 5, "a table that is too small");
    glanced();
    limit_set_close(&limits);
    return tap_done();
}
