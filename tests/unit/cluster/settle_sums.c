/*
 * Whatever comes between two steps, in any order: what is unsettled is what was spent and has not settled, and what is
 * used is what was spent, here and elsewhere. With figures of a node that make merging, sums and full rings usual.
 */
#include "base/random.h"
#include "tests/lib/cluster_steps.h"

enum { STORIES = 60, EVENTS = 600, KEYS_MAX = 120 };

struct story {
    struct random random;
    unsigned keys, deaf;              /* one in so many acknowledgements arrives */
    uint64_t bob, made, acknowledged; /* his incarnation, the batches of it, and what of ann's it has */
};

static uint64_t draw(struct story *story, uint64_t least, uint64_t most)
{
    return least + random_below(&story->random, most - least + 1);
}

static void begin(struct story *story, uint64_t seed)
{
    *story = (struct story){.bob = 1};
    random_seed(&story->random, seed);
    bool much = draw(story, 0, 1) == 0; /* a log of many batches */
    story->deaf = much ? (unsigned)draw(story, 4, 16) : 1;
    steps_init((uint32_t)draw(story, 4, much ? 24 : 80));
    world.quiet = true;
    world.watch = NULL;
    story->keys = (unsigned)draw(story, 10, KEYS_MAX);
    world.host[ANN].options.log_keys_max = much ? 4000 : draw(story, 60, 600);
    world.host[ANN].options.untold_max = 1;
    world.host[ANN].options.tell_pace = draw(story, 0, 2) == 0 ? 0 : draw(story, 50, 5000);
    steps_begin();
}

static void name_key(struct story *story, char key[32])
{
    (void)snprintf(key, 32, "key %u", (unsigned)draw(story, 0, story->keys - 1));
}

static void spend_some(struct story *story)
{
    char key[32];
    for (uint64_t i = draw(story, 1, 60); i > 0; i--) {
        name_key(story, key);
        (void)world_ask(ANN, key, 0, draw(story, 1, 2));
    }
}

/* Bob has heard more of what ann made, and may have spent a token himself. */
static void hear_of_bob(struct story *story)
{
    char key[32];
    bool spends = draw(story, 0, 2) == 0;
    story->acknowledged = draw(story, story->acknowledged, world_stats(ANN).batches_closed);
    story->made += spends;
    impostor_begin(MESSAGE_GOSSIP, story->made, story->acknowledged);
    impostor.members[0].incarnation = impostor.origins[0].incarnation = story->bob;
    name_key(story, key);
    impostor_say(spends ? impostor_batch(story->made, story->made, key_of(key, 0), 0, 1) : NULL);
}

static void happen(struct story *story)
{
    switch (draw(story, 0, 9)) {
    case 0:
    case 1:
        spend_some(story);
        break;
    case 2:
        world.now_ns += draw(story, 1, 120) * MS;
        step_once();
        break;
    case 3:
        if (draw(story, 1, story->deaf) == 1)
            hear_of_bob(story);
        break;
    case 4:
        if (draw(story, 0, 3) == 0)
            ask_as(story->bob);
        break;
    case 5:
        if (draw(story, 0, 20) == 0) {
            story->bob++;
            story->made = story->acknowledged = 0;
            acknowledge_as(story->bob, PEER_ACTIVE, 0);
        }
        break;
    default:
        if (goes_on() || node_wants_step(world.host[ANN].node))
            step_once();
    }
}

static bool is_right(const struct story *story)
{
    struct node_stats stats = world_stats(ANN);
    struct sums sums = sums_of("key", story->keys);
    return sums.unsettled + stats.settled_tokens == stats.admitted_tokens &&
           sums.used == stats.admitted_tokens + stats.applied_tokens;
}

int main(void)
{
    struct story story;
    uint64_t settled = 0, merged = 0;
    for (uint64_t seed = 1; seed <= STORIES; seed++) {
        unsigned events = 0;
        begin(&story, seed);
        for (bool right = true; right && events < EVENTS; events += right) {
            happen(&story);
            right = is_right(&story);
        }
        settled += world_stats(ANN).settled_tokens;
        merged += world_stats(ANN).batches_compacted;
        if (events < EVENTS) {
            struct sums sums = sums_of("key", story.keys);
            struct node_stats stats = world_stats(ANN);
            OK(false,
               "story %" PRIu64 ", event %u: %" PRIu64 " unsettled and %" PRIu64 " settled of %" PRIu64
               " spent; %" PRIu64 " used, with %" PRIu64 " of others",
               seed, events, sums.unsettled, stats.settled_tokens, stats.admitted_tokens, sums.used,
               stats.applied_tokens);
        }
        world_close();
    }
    OK(settled > 0 && merged > 0,
       "in %d stories all sums are right: %" PRIu64 " tokens settled, %" PRIu64 " batches merged", STORIES, settled,
       merged);
    return tap_done();
}
