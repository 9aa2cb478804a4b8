/*
 * deferred_round ends the wait of spends that need not be told: this node's share of the refill has paid them
 * off, and no other view of their key was below the capacity meanwhile. docs/accounting.md, "What
 * is never told", has the argument.
 *
 * A spend from a key that is full otherwise waits, if its unsettled tokens will soon be paid off.
 * Most spends are of this kind. Nothing is written about them but a mark at the entry of their key,
 * which says how many tokens wait and how often the entry was looked at. deferred_round goes through the marks
 * in rounds. A round takes as long as paying off takes and as the news of other peers needs. Where
 * all news has arrived, a mark from before the last round that was not renewed since ends without a
 * look at its entry. Of a key that was spent from again, the tokens that were noted at the last
 * look end. In other cases the entry is read. Spends that have waited for long are told at the
 * pace, like others.
 */
#include "cluster/log/deferred_round.h"

#include "base/number.h"
#include "cluster/log/tell.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/deferred_mark.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/thread.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

enum {
    LOOK_INTERVALS = 2,       /* the length of a round, unless news is late */
    LOOK_INTERVALS_MAX = 6,   /* the longest round */
    WAITS_INTERVALS_MAX = 20, /* the longest wait */
    SILENT_INTERVALS_MAX = 4, /* the longest wait while a member is silent: see waits_max_ns */
    LOOKS_PER_INTERVAL = 16,
    /* a look at so many unmarked places takes as long as a look at one key */
    PLACES_PER_KEY = 1 << 11,
};

/* All spends that any view was charged with until the returned moment are charged here. */
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
 * When the spend was made, the key was full otherwise, and nothing was charged to the key since, or
 * the spend would not wait any more. So this node's share of one interval's refill has paid the
 * spend off. The refill here checks that once more, since shares may have changed. The last spend
 * is no newer than the last refill of the bucket.
 */
static bool is_paid_off(const struct node *node, const struct entry *entry, uint64_t covered_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (entry->bucket.last_refill_ns + limit->tick_ns + node->options.interval_ns > covered_ns)
        return false;
    struct bucket now = entry->bucket;
    bucket_refill(&now, limit, &node->by_limit.budget[entry->limit], covered_ns);
    return bucket_is_full(&now, limit);
}

static void note_visits(struct waits *waits, uint32_t visits)
{
    waits->visits_most[0] = visits > waits->visits_most[0] ? visits : waits->visits_most[0];
}

/*
 * While a member is silent no wait ends by itself, and each spend is told in the end. Whoever hears of it late takes it
 * as made when the batch was closed (aside.h), so what waited for long would count as just spent.
 */
static uint64_t waits_max_ns(const struct node *node)
{
    return (node->awake.somebody_silent ? SILENT_INTERVALS_MAX : WAITS_INTERVALS_MAX) * node->options.interval_ns;
}

static bool is_overdue(const struct node *node, const struct entry *entry)
{
    uint64_t age_ns = node->now_ns - deferred_since_ns(node, entry);
    return deferred_mark_looks(entry) == LOOKS_MAX || age_ns > waits_max_ns(node);
}

static void look(struct node *node, struct entry *entry, enum table_aging aging, uint64_t covered_ns)
{
    if (!deferred_has(node, entry)) /* it was told meanwhile */
        return;
    if (aging == AGING_FORGET) {
        node->stats.spends_paid_off += deferred_mark_noted(entry) > 0;
        deferred_mark_forget_noted(entry);
    } else if (is_paid_off(node, entry, covered_ns)) {
        (void)deferred_end(node, entry);
        node->stats.spends_paid_off++;
        return;
    } else {
        deferred_mark_note_all(entry);
    }
    if (is_overdue(node, entry)) {
        tell_for_room(node);
        (void)outbox_open_spend(node, entry);
        return;
    }
    deferred_mark_count_look(entry);
    note_visits(&node->waits, deferred_mark_looks(entry) + 1);
}

static void age(struct node *node, uint64_t end, enum table_aging aging, struct table_aged *aged)
{
    table_age_marks(node->table, &node->waits.place, end, aging, aged);
    own_thread(node)->waits_more -= (uint32_t)aged->forgotten;
    node->stats.spends_paid_off += aged->forgotten;
    if (aged->young > 0)
        note_visits(&node->waits, 1);
}

/*
 * Goes on to place `end`, or until a few more than `most` keys were looked at. Returns how many
 * were.
 */
static uint64_t look_up_to(struct node *node, uint64_t end, enum table_aging aging, uint64_t most,
                           uint64_t covered_ns)
{
    /* memory of one group is prefetched while the other group is looked at */
    struct table_aged aged[2];
    uint64_t looks = 0;
    size_t now = 0;
    for (age(node, end, aging, &aged[0]); aged[now].count > 0; now = !now) {
        looks += aged[now].count;
        aged[!now].count = 0;
        if (looks < most)
            age(node, end, aging, &aged[!now]);
        for (uint32_t i = 0; i < aged[now].count; i++)
            look(node, aged[now].entry[i], aging, covered_ns);
    }
    return looks;
}

/* The latest time of a spend: other threads read the clock before steps do. */
static uint64_t spent_ns(const struct node *node)
{
    uint64_t latest_ns = node->now_ns;
    for (uint32_t i = 0; i < node->thread_count; i++)
        if (node->thread[i].spent_ns > latest_ns)
            latest_ns = node->thread[i].spent_ns;
    return latest_ns;
}

/*
 * A mark from before the last round that was not renewed since is paid off by now, by the argument
 * of is_paid_off: the last spend is no newer than that round, and the share is the same since.
 */
static bool all_is_paid_off(const struct node *node, const struct wait_part *part, uint64_t covered_ns)
{
    return part->careful == 0 && part->visited_ns + node->waits.tick_ns + node->options.interval_ns <= covered_ns;
}

/* After a pause, spends in places that were not visited yet may have waited for too long. */
static enum table_aging aging_of(const struct node *node, const struct wait_part *part, uint64_t covered_ns)
{
    if (node->now_ns - deferred_began_ns(node, 0) > WAITS_INTERVALS_MAX * node->options.interval_ns)
        return AGING_ALL;
    return all_is_paid_off(node, part, covered_ns) ? AGING_FORGET : AGING_OLD;
}

static uint64_t part_end(const struct node *node, uint64_t index)
{
    uint64_t places = table_places(node->table);
    uint64_t end = (places / WAIT_PARTS * (index + 1) + TABLE_MARKS - 1) / TABLE_MARKS * TABLE_MARKS;
    return index + 1 == WAIT_PARTS || end > places ? places : end;
}

static void end_part(const struct node *node, struct wait_part *part)
{
    part->visited_ns = spent_ns(node);
    part->careful -= part->careful > 0;
}

/* Goes on to place `until`, or until a few more than `most` keys were looked at. */
static void go_up_to(struct node *node, uint64_t until, uint64_t most)
{
    struct waits *waits = &node->waits;
    uint64_t covered_ns = covered_until_ns(node), late_ns = node->now_ns - covered_ns, looks = 0;
    waits->late_ns[0] = late_ns > waits->late_ns[0] ? late_ns : waits->late_ns[0];
    for (uint32_t i = 0; i < WAIT_PARTS && waits->place < until && looks < most; i++) {
        uint64_t end = part_end(node, i);
        if (waits->place >= end)
            continue;
        struct wait_part *part = &waits->part[i];
        looks +=
            look_up_to(node, end < until ? end : until, aging_of(node, part, covered_ns), most - looks, covered_ns);
        if (waits->place == end)
            end_part(node, part);
    }
}

/* No waiting spend is older than now. */
static void begin_anew(const struct node *node, struct waits *waits)
{
    const uint64_t now_ns = node->now_ns;
    waits->round_ns = LOOK_INTERVALS * node->options.interval_ns;
    waits->late_ns[0] = waits->late_ns[1] = 0;
    for (uint32_t i = 0; i < ROUNDS; i++)
        waits->began_ns[i] = now_ns;
    waits->place = 0;
    waits->visits_most[0] = waits->visits_most[1] = 0;
    waits->look_ns = UINT64_MAX;
    for (uint32_t i = 0; i < WAIT_PARTS; i++)
        waits->part[i] = (struct wait_part){.visited_ns = now_ns};
}

/*
 * A round is so long that marks from before it are paid off, and the news of that time has arrived,
 * when the next round comes by, with a quarter of an interval to spare. Where such a round would be
 * too long, entries have to be read anyway. News that was late in one round only (peers were at
 * rest, or a message was lost) does not make the next round longer.
 */
static uint64_t round_needed_ns(const struct node *node)
{
    const struct waits *waits = &node->waits;
    uint64_t interval_ns = node->options.interval_ns, least_ns = LOOK_INTERVALS * interval_ns;
    uint64_t late_ns = waits->late_ns[0] < waits->late_ns[1] ? waits->late_ns[0] : waits->late_ns[1];
    uint64_t needed_ns = late_ns + waits->tick_ns + interval_ns + interval_ns / 4;
    return needed_ns > least_ns && needed_ns <= LOOK_INTERVALS_MAX * interval_ns ? needed_ns : least_ns;
}

/* A round begins a little late each time; the delays must not add up. */
static void begin_round(struct node *node)
{
    struct waits *waits = &node->waits;
    uint64_t due_ns = waits->began_ns[waits->round % ROUNDS] + waits->round_ns;
    waits->round++;
    waits->began_ns[waits->round % ROUNDS] = node->now_ns - due_ns < waits->round_ns ? due_ns : node->now_ns;
    waits->round_ns = round_needed_ns(node);
    waits->late_ns[1] = waits->late_ns[0];
    waits->late_ns[0] = 0;
    waits->place = 0;
    waits->visits_most[1] = waits->visits_most[0];
    waits->visits_most[0] = 0;
}

/* The place that the round should have reached by now. */
static uint64_t place_by_now(const struct node *node)
{
    const struct waits *waits = &node->waits;
    uint64_t places = table_places(node->table);
    uint64_t elapsed_ns = node->now_ns - waits->began_ns[waits->round % ROUNDS];
    if (elapsed_ns >= waits->round_ns)
        return places;
    return (uint64_t)((uint128)places * elapsed_ns / waits->round_ns) / TABLE_MARKS * TABLE_MARKS;
}

void deferred_step(struct node *node)
{
    struct waits *waits = &node->waits;
    if (deferred_count(node) == 0) {
        begin_anew(node, waits);
        return;
    }
    uint64_t end = place_by_now(node), most_places = (uint64_t)node->step.keys * PLACES_PER_KEY;
    uint64_t until = end - waits->place < most_places ? end : waits->place + most_places;
    if (waits->place < until)
        go_up_to(node, until, node->step.keys);
    todo_add_if(&node->todo, DO_STEP, waits->place < end);
    if (waits->place == table_places(node->table))
        begin_round(node);
    waits->look_ns = node->now_ns + node->options.interval_ns / LOOKS_PER_INTERVAL;
}
