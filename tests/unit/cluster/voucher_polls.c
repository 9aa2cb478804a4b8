/*
 * A client asks for 90 of 100 tokens again and again, faster than peers answer. Messages take any time up to 30 ms, so
 * that a peer may hear of the grants of others before the ask, and grants less; some are lost. All the same the client
 * gets its tokens in the end, and nobody more than what is left.
 */
#include "base/random.h"
#include "tests/lib/rights_world.h"

enum { HOSTS = 3, KEYS = 120, POLLS_MAX = 150 };

static struct random random_source;

static void draw_delays(void)
{
    for (unsigned i = 0; i < HOSTS; i++)
        for (unsigned j = 0; j < HOSTS; j++)
            world.link[i][j].delay_ns = random_below(&random_source, 30) * MS;
}

static void mend_links(void)
{
    for (unsigned i = 0; i < HOSTS; i++)
        for (unsigned j = 0; j < HOSTS; j++)
            if (i != j)
                world_link(i, j, LINK_FINE);
}

/* How often host `who` asks until it is admitted; POLLS_MAX: it never is. What `lossy` says comes every other time. */
static unsigned polls_of(const char *key, const struct limit_terms *terms, unsigned who, unsigned lossy)
{
    for (unsigned polls = 0; polls < POLLS_MAX; polls++) {
        if (lossy != who)
            world_link(lossy, who, polls % 10 < 5 ? LINK_CUT : LINK_FINE);
        if (rights_take_at_once(who, key, terms, 90).allowed)
            return polls;
        world_run(1 + random_below(&random_source, 20));
    }
    return POLLS_MAX;
}

int main(void)
{
    const struct limit_terms slow = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 1, .period_ns = 60000 * MS};
    unsigned never = 0, most = 0, beyond = 0;
    random_seed(&random_source, 3);
    rights_world_init(HOSTS);
    for (unsigned i = 0; i < HOSTS; i++)
        world.host[i].options.grants_eager = false;
    rights_world_start();
    for (unsigned t = 0; t < KEYS; t++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key %u", t);
        draw_delays();
        const unsigned who = t % HOSTS, lossy = t < KEYS / 4 ? who : (who + 1) % HOSTS;
        const unsigned polls = polls_of(key, &slow, who, lossy);
        mend_links();
        world_run(1000);
        never += polls == POLLS_MAX;
        most = polls > most ? polls : most;
        beyond += rights_take_all(key, &slow, 2) > 10;
    }
    OK(never == 0, "90 of 100 are admitted of each of %d keys, after %u requests at most", KEYS, most);
    OK(beyond == 0, "and no more than the rest besides");
    world_close();
    return tap_done();
}
