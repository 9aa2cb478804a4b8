#include "base/random.h"
#include "limit/bucket.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <stdlib.h>

/*
 * A log is told in parts, and another peer lists what it lacks. Whatever the two have of a key's spends: from no moment
 * on are fewer listed than all that either has, and own ones stay at their time.
 */

enum { ROUNDS = 20000, SPENDS_MAX = 40, PARTS_MAX = 16, LATEST = 1000 };

static struct events *events;

struct spend_known {
    uint64_t at_ns;
    bool own, there, here; /* made by the reader; known to the teller, to the reader */
};

static struct random random_state;

static uint64_t listed_in(const struct events *pool, const struct event_list *list, uint64_t at_ns)
{
    uint64_t tokens = 0;
    for (uint32_t index = list->newest; index && events_at(pool, index)->at_ns >= at_ns;
         index = events_at(pool, index)->older)
        tokens += events_at(pool, index)->tokens;
    return tokens;
}

static uint64_t listed_since(const struct event_list *list, uint64_t at_ns, bool own_only)
{
    uint64_t tokens = 0;
    for (uint32_t index = list->newest; index && events_at(events, index)->at_ns >= at_ns;
         index = events_at(events, index)->older)
        tokens += own_only ? events_at(events, index)->own : events_at(events, index)->tokens;
    return tokens;
}

static void in_parts(void)
{
    struct event_list list = {0};
    struct events_part part[PARTS_MAX];
    for (uint64_t i = 0; i < PARTS_MAX; i++)
        (void)events_insert(events, &list, i + 1, 10 * i);
    OK_U64(events_parts(events, &list, PARTS_MAX, part), PARTS_MAX, "as many spends as there is room for");
    OK(part[0].at_ns == 150 && part[0].tokens == 16 && part[15].at_ns == 0 && part[15].tokens == 1,
       "are told as they are, the newest first");
    (void)events_insert(events, &list, 100, 153);
    const uint32_t count = events_parts(events, &list, PARTS_MAX, part);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += part[i].tokens;
    OK(count <= PARTS_MAX && sum == 236 && part[0].at_ns == 153 && part[0].tokens == 116,
       "one more: those near to each other count as of the newest of them");
    (void)events_clear(events, &list);
    OK_U64(events_parts(events, &list, PARTS_MAX, part), 0, "an empty list has no parts");
}

static int by_time(const void *a, const void *b)
{
    const struct spend_known *x = a, *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* The worst of all moments: by how much what is listed is below the truth. */
static uint64_t lacking(const struct event_list *list, const struct spend_known *spend, unsigned count)
{
    uint64_t worst = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t truth = 0, listed = listed_since(list, spend[i].at_ns, false);
        for (unsigned j = i; j < count; j++)
            truth += spend[j].there || spend[j].here;
        if (truth > listed && truth - listed > worst)
            worst = truth - listed;
    }
    return worst;
}

struct outcome {
    uint64_t below, above, own_moved, late;
};

/* Each of a few spends is known to the teller, to the reader, or to both. */
static void told_once(uint32_t room, struct outcome *outcome)
{
    struct event_list there = {0}, here = {0};
    struct spend_known spend[SPENDS_MAX];
    struct events_part part[PARTS_MAX];
    const unsigned count = 1 + (unsigned)random_below(&random_state, SPENDS_MAX);
    uint64_t own = 0, all = 0, lacks_own = 0, lacks_others = 0, before = 0;
    for (unsigned i = 0; i < count; i++) {
        const bool own_one = random_below(&random_state, 3) == 0, known = random_below(&random_state, 2) == 0;
        spend[i] = (struct spend_known){.at_ns = random_below(&random_state, LATEST),
                                        .own = own_one,
                                        .here = own_one || random_below(&random_state, 2) == 0,
                                        .there = known};
    }
    qsort(spend, count, sizeof spend[0], by_time);
    for (unsigned i = 0; i < count; i++) {
        if (spend[i].there)
            (void)events_insert(events, &there, 1, spend[i].at_ns);
        if (spend[i].own)
            (void)events_append(events, &here, 1, spend[i].at_ns);
        else if (spend[i].here)
            (void)events_insert(events, &here, 1, spend[i].at_ns);
        own += spend[i].own;
        all += spend[i].here || spend[i].there;
        before += spend[i].here;
        lacks_own += spend[i].own && !spend[i].there;
        lacks_others += !spend[i].own && spend[i].here && !spend[i].there;
    }
    struct events_told told = {.parts = part,
                               .count = events_parts(events, &there, room, part),
                               .kept_own = lacks_own,
                               .kept_others = lacks_others,
                               .others_most = all - own - lacks_others};
    const int64_t grown = events_list_others(events, &here, &told);
    const uint64_t after = listed_since(&here, 0, false);
    outcome->below += lacking(&here, spend, count);
    outcome->above += after > all;
    outcome->own_moved += (int64_t)after - (int64_t)before != grown;
    for (unsigned i = 0; i < count; i++) {
        uint64_t own_since = 0;
        for (unsigned j = 0; j < count; j++)
            own_since += spend[j].own && spend[j].at_ns >= spend[i].at_ns;
        outcome->own_moved += listed_since(&here, spend[i].at_ns, true) != own_since;
    }
    (void)events_clear(events, &here);
    (void)events_clear(events, &there);
}

static void any_two_lists(void)
{
    for (uint32_t room = 1; room <= PARTS_MAX; room *= 4) {
        struct outcome outcome = {0};
        for (unsigned i = 0; i < ROUNDS; i++)
            told_once(room, &outcome);
        OK(outcome.below == 0,
           "%u rounds, up to %u parts: from no moment on is less listed than is known (%" PRIu64 ")", ROUNDS, room,
           outcome.below);
        OK(outcome.above == 0, "... and never more in all (%" PRIu64 ")", outcome.above);
        OK(outcome.own_moved == 0, "... and own spends stay at their time");
    }
}

/* What the reader knows better than the teller: its own spends make up for what is told of them. */
static void own_ones_stand_for_theirs(void)
{
    struct event_list list = {0};
    const struct events_part part[] = {{.at_ns = 900, .tokens = 5}, {.at_ns = 100, .tokens = 5}};
    const struct events_told told = {.parts = part, .count = 2, .others_most = 5};
    (void)events_insert(events, &list, 5, 100);
    (void)events_append(events, &list, 5, 900);
    OK(events_list_others(events, &list, &told) == 0 && listed_since(&list, 0, false) == 10, "nothing is new");
    OK(listed_since(&list, 900, false) == 5 && listed_since(&list, 900, true) == 5,
       "what it has spent itself is not taken for others' tokens, which end as before");
    (void)events_clear(events, &list);
}

/* The pool has no place for a new moment: tokens count for longer than they should, and none is listed twice. */
static void in_a_full_pool(void)
{
    struct event_list list = {0};
    struct events *full = events_create(2);
    const struct events_part part[] = {{.at_ns = 900, .tokens = 4}, {.at_ns = 300, .tokens = 2}};
    const struct events_told told = {.parts = part, .count = 2, .others_most = 6};
    uint64_t count;
    (void)events_insert(full, &list, 2, 100);
    (void)events_insert(full, &list, 3, 200);
    (void)events_list_others(full, &list, &told);
    OK(listed_in(full, &list, 900) >= 4 && listed_in(full, &list, 300) >= 6,
       "as many are listed as are told, or later");
    OK(events_check(full, &list, &count) <= 6 + 5, "%" PRIu64 " in all", events_check(full, &list, &count));
    (void)events_clear(full, &list);
    events_destroy(&full);
}

/* A reader that has nothing, as one that starts: it has what the teller has, to the moment. */
static void a_start(void)
{
    const struct limit limit = log_limit(100, 1000, 0, events);
    struct bucket there, here;
    struct budget budget;
    struct events_part part[PARTS_MAX];
    budget_init(&budget, &limit, SHARE_ONE, true);
    bucket_fill(&there, &limit, 0, 0);
    bucket_fill(&here, &limit, 0, 0);
    bucket_apply(&there, &limit, &budget, 30, 0, 1100, 0);
    bucket_apply(&there, &limit, &budget, 20, 0, 1700, 0);
    struct log_told told = {.parts = part, .count = events_parts(events, &there.events, PARTS_MAX, part)};
    bucket_lower_log(&here, &limit, bucket_level_of(&limit, bucket_number(&there, &limit)), &told, 1900);
    OK_U64(bucket_number(&here, &limit), 50, "a start lists what it is told");
    bucket_refill(&here, &limit, &budget, 2099);
    OK_U64(bucket_number(&here, &limit), 50, "... for as long as it counts there");
    bucket_refill(&here, &limit, &budget, 2100);
    OK_U64(bucket_number(&here, &limit), 20, "... and no longer");
    bucket_refill(&here, &limit, &budget, 2700);
    OK(bucket_is_full(&here, &limit), "all of it");
    told.count = events_parts(events, &there.events, 1, part);
    bucket_lower_log(&here, &limit, 100 - 60, &told, 2701);
    OK_U64(bucket_number(&here, &limit), 60, "a level below all parts is heeded");
    bucket_lower_log(&here, &limit, -1000, &(struct log_told){0}, 2702);
    OK_U64(bucket_number(&here, &limit), 100, "debt stops where it always does");
    bucket_close(&here, &limit);
    bucket_close(&there, &limit);
}

int main(void)
{
    random_seed(&random_state, 7);
    events = events_create(10000);
    in_parts();
    any_two_lists();
    own_ones_stand_for_theirs();
    in_a_full_pool();
    a_start();
    struct events_stats stats;
    events_stats(events, &stats);
    OK_U64(stats.used, 0, "no event is left behind");
    events_destroy(&events);
    return tap_done();
}
