/*
 * contest keeps the credit of each key that this node was refused, or whose peers say that they are short of it, and
 * holds back who has had its part.
 */
#include "cluster/spend/contest.h"

#include "base/number.h"
#include "cluster/codec/message.h"
#include "cluster/node.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_places.h"
#include "limit/kind.h"

enum {
    PROBES = 8,
    COSTS_KEPT = 4,  /* the credit that is kept is a part of two seconds, and so many requests */
    SHORT_PART = 2,  /* of the credit that is kept: with so much left this node is short of its part */
    TRIPS_LEFT = 2,  /* of what refills in a round trip, so much is left beside a request */
    PART_PART = 64,  /* of a part: left for those who were short */
    KEPT_PART = 2,   /* of the capacity: no more is left for others */
    UNSEEN_PART = 4, /* of what is kept: what others may be spending is left as well */
    SHORT_TIMES = 2, /* while others are short, a token counts so often: their tokens are there the sooner */
    MORE_PART = 4,
    MORE_MOST_PART = 8, /* of the capacity: so much more is kept at most, or twice as much */
    BEGINS_PART = 4,    /* of the credit that is kept, what a key begins with */
    KEPT_WORDS = 4,     /* while tokens are kept, so many words are said */
    EASED_PART = 4,     /* by this part of it a word asks for less than the one before, at most */
    EASED_TOKENS = 256, /* see eased_tokens */
    EASED_LEAST = 2,    /* tokens: less is not asked for */
    SAID_ANSWERS = 2,   /* how long a word counts */
    TOKENS_WATCHED = 4, /* a key is watched for the time in which its part refills so much */
};

#define SECOND_NS UINT64_C(1000000000)
#define CREDIT_NS (2 * SECOND_NS) /* the part of so long is kept */
#define WATCHED_LEAST_NS (2 * SECOND_NS)
#define KEPT_LEAST_NS (10 * SECOND_NS)
#define KEPT_MOST_NS (600 * SECOND_NS)

__extension__ typedef unsigned __int128 wide;

/* ---- credits ---- */

/* This node's part of what refills in that time. */
static int64_t part_units(const struct node *node, uint16_t limit_index, uint64_t ns)
{
    const struct limit *limit = &node->limits.limit[limit_index];
    const uint64_t ticks = ns / limit->tick_ns;
    uint64_t units;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) ||
        units > (uint64_t)limit->capacity_units)
        units = (uint64_t)limit->capacity_units;
    const int64_t part = units_times((int64_t)units, node->by_limit.budget[limit_index].share);
    return part - part / PART_PART;
}

/* Units of so many tokens, or of the capacity if that is less. */
static int64_t cost_units(const struct node *node, uint16_t limit_index, uint64_t tokens)
{
    const struct limit *limit = &node->limits.limit[limit_index];
    return (int64_t)number_least(tokens, limit->capacity) * limit->units_per_token;
}

static int64_t credit_most(const struct node *node, const struct contest *contest)
{
    return part_units(node, contest->limit, CREDIT_NS) +
           cost_units(node, contest->limit, COSTS_KEPT * contest->cost);
}

static void add_credit(const struct node *node, struct contest *contest, uint64_t now_ns)
{
    const uint64_t tick_ns = node->limits.limit[contest->limit].tick_ns;
    const uint64_t since_ns = voucher_since_ns(contest->credited_ns, now_ns);
    const int64_t most = credit_most(node, contest),
                  units = contest->credit_units + part_units(node, contest->limit, since_ns);
    contest->credit_units = units < most ? units : most;
    contest->credited_ns += since_ns - since_ns % tick_ns;
}

/* ---- places ---- */

static struct contest *find(struct node *node, struct key_id id, uint16_t limit)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct contest *contest = &node->contests.contest[(id.high + i) % CONTESTS_MAX];
        if (contest->until_ns > 0 && key_id_equal(contest->id, id))
            return contest->limit == limit ? contest : NULL;
    }
    return NULL;
}

static struct contest *obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    struct contest *place = NULL;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct contest *contest = &node->contests.contest[(id.high + i) % CONTESTS_MAX];
        if (contest->until_ns > 0 && key_id_equal(contest->id, id)) {
            place = contest;
            break;
        }
        if (!place && contest->until_ns <= now_ns)
            place = contest;
    }
    if (!place)
        return NULL;
    if (place->until_ns == 0 || place->limit != limit || !key_id_equal(place->id, id)) {
        *place = (struct contest){.id = id, .limit = limit, .credited_ns = now_ns, .cost = cost};
        place->credit_units = credit_most(node, place) / BEGINS_PART;
        atomic_fetch_or_explicit(contest_word(node, id), (uint64_t)1 << (id.low & 63), memory_order_relaxed);
        atomic_store_explicit(&node->contests.some, true, memory_order_relaxed);
    }
    place->cost = cost > place->cost ? cost : place->cost;
    return place;
}

static void watch_until(struct contest *contest, uint64_t ns)
{
    contest->until_ns = ns > contest->until_ns ? ns : contest->until_ns;
}

void contest_sweep(struct node *node)
{
    uint64_t marks[CONTEST_MARKS] = {0};
    bool some = false, speaks = false;
    for (uint32_t i = 0; i < CONTESTS_MAX; i++) {
        struct contest *contest = &node->contests.contest[i];
        if (contest->until_ns <= node->now_ns)
            *contest = (struct contest){0};
        else
            marks[contest->id.low >> 6 & (CONTEST_MARKS - 1)] |= (uint64_t)1 << (contest->id.low & 63);
        some |= contest->until_ns > 0;
        speaks |= contest->short_ns > 0;
    }
    for (uint32_t i = 0; i < CONTEST_MARKS; i++)
        atomic_store_explicit(&node->contests.mark[i], marks[i], memory_order_relaxed);
    atomic_store_explicit(&node->contests.some, some, memory_order_relaxed);
    atomic_store_explicit(&node->contests.speaks, speaks, memory_order_relaxed);
}

/* ---- requests ---- */

/* True for charges that have a part: others are paid otherwise, or have none. */
static bool has_part(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return node->rights.shared && kind_refills(limit->kind) && (limit->flags & LIMIT_SPLIT) == 0 &&
           !limit_home_is_region(limit->home) && node->by_limit.budget[charge->limit].share > 0 &&
           !node->sharing.alone && !charge->sliding && charge->cost > 0 && charge->cost <= limit->capacity;
}

/* The time in which this node's part refills by so many tokens; no more than KEPT_MOST_NS. */
static uint64_t part_ns(const struct node *node, uint16_t limit, uint64_t tokens)
{
    const uint64_t share = node->by_limit.budget[limit].share;
    const wide ns = limit_refill_ns(&node->limits.limit[limit], cost_units(node, limit, tokens));
    const wide whole_ns = share > 0 ? ns * SHARE_ONE / share : KEPT_MOST_NS;
    return whole_ns < KEPT_MOST_NS ? (uint64_t)whole_ns : KEPT_MOST_NS;
}

/* Where a share never admits as much, others must grant it: see voucher.h. */
static bool is_within_share(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const struct bucket full = {.settled = limit->capacity_units};
    return bucket_allows(&full, limit, &node->by_limit.budget[charge->limit], charge->cost, 0);
}

static void watch_further(const struct node *node, struct contest *contest, uint64_t now_ns)
{
    const uint64_t watched_ns = part_ns(node, contest->limit, TOKENS_WATCHED);
    watch_until(contest, now_ns + (watched_ns > WATCHED_LEAST_NS ? watched_ns : WATCHED_LEAST_NS));
}

/* What refilled while nobody asked is not missing: what demand begins with, others may have spent before. */
static void drop_idle(const struct node *node, struct contest *contest, uint64_t now_ns)
{
    const uint64_t sparse_ns = part_ns(node, contest->limit, 2 * contest->cost);
    const int64_t begins = credit_most(node, contest) / BEGINS_PART;
    if (voucher_since_ns(contest->seen_ns, now_ns) > (sparse_ns > CREDIT_NS / 2 ? sparse_ns : CREDIT_NS / 2) &&
        contest->credit_units > begins)
        contest->credit_units = begins;
}

void contest_note_refused(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    if (!has_part(node, charge) || charge->floor_tokens > 0 || node->awake.somebody_silent ||
        !is_within_share(node, charge))
        return;
    vouchers_lock(node);
    struct contest *contest = obtain(node, charge->id, charge->limit, charge->cost, now_ns);
    if (contest) {
        add_credit(node, contest, now_ns);
        drop_idle(node, contest, now_ns);
        contest->seen_ns = now_ns;
        watch_further(node, contest, now_ns);
        if (contest->credit_units >= credit_most(node, contest) / SHORT_PART) {
            contest->short_ns = now_ns;
            atomic_store_explicit(&node->contests.speaks, true, memory_order_relaxed);
        }
    }
    vouchers_unlock(node);
}

bool contest_others_short(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    const struct contest *contest = contest_concerns(node, id) ? find(node, id, limit) : NULL;
    return contest && now_ns < contest->short_until_ns;
}

uint64_t contest_holds_ns(struct node *node, const struct charge *charge, const struct bucket *bucket,
                          uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    uint64_t wait_ns = 0;
    if (!has_part(node, charge))
        return 0;
    vouchers_lock(node);
    struct contest *contest = find(node, charge->id, charge->limit);
    if (contest && (now_ns < contest->short_until_ns || now_ns < contest->kept_until_ns)) {
        add_credit(node, contest, now_ns);
        const int64_t missing = cost_units(node, charge->limit, charge->cost) - contest->credit_units;
        /* what others spend at the same time is not known here, so a little more is left */
        const uint64_t kept = contest->kept_tokens + contest->kept_tokens / UNSEEN_PART;
        /* not bucket_allows with that floor: far peers would bound by it what may be on its way */
        const uint64_t left = bucket_remaining(bucket, limit, number_sum(charge->floor_tokens, kept));
        const bool leaves_enough = now_ns >= contest->short_until_ns && left >= charge->cost;
        if (missing > 0 && !leaves_enough) {
            const uint64_t tokens = (uint64_t)(missing / limit->units_per_token) + 1;
            wait_ns = part_ns(node, charge->limit, tokens) + 1;
        }
    }
    vouchers_unlock(node);
    return wait_ns;
}

int64_t contest_take(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    int64_t units = 0;
    vouchers_lock(node);
    struct contest *contest = find(node, charge->id, charge->limit);
    if (contest) {
        add_credit(node, contest, now_ns);
        if (charge->cost > 0)
            contest->seen_ns = now_ns;
        if (charge->cost > 0 && contest->short_ns > 0)
            watch_further(node, contest, now_ns);
        const int64_t times = now_ns < contest->short_until_ns ? SHORT_TIMES : 1;
        units = times * (int64_t)charge->cost * node->limits.limit[charge->limit].units_per_token;
        units = units < contest->credit_units ? units : contest->credit_units;
        contest->credit_units -= units;
    }
    vouchers_unlock(node);
    return units;
}

void contest_put_back(struct node *node, const struct charge *charge, int64_t units)
{
    vouchers_lock(node);
    struct contest *contest = units > 0 ? find(node, charge->id, charge->limit) : NULL;
    if (contest)
        contest->credit_units += units;
    vouchers_unlock(node);
}

/* ---- steps ---- */

/*
 * At so many tokens this node admits a request, beside what it has spent within a round trip: twice its part, since
 * requests come together by chance. The least of these levels is found by halving.
 */
static uint64_t level_needed(const struct node *node, const struct contest *contest)
{
    const struct limit *limit = &node->limits.limit[contest->limit];
    const struct budget *budget = &node->by_limit.budget[contest->limit];
    const int64_t units = cost_units(node, contest->limit, contest->cost) +
                          TRIPS_LEFT * part_units(node, contest->limit, voucher_answer_ns(node));
    uint64_t low = 0, high = limit->capacity;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (budget_allowance(budget, (int64_t)middle * limit->units_per_token) >= units)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* How long tokens are kept after a word. */
static uint64_t kept_ns(const struct limit *limit)
{
    const uint64_t fills_ns = limit_refill_ns(limit, limit->capacity_units);
    return fills_ns < KEPT_LEAST_NS ? KEPT_LEAST_NS : number_least(fills_ns, KEPT_MOST_NS);
}

/*
 * True if others take what they can: much less is left than a full key has. Where much is left, it is late
 * acknowledgements that this node lacks, and nobody who holds back helps it. `level`: what is to be kept.
 */
static bool is_contended(const struct node *node, const struct contest *contest, uint64_t level)
{
    const struct limit *limit = &node->limits.limit[contest->limit];
    const struct entry *entry = table_find(node->table, contest->id);
    const uint64_t contended = level + (limit->capacity - level) / 2;
    return entry && entry->bucket.settled < (int64_t)contended * limit->units_per_token;
}

/*
 * What peers keep costs whatever they might have spent of it, and nobody knows whether it is still needed. So a word
 * asks for less than the one before: by a part for each token that this node's part of the refill brought meanwhile.
 * Once too little is kept this node is short, and asks for all of it.
 */
static uint64_t eased_tokens(const struct node *node, const struct contest *contest, uint64_t said_ns)
{
    const int64_t token = node->limits.limit[contest->limit].units_per_token;
    const uint64_t said = contest->said_tokens,
                   tokens = (uint64_t)(part_units(node, contest->limit, said_ns) / token);
    const uint64_t less = (uint64_t)((wide)said * number_least(tokens, EASED_TOKENS / EASED_PART) / EASED_TOKENS);
    return said - less < EASED_LEAST ? 0 : said - less;
}

/* 0: there is nothing to be said of the key now. */
static uint64_t word_level(const struct node *node, const struct contest *contest, bool *is_short)
{
    const struct limit *limit = &node->limits.limit[contest->limit];
    const uint64_t answer_ns = voucher_answer_ns(node), said_ns = voucher_since_ns(contest->said_ns, node->now_ns);
    *is_short = voucher_since_ns(contest->short_ns, node->now_ns) <= answer_ns;
    if (contest->until_ns == 0 || contest->short_ns == 0 || said_ns < answer_ns / 2 ||
        node->by_limit.budget[contest->limit].share >= SHARE_ONE)
        return 0;
    if (!*is_short && said_ns < kept_ns(limit) / KEPT_WORDS)
        return 0;
    const uint64_t level = level_needed(node, contest), eased = eased_tokens(node, contest, said_ns);
    const bool goes_on = *is_short || voucher_since_ns(contest->seen_ns, node->now_ns) < kept_ns(limit);
    if (!goes_on || !is_contended(node, contest, level))
        return 0;
    return *is_short ? level : number_least(level, eased);
}

/*
 * Peers may see more left than this node does, as where a clock is fast. So where it is short though they keep what it
 * said, more must be kept. The key is remembered for as long as they keep it: else nobody would repeat the word.
 */
static void note_said(const struct node *node, struct contest *contest, uint64_t level, bool is_short)
{
    const uint64_t since_ns = voucher_since_ns(contest->said_short_ns, node->now_ns),
                   again_ns = SAID_ANSWERS * voucher_answer_ns(node) + node->options.interval_ns;
    const uint64_t eighth = node->limits.limit[contest->limit].capacity / MORE_MOST_PART,
                   most = level > eighth ? level : eighth;
    if (is_short && contest->said_short_ns > 0 && since_ns > again_ns)
        contest->more_tokens = number_least(contest->more_tokens + level / MORE_PART + 1, most);
    else if (!is_short)
        contest->more_tokens -= contest->more_tokens / MORE_PART;
    contest->said_ns = node->now_ns;
    contest->said_tokens = level;
    if (is_short)
        contest->said_short_ns = node->now_ns;
    watch_until(contest, node->now_ns + kept_ns(&node->limits.limit[contest->limit]));
}

uint32_t contest_words_due(struct node *node, struct ask_record *asks, uint32_t room)
{
    uint32_t count = 0;
    if (!atomic_load_explicit(&node->contests.speaks, memory_order_relaxed) || !node->rights.shared ||
        node->awake.somebody_silent)
        return 0;
    for (uint32_t i = 0; i < CONTESTS_MAX && count < room; i++) {
        struct contest *contest = &node->contests.contest[i];
        bool is_short;
        const uint64_t level = word_level(node, contest, &is_short);
        if (level == 0)
            continue;
        note_said(node, contest, level, is_short);
        asks[count++] = (struct ask_record){
            .id = contest->id,
            .terms = limit_terms_of(&node->limits.limit[contest->limit]),
            .tokens = level + contest->more_tokens,
            .parts = !is_short,
            .among = SHARE_ONE - node->by_limit.budget[contest->limit].share,
        };
    }
    return count;
}

void contest_hear(struct node *node, const struct ask_record *ask, uint16_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    if (!node->rights.shared || !kind_refills(limit->kind) || (limit->flags & LIMIT_SPLIT) != 0 ||
        limit_home_is_region(limit->home))
        return;
    struct contest *contest = obtain(node, ask->id, index, 1, node->now_ns);
    if (!contest)
        return;
    const uint64_t tokens = number_least(ask->tokens, limit->capacity / KEPT_PART);
    if (node->now_ns >= contest->kept_until_ns || tokens > contest->kept_tokens)
        contest->kept_tokens = tokens;
    else /* of several who are short, one may need less than another */
        contest->kept_tokens -= (contest->kept_tokens - tokens) / 2;
    if (ask->parts == 0)
        contest->short_until_ns = node->now_ns + SAID_ANSWERS * voucher_answer_ns(node) + node->options.interval_ns;
    contest->kept_until_ns = node->now_ns + kept_ns(limit);
    watch_until(contest, contest->kept_until_ns);
}
