/*
 * Weights of a rule: ann's region has 0.9 of its limits, bob's 0.1, cat's nothing, whatever the regions have of others
 * (a third each). Three nodes 40 ms apart; no overshoot.
 */
#include "tests/lib/rights_world.h"

static const struct limit_weight weights[] = {{{"ann's", 5}, 900000000}, {{"bob's", 5}, 100000000}},
                                 others[] = {{{"bob's", 5}, 250000000}, {{"cat's", 5}, 750000000}};

static struct limit_terms weighted(struct limit_terms terms)
{
    terms.home = limit_weights_number(weights, 2);
    return terms;
}

static void know(unsigned host, const struct limit_weight *list)
{
    struct error error;
    OK(node_note_weights(world.host[host].node, list, 2, &error), "host %u knows the weights", host);
}

/* A peer tells of such limits before this node's own rules do. */
static void unknown_list(const struct limit_terms *window)
{
    OK(rights_explain(ANN, "share", window).share == 0, "who does not know the weights has no part");
    know(ANN, weights);
    OK_U64(rights_take(ANN, "early", window, 100), 84, "who knows them has the part of the region");
    world_run(TURN_MS);
    OK(rights_explain(BOB, "early", window).settled_tokens < 17, "others count what is spent of an unknown list");
    OK(rights_explain(BOB, "early", window).share == 0, "and have no part");
    know(BOB, weights);
    know(CAT, weights);
    know(CAT, others);
}

static void shares(const struct limit_terms *window, const struct limit_terms *plain)
{
    const double ann = rights_explain(ANN, "s", window).share, bob = rights_explain(BOB, "s", window).share;
    OK(ann > 0.8999 && ann <= 0.9 && bob > 0.0999 && bob <= 0.1 && rights_explain(CAT, "s", window).share == 0,
       "each has what the list says");
    OK(rights_explain(ANN, "s", plain).share < 0.34, "which says nothing of other limits");
    struct limit_terms other = *window;
    other.home = limit_weights_number(others, 2);
    OK(rights_explain(CAT, "s", &other).share == 0.75 && rights_explain(ANN, "s", &other).share == 0,
       "another list is another limit");
}

static void bursts(const struct limit_terms *window, const struct limit_terms *plain)
{
    OK_U64(rights_take(ANN, "burst", window, 100), 84,
           "at once a burst has the part of the region, less the reserve");
    world_run(TURN_MS);
    OK(rights_take(ANN, "burst", window, 100) > 8, "and nearly all of the limit a round trip later");
    world_run(TURN_MS);
    OK(rights_take_all("burst", window, 4) <= 16, "and all regions together no more than the limit");
    OK_U64(rights_take(ANN, "plain", plain, 100), 31, "by the weights of the cluster it has a third");
}

static void without_a_part(const struct limit_terms *window)
{
    struct verdict verdict = rights_take_at_once(CAT, "far", window, 50);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE, "who has no part is refused for the share");
    OK(verdict.retry_after_ns >= 2 * WAY_MS * MS && verdict.retry_after_ns <= 2 * TURN_MS * MS, "for a round trip");
    world_run(TURN_MS);
    OK(rights_take_at_once(CAT, "far", window, 50).allowed, "and has what the others grant then");
    const unsigned all = 50 + rights_take_all("far", window, 6);
    OK(all > 90 && all <= 100, "all together no more than the limit: %u", all);
}

static void splits_and_logs(const struct limit_terms *split, const struct limit_terms *log)
{
    OK_U64(rights_take(ANN, "split", split, 100), 90, "of a static split each has its part");
    OK_U64(rights_take(BOB, "split", split, 100), 10, "the small one as well");
    OK_U64(rights_take(CAT, "split", split, 100), 0, "and who has none nothing");
    OK(rights_take(ANN, "log", log, 20) > 15, "a log has the part of the region");
    const struct verdict verdict = rights_take_at_once(CAT, "log 2", log, 1);
    OK(!verdict.allowed && verdict.retry_after_ns == UINT64_MAX, "and never anything where that is nothing");
}

/* With a part, a region goes on; without, it has nobody to ask. */
static void cut(const struct limit_terms *window)
{
    world_links(CAT, LINK_CUT);
    world_run(20000);
    const struct verdict verdict = rights_take_at_once(CAT, "cut", window, 1);
    OK(!verdict.allowed && verdict.reason == VERDICT_ISOLATION, "who has no part admits nothing alone");
    OK_U64(rights_take(ANN, "cut", window, 100), 84, "who has one goes on");
    world_links(CAT, LINK_FINE);
    world_run(5000);
}

/*
 * Behind a cut bob spends what he may, 93 of 1,000. In 20 s his tenth of the refill of 10/s pays off 20 of them, where
 * his third of the cluster would have paid off 66.
 */
static void set_aside(const struct limit_terms *slow)
{
    world_links(BOB, LINK_CUT);
    world_run(10000);
    const unsigned given = rights_take(BOB, "aside", slow, 200);
    OK(given > 88 && given < 95, "behind a cut a region spends what it may: %u", given);
    world_run(20000);
    OK_U64(rights_take(ANN, "aside", slow, 1), 1, "others have not heard of it when they use the key");
    world_links(BOB, LINK_FINE);
    world_run(600);
    const double own = rights_explain(BOB, "aside", slow).settled_tokens,
                 other = rights_explain(ANN, "aside", slow).settled_tokens;
    OK(own > 925 && own < 935, "it settles less what the region's part of the refill has paid off: %.1f are left",
       own);
    OK(other > 900 && other < 935, "and others charge no less: %.1f are left", other);
    world_run(5000);
}

/* From 0.9 and 0.1 to 0.5 and 0.5, bob first: no more than the 0.4 that move, beside the limit. */
static void change(const struct limit_terms *before)
{
    static const struct limit_weight even[] = {{{"ann's", 5}, 500000000}, {{"bob's", 5}, 500000000}};
    struct limit_terms after = *before;
    after.home = limit_weights_number(even, 2);
    for (unsigned host = ANN; host <= CAT; host++)
        know(host, even);
    unsigned given = 0;
    for (unsigned turn = 0; turn < 6; turn++) { /* ann has not heard of the change */
        given += rights_take(BOB, "moved", &after, 100) + rights_take(ANN, "moved", before, 100);
        world_run(TURN_MS);
    }
    given += rights_take_all("moved", &after, 4);
    OK(given > 100 && given <= 140, "a change of weights admits no more beside the limit than what moves: %u",
       given);
}

static uint64_t number_of(unsigned i)
{
    const struct limit_weight list[] = {{{"ann's", 5}, 500000000 + i}, {{"bob's", 5}, 500000000 - i}};
    struct error error;
    return node_note_weights(world.host[ANN].node, list, 2, &error) ? limit_weights_number(list, 2) : 0;
}

/* Lists that no limit has make room; those in use stay. */
static void many_lists(const struct limit_terms *window)
{
    struct limit_terms terms = *window;
    unsigned refused = 0;
    for (unsigned i = 0; i < 3000; i++) {
        terms.home = number_of(i);
        refused += terms.home == 0;
        if (i < 5)
            (void)rights_explain(ANN, "many", &terms);
    }
    OK_U64(refused, 0, "lists that no limit has make room");
    const double share = rights_explain(ANN, "s", window).share;
    OK(share > 0.8999 && share <= 0.9, "and those in use stay");
    for (unsigned i = 0; i < 1100; i++) {
        terms.home = number_of(i);
        refused += terms.home == 0;
        if (terms.home != 0)
            (void)rights_explain(ANN, "many", &terms);
    }
    OK(refused > 0, "there is an end to those in use: %u were refused", refused);
}

/* Texts of 400 lists each, one after the other: lists that were in force before make room for the next text. */
static void many_texts(const struct limit_terms *window)
{
    struct limit_terms terms = *window;
    unsigned refused = 0;
    for (unsigned text = 0; text < 6; text++) {
        for (unsigned i = 0; i < 400; i++) {
            terms.home = number_of(10000 + 400 * text + i);
            refused += terms.home == 0;
            if (terms.home != 0)
                (void)rights_explain(ANN, "text", &terms);
        }
        world_run(10000);
    }
    OK_U64(refused, 0, "lists that were in use make room for others in time");
}

int main(void)
{
    const struct limit_terms plain = {.kind = LIMIT_CELL, .capacity = 100}, window = weighted(plain),
                             split = weighted(
                                 (struct limit_terms){.kind = LIMIT_CELL, .flags = LIMIT_SPLIT, .capacity = 100}),
                             log = weighted((
                                 struct limit_terms){.kind = LIMIT_LOG, .capacity = 20, .period_ns = 3600000 * MS}),
                             slow = weighted(
                                 (struct limit_terms){.capacity = 1000, .rate = 10, .period_ns = 1000 * MS});
    rights_world_init(3);
    rights_world_start();
    unknown_list(&window);
    shares(&window, &plain);
    bursts(&window, &plain);
    without_a_part(&window);
    splits_and_logs(&split, &log);
    cut(&window);
    set_aside(&slow);
    change(&window);
    many_texts(&window);
    many_lists(&window);
    world_close();
    return tap_done();
}
