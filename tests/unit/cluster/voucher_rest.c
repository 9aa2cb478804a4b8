/*
 * Ann is asked for more than her share, while bob has spent some tokens that she has not heard of; or for nearly all
 * that is left, of which each ask brings about half. So what is granted does not suffice at first. Her client is told
 * to come again soon, as long as the rest will be granted, and not when the limit is full again. Three even regions,
 * 40 ms apart, and limits of an hour; or bob's home.
 */
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"

enum { CAPACITY = 100, TRIES = 10, SETTLED_MS = 500, SOON_MS = 1000, HOUR_MS = 3600000 };

static struct limit_terms fast = {.capacity = 1000, .rate = 1, .period_ns = 1000 * MS},
                          bucket = {.capacity = CAPACITY, .rate = 1, .period_ns = HOUR_MS * MS},
                          window = {.kind = LIMIT_CELL, .capacity = CAPACITY},
                          list = {.kind = LIMIT_LOG, .capacity = CAPACITY, .period_ns = HOUR_MS * MS};

/* What the client is told that comes again as soon as it is told, at most TRIES times. */
struct story {
    unsigned refusals;
    uint64_t longest_ns; /* that it is told to wait for */
    bool of_share;       /* each refusal is for ann's share alone */
    bool admitted;
};

static struct story ask_again(const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct story story = {.of_share = true};
    while (story.refusals < TRIES) {
        const struct verdict verdict = rights_take_at_once(ANN, key, terms, cost);
        story.admitted = verdict.allowed;
        if (verdict.allowed || verdict.retry_after_ns >= SOON_MS * MS) {
            story.longest_ns = verdict.allowed ? story.longest_ns : verdict.retry_after_ns;
            return story;
        }
        story.refusals++;
        story.of_share &= verdict.reason == VERDICT_SHARE;
        story.longest_ns = verdict.retry_after_ns > story.longest_ns ? verdict.retry_after_ns : story.longest_ns;
        world_run(verdict.retry_after_ns / MS + 1);
    }
    return story;
}

static void comes_soon(const char *name, const struct limit_terms *terms, unsigned cost, unsigned spent)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s: %u of %u, %u spent", name, cost, (unsigned)terms->capacity, spent);
    (void)rights_take(BOB, key, terms, spent);
    const struct story story = ask_again(key, terms, cost);
    OK(story.admitted, "%s: admitted after %u refusals, %" PRIu64 " ms at most", key, story.refusals,
       story.longest_ns / MS);
    OK(story.of_share && story.longest_ns < SOON_MS * MS, "... of which each says that only the share refuses");
}

/* Much was spent long ago, and nearly all that is left is asked for. */
static void comes_in_rounds(const char *name, const struct limit_terms *terms, unsigned cost, unsigned left)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s: %u of %u that are left", name, cost, left);
    for (unsigned i = 0; i < terms->capacity - left; i++)
        (void)rights_take(i % 3, key, terms, 1);
    world_run(SETTLED_MS);
    const struct story story = ask_again(key, terms, cost);
    OK(story.admitted && story.of_share,
       "%s: admitted after %u refusals for the share alone, %" PRIu64 " ms at most", key, story.refusals,
       story.longest_ns / MS);
}

/* All is spent but what is asked for, and of that peers keep the last tokens. */
static void never_comes(const char *name, const struct limit_terms *terms)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s: all of the rest", name);
    (void)rights_take(BOB, key, terms, 20);
    const struct story story = ask_again(key, terms, CAPACITY - 20);
    OK(!story.admitted && story.refusals < TRIES && story.longest_ns >= SOON_MS * MS,
       "%s is not granted, and its client is told so after %u refusals", key, story.refusals);
}

static void waits(const char *name, const struct limit_terms *terms)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s: patience", name);
    (void)rights_take(BOB, key, terms, 10);
    (void)rights_take_at_once(ANN, key, terms, 70);
    world_run(TURN_MS);
    struct charge charge = charge_at(ANN, key, terms, 70);
    struct await await = {0};
    (void)rights_await(ANN, &charge, &await);
    OK(await.held, "%s: a request waits for the rest", key);
}

/* More than any number of units refills until peers answer. */
static void refills_at_once(void)
{
    const struct limit_terms faster = {.capacity = 1000000000, .rate = 999999999989, .period_ns = 1000 * MS};
    (void)rights_take_at_once(ANN, "faster", &faster, 1000);
    const struct verdict verdict = rights_take_at_once(ANN, "faster", &faster, 900000000);
    OK(!verdict.allowed && verdict.reason == VERDICT_TOO_LARGE, "no peer is asked for what has refilled before");
}

int main(void)
{
    rights_world_init(3);
    rights_world_start();
    const struct {
        const char *name;
        const struct limit_terms *terms;
    } kinds[] = {{"bucket", &bucket}, {"window", &window}, {"log", &list}};
    for (unsigned i = 0; i < 3; i++) {
        comes_soon(kinds[i].name, kinds[i].terms, 60, 5);
        comes_soon(kinds[i].name, kinds[i].terms, 80, 5);
        comes_soon(kinds[i].name, kinds[i].terms, 50, 25);
        comes_in_rounds(kinds[i].name, kinds[i].terms, 70, 80);
        comes_in_rounds(kinds[i].name, kinds[i].terms, 50, 60);
        comes_in_rounds(kinds[i].name, kinds[i].terms, 20, 40);
        comes_in_rounds(kinds[i].name, kinds[i].terms, 22, 40);
        comes_in_rounds(kinds[i].name, kinds[i].terms, 33, 40);
        comes_in_rounds(kinds[i].name, kinds[i].terms, 13, 20);
        never_comes(kinds[i].name, kinds[i].terms);
        waits(kinds[i].name, kinds[i].terms);
    }
    refills_at_once();
    const struct sharing *sharing = &world.host[ANN].node->sharing;
    OK(sharing->group_count == 1 && sharing->groups[0].members == 3,
       "requests go through the shares, not the members");
    comes_in_rounds("a bucket of which little decays", &fast, 240, 400);
    comes_in_rounds("window", &window, 98, 100);
    comes_in_rounds("window", &window, 18, 20);
    window.capacity = 5; /* what the second peer grants is known to be spent before it is here */
    comes_soon("window", &window, 4, 0);
    window.capacity = 10;
    comes_soon("window", &window, 7, 0);
    window.capacity = CAPACITY;
    window.home = list.home = limit_home_of(bytes_of("bob's"));
    comes_soon("window of bob's", &window, 60, 20);
    comes_soon("window of bob's", &window, 79, 20);
    world_close();
    return tap_done();
}
