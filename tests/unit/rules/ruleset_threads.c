/* Threads that match and count at the same time: each finds what one alone would have found, and all is counted. */
#include "tests/lib/ruleset_world.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <pthread.h>

enum { ROUNDS = TAP_SLOW ? 4000 : 40000 };
#define STEP_NS 700000000ull                 /* between two rounds: windows begin and end all the time */
#define WALL_NS (1800000000ull * 1000000000) /* 2027-01-15T08:00:00Z */

static const char rules[] = "- {id: bucket, rate: 1/s}\n"
                            "- {id: window, by: ip, algorithm: sliding_window, limit: 5, window: 1m}\n"
                            "- {id: day, by: org, algorithm: quota, limit: 5, window: day, zone: Europe/Berlin}\n"
                            "- {id: hour, by: team, algorithm: quota, limit: 5, window: hour, zone: Asia/Kolkata}\n"
                            "- {id: denies, by: job, rate: 1/s, deny: [x]}\n";
static const char request_text[] = "u ip=1 org=o team=t job=x";

struct finder {
    struct world *world;
    uint8_t thread;
    uint64_t keys; /* all that was found, mixed */
};

static void *find_all(void *context)
{
    struct finder *finder = context;
    struct request request = world_request(request_text);
    struct match match;
    request.thread = finder->thread;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct verdict verdicts[CHARGES_MAX];
        request.id_count = round % 4 == 0 ? 5 : 4; /* the fifth is on the deny list */
        (void)ruleset_match(finder->world->ruleset, &request, round * STEP_NS, WALL_NS + round * STEP_NS, &match);
        for (uint32_t i = 0; i < match.count; i++) {
            const struct charge *charge = &match.charge[i];
            verdicts[i] = (struct verdict){.allowed = round % 2 == 0};
            finder->keys = (finder->keys ^ charge->id.low ^ charge->previous.high ^ charge->expires_ns) * 31;
        }
        (void)ruleset_note(&match, verdicts);
    }
    return NULL;
}

static struct rule_counts counts_of(const struct world *world, const char *id)
{
    const struct ruled *ruled = ruleset_find(world->ruleset, bytes_of("default"), bytes_of(id));
    return ruled ? ruled_counts(ruled) : (struct rule_counts){0};
}

int main(void)
{
    struct world *world = world_create(10, 100, 100, true);
    struct finder finder[WORLD_THREADS], alone = {.world = world};
    pthread_t thread[WORLD_THREADS];
    OK(world_load(world, rules), "the rules are compiled: %s", world->error.text);
    for (uint8_t i = 0; i < WORLD_THREADS; i++) {
        finder[i] = (struct finder){.world = world, .thread = i};
        int failed = pthread_create(&thread[i], NULL, find_all, &finder[i]);
        assert(failed == 0);
    }
    for (int i = 0; i < WORLD_THREADS; i++)
        (void)pthread_join(thread[i], NULL);
    const uint64_t each = ROUNDS * 3 / 4, denied = ROUNDS / 4;
    static const char *const ids[] = {"bucket", "window", "day", "hour"};
    for (int i = 0; i < 4; i++) {
        struct rule_counts counts = counts_of(world, ids[i]);
        OK_U64(counts.allowed + counts.denied, each * WORLD_THREADS, "%s: every decision is counted", ids[i]);
        OK_U64(counts.denied, ROUNDS / 2 * WORLD_THREADS, "%s: every denial", ids[i]);
    }
    OK_U64(counts_of(world, "denies").denied, denied * WORLD_THREADS, "the list's denials");
    OK(world_load(world, rules), "the rules are compiled again");
    OK_U64(counts_of(world, "denies").denied, denied * WORLD_THREADS, "and what all threads counted stays");
    (void)find_all(&alone);
    for (int i = 0; i < WORLD_THREADS; i++)
        OK_U64(finder[i].keys, alone.keys, "thread %d found the keys that one alone finds", i);
    world_destroy(world);
    return tap_done();
}
