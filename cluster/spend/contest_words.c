/*
 * contest_words: a word asks peers to leave as many tokens as this node needs to admit a request. It is repeated while
 * the key is contended for, and asks for a little less each time, until this node is short again.
 */
#include "cluster/spend/contest_words.h"

#include "base/number.h"
#include "cluster/codec/message.h"
#include "cluster/node.h"
#include "cluster/spend/contest_credit.h"
#include "cluster/spend/voucher_times.h"

enum {
    TRIPS_LEFT = 2, /* of what refills in a round trip, so much is left beside a request */
    KEPT_PART = 2,  /* of the capacity: no more is left for others */
    MORE_PART = 4,
    MORE_MOST_PART = 8, /* of the capacity: so much more is kept at most, or twice as much */
    KEPT_WORDS = 4,     /* while tokens are kept, so many words are said */
    EASED_PART = 4,     /* by this part of it a word asks for less than the one before, at most */
    EASED_TOKENS = 256, /* see eased_tokens */
    EASED_LEAST = 2,    /* tokens: less is not asked for */
    SAID_ANSWERS = 2,   /* how long a word counts */
};

#define KEPT_LEAST_NS UINT64_C(10000000000)

/*
 * At so many tokens this node admits a request, beside what it has spent within a round trip: twice its part, since
 * requests come together by chance. The least of these levels is found by halving.
 */
static uint64_t level_needed(const struct node *node, const struct contest *contest)
{
    const struct limit *limit = &node->limits.limit[contest->limit];
    const struct budget *budget = &node->by_limit.budget[contest->limit];
    const int64_t units = contest_cost_units(node, contest->limit, contest->cost) +
                          TRIPS_LEFT * contest_part_units(node, contest->limit, voucher_answer_ns(node));
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
    return fills_ns < KEPT_LEAST_NS ? KEPT_LEAST_NS : number_least(fills_ns, CONTEST_KEPT_MOST_NS);
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
                   tokens = (uint64_t)(contest_part_units(node, contest->limit, said_ns) / token);
    const uint64_t less =
        (uint64_t)((uint128)said * number_least(tokens, EASED_TOKENS / EASED_PART) / EASED_TOKENS);
    return said - less < EASED_LEAST ? 0 : said - less;
}

/* 0: there is nothing to be said of the key now. */
static uint64_t word_level(const struct node *node, const struct contest *contest, bool *is_short)
{
    const struct limit *limit = &node->limits.limit[contest->limit];
    const uint64_t answer_ns = voucher_answer_ns(node), said_ns = number_minus(node->now_ns, contest->said_ns);
    *is_short = number_minus(node->now_ns, contest->short_ns) <= answer_ns;
    if (contest->until_ns == 0 || contest->short_ns == 0 || said_ns < answer_ns / 2 ||
        node->by_limit.budget[contest->limit].share >= SHARE_ONE)
        return 0;
    if (!*is_short && said_ns < kept_ns(limit) / KEPT_WORDS)
        return 0;
    const uint64_t level = level_needed(node, contest), eased = eased_tokens(node, contest, said_ns);
    const bool goes_on = *is_short || number_minus(node->now_ns, contest->seen_ns) < kept_ns(limit);
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
    const uint64_t since_ns = number_minus(node->now_ns, contest->said_short_ns),
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
    contest_watch_until(contest, node->now_ns + kept_ns(&node->limits.limit[contest->limit]));
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
    if (!contest_has_parts(node, limit))
        return;
    struct contest *contest = contest_obtain(node, ask->id, index, 1, node->now_ns);
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
    contest_watch_until(contest, contest->kept_until_ns);
}
