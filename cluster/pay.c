#include "cluster/parts.h"

#include <assert.h>

/*
 * What need not be told: a spend that this node's share of the refill has paid off, if no other view of its key was
 * below the capacity meanwhile. docs/accounting.md, "What is never told", has the argument.
 *
 * So a spend from a key that is full otherwise waits, if what is unsettled of it will soon be paid off. Most do, and
 * nothing is written down of them but in their key's entry, which is marked: how many tokens, and how often it was
 * looked at. Marked entries are looked at in rounds through the table, each as long as it takes to be paid off and for
 * the news of others to come. What has waited for long is told at the pace, like others.
 */
enum {
    LOOK_INTERVALS = 2,       /* a round takes as long */
    WAITS_INTERVALS_MAX = 10, /* in all */
    LOOKS_PER_INTERVAL = 16,
    TOKENS_BITS = 17, /* of entry.open_index; the others count looks */
    LOOKS_MAX = 7,
    SIDE_BY_SIDE = 16,        /* places that memory is asked for at once */
    PLACES_PER_KEY = 1 << 11, /* a look at so many that are not marked takes as long as one at a key */
};

#define WAIT_TOKENS_MAX (((uint32_t)1 << TOKENS_BITS) - 1)

_Static_assert(ROUNDS > LOOKS_MAX + 1, "it is known when what waits began to");
_Static_assert(OPEN_INDEX_MAX >> TOKENS_BITS == LOOKS_MAX, "looks are counted in the bits that are left");

int64_t soon_paid_units(const struct node *node, const struct limit *limit, uint64_t share)
{
    if (limit->kind != LIMIT_BUCKET || node->alone || (limit->flags & LIMIT_SPLIT) != 0)
        return -1;
    int64_t units;
    if (__builtin_mul_overflow(node->options.interval_ns / limit->tick_ns, limit->units_per_tick, &units) ||
        units > limit->capacity_units)
        units = limit->capacity_units;
    return units_times(units, share);
}

/* ---- one key ---- */

static uint32_t looks_of(const struct entry *entry)
{
    return entry->open_index >> TOKENS_BITS;
}

static uint64_t wait_tokens(const struct entry *entry)
{
    assert(entry->waits);
    return entry->open_index & WAIT_TOKENS_MAX;
}

bool wait_more(struct node *node, struct entry *entry, uint64_t tokens)
{
    uint64_t sum = tokens;
    if (entry->waits)
        sum += wait_tokens(entry);
    else if (is_in_open(node, entry))
        return false; /* it is told along with that */
    if (sum > WAIT_TOKENS_MAX)
        return false;
    if (entry->waits) {
        entry->open_index = (entry->open_index + tokens) & OPEN_INDEX_MAX;
        return true;
    }
    entry->waits = 1;
    entry->open_index = (uint32_t)tokens & OPEN_INDEX_MAX;
    table_mark(node->table, entry);
    own_lane(node)->waits_more++;
    return true;
}

void wait_less(struct entry *entry, uint64_t tokens)
{
    assert(tokens <= wait_tokens(entry));
    entry->open_index = (entry->open_index - tokens) & OPEN_INDEX_MAX;
}

/* After so many looks, one in each round, of which the last may have been in this one. */
static uint64_t began_ns(const struct node *node, uint32_t looks)
{
    return node->waits.began_ns[(node->waits.round - looks - 1) % ROUNDS];
}

uint64_t wait_since_ns(const struct node *node, const struct entry *entry)
{
    return began_ns(node, looks_of(entry));
}

uint64_t wait_end(struct node *node, struct entry *entry)
{
    uint64_t tokens = wait_tokens(entry);
    entry->waits = 0;
    entry->open_index = 0; /* what is there, is near */
    own_lane(node)->waits_more--;
    return tokens;
}

/* ---- all of them ---- */

uint32_t wait_count(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->lane_count; i++)
        count += node->lane[i].waits_more;
    return count;
}

uint64_t wait_oldest_ns(const struct node *node)
{
    const uint32_t *most = node->waits.looks_most;
    return began_ns(node, most[0] > most[1] ? most[0] : most[1]);
}

void wait_no_more(struct node *node, uint32_t most)
{
    struct entry *entry;
    uint64_t place = node->waits.place;
    while (most > 0 && wait_count(node) > 0) {
        if (table_find_marked(node->table, &place, table_places(node->table), &entry, 1) == 0) {
            place = 0; /* there are some before where the round is */
            continue;
        }
        if (entry->waits) {
            tell_for_room(node);
            (void)open_spend(node, entry);
            most--;
        }
        table_unmark(node->table, entry);
    }
}

/* ---- looks ---- */

/* All that any view was charged with until then is charged here. */
static uint64_t covered_until_ns(struct node *node)
{
    uint64_t until_ns = node->now_ns;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        if (member->made_ns > member->covered_ns && origins_cover_view(node, i))
            member->covered_ns = member->made_ns;
        if (member->covered_ns < until_ns)
            until_ns = member->covered_ns;
    }
    return until_ns;
}

/*
 * When it was made, the key was full otherwise, and nothing has been charged to it since, or it would wait no more: our
 * share of an interval's refill has paid it off. The table may know better, if shares have changed. The last spend
 * was made when the key was last touched, or before.
 */
static bool is_paid_off(const struct node *node, const struct entry *entry, uint64_t covered_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (entry->bucket.last_refill_ns + limit->tick_ns + node->options.interval_ns > covered_ns)
        return false;
    struct bucket now = entry->bucket;
    bucket_refill(&now, limit, &node->budget[entry->limit], covered_ns);
    return bucket_is_full(&now, limit);
}

static void look(struct node *node, struct entry *entry, uint64_t covered_ns)
{
    struct waits *waits = &node->waits;
    if (!entry->waits) {
        table_unmark(node->table, entry);
        return;
    }
    if (is_paid_off(node, entry, covered_ns)) {
        (void)wait_end(node, entry);
        table_unmark(node->table, entry);
        node->stats.spends_paid_off++;
        return;
    }
    uint64_t age_ns = node->now_ns - wait_since_ns(node, entry);
    uint32_t looks = looks_of(entry) + 1;
    if (looks > LOOKS_MAX || age_ns > WAITS_INTERVALS_MAX * node->options.interval_ns) {
        tell_for_room(node);
        (void)open_spend(node, entry);
        return;
    }
    entry->open_index = (entry->open_index + ((uint32_t)1 << TOKENS_BITS)) & OPEN_INDEX_MAX;
    waits->looks_most[0] = looks > waits->looks_most[0] ? looks : waits->looks_most[0];
}

/* Looks at what waits up to that place, at about `most` keys. While some are looked at, memory is asked for others. */
static void look_up_to(struct node *node, uint64_t end, uint64_t most)
{
    struct entry *entries[2][SIDE_BY_SIDE];
    uint64_t looks = 0, *place = &node->waits.place, covered_ns = covered_until_ns(node);
    size_t now = 0, count[2] = {table_find_marked(node->table, place, end, entries[0], SIDE_BY_SIDE)};
    for (; count[now] > 0; now = !now) {
        looks += count[now];
        count[!now] = looks < most ? table_find_marked(node->table, place, end, entries[!now], SIDE_BY_SIDE) : 0;
        for (size_t i = 0; i < count[now]; i++)
            look(node, entries[now][i], covered_ns);
    }
}

/* Nothing that will wait began to before now. */
static void begin_anew(struct waits *waits, uint64_t now_ns)
{
    for (uint32_t i = 0; i < ROUNDS; i++)
        waits->began_ns[i] = now_ns;
    waits->place = 0;
    waits->looks_most[0] = waits->looks_most[1] = 0;
    waits->look_ns = UINT64_MAX;
}

static uint64_t round_ns(const struct node *node)
{
    return LOOK_INTERVALS * node->options.interval_ns;
}

/* It is a little late each time: that does not add up. */
static void begin_round(struct node *node)
{
    struct waits *waits = &node->waits;
    uint64_t due_ns = waits->began_ns[waits->round % ROUNDS] + round_ns(node);
    waits->round++;
    waits->began_ns[waits->round % ROUNDS] = node->now_ns - due_ns < round_ns(node) ? due_ns : node->now_ns;
    waits->place = 0;
    waits->looks_most[1] = waits->looks_most[0];
    waits->looks_most[0] = 0;
}

/* How far a round has come by now. */
static uint64_t place_by_now(const struct node *node)
{
    __extension__ typedef unsigned __int128 wide;
    const struct waits *waits = &node->waits;
    uint64_t places = table_places(node->table);
    uint64_t elapsed_ns = node->now_ns - waits->began_ns[waits->round % ROUNDS];
    return elapsed_ns >= round_ns(node) ? places : (uint64_t)((wide)places * elapsed_ns / round_ns(node));
}

void pay_step(struct node *node)
{
    struct waits *waits = &node->waits;
    if (wait_count(node) == 0) {
        begin_anew(waits, node->now_ns);
        return;
    }
    uint64_t end = place_by_now(node), most_places = (uint64_t)node->step_keys * PLACES_PER_KEY;
    uint64_t until = end - waits->place < most_places ? end : waits->place + most_places;
    if (waits->place < until)
        look_up_to(node, until, node->step_keys);
    node->step_again |= waits->place < end;
    if (waits->place == table_places(node->table))
        begin_round(node);
    waits->look_ns = node->now_ns + node->options.interval_ns / LOOKS_PER_INTERVAL;
}

static void count_waits(void *context, const struct entry *entry)
{
    uint32_t *count = context;
    *count += entry->waits;
}

void wait_check(const struct node *node)
{
    uint32_t count = 0, marked = 0;
    uint64_t place = 0;
    struct entry *entry;
    table_visit(node->table, 0, 0, count_waits, &count);
    while (table_find_marked(node->table, &place, table_places(node->table), &entry, 1) > 0)
        marked += entry->waits;
    assert(count == marked && count == wait_count(node));
}
