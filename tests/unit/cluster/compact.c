#include "tests/lib/cluster_harness.h"

#include "cluster/apply/settle_credit.h"
#include "cluster/codec/batch.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

enum { KEYS = 4000, STEP_KEYS = 256, STEPS_WORTH = 4 };

static void world_of_slices(void)
{
    world_init_steps(4 * KEYS, STEP_KEYS);
    for (unsigned i = 0; i < 2; i++)
        world.host[i].options.log_keys_max = 2 * KEYS + KEYS / 2;
    world_start_all();
    world_run(1000);
    skip_text();
}

static void check_steps(const char *of)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t most = world_stats(i).step_keys_max;
        OK(most <= STEPS_WORTH * STEP_KEYS, "%s, no step of %s works on more than a few slices: %" PRIu64, of,
           host_names[i], most);
    }
}

static void told(void)
{
    world_of_slices();
    OK_U64(world_spend_many(ANN, "key", KEYS), KEYS, "of many keys, each gets a token");
    world_run(1000);
    OK_U64(world_count_left(BOB, "key", KEYS, 159), KEYS, "bob knows of all");
    OK_U64(world_stats(ANN).log_keys, 0, "and ann knows that he does");
    check_steps("while many keys are told at once");
    world_close();
}

static void merged(void)
{
    world_of_slices();
    world_links(BOB, LINK_CUT);
    uint64_t admitted = 0;
    for (int i = 0; i < 4; i++) {
        admitted += world_spend_many(ANN, "key", KEYS);
        world_run(1000);
    }
    OK_U64(admitted, 4 * KEYS, "a log at its limit is merged, so that nobody is refused");
    OK(world_stats(ANN).log_keys <= 2 * KEYS, "it keeps %" PRIu64 " spends of as many keys",
       world_stats(ANN).log_keys);
    world_links(BOB, LINK_FINE);
    world_run(3000);
    OK_U64(world_stats(ANN).log_keys, 0, "who was away gets all parts of what was merged");
    OK_U64(world_count_left(BOB, "key", KEYS, 156), KEYS, "and charges each spend once");
    OK_U64(world_count_left(ANN, "key", KEYS, 156), KEYS, "as ann does");
    OK_U64(world_stats(BOB).snapshots_taken, 0, "without a snapshot");
    check_steps("while a long log is merged, told and settled");
    world_close();
}

/* ---- what is given back while its log is merged ---- */

static bool credited; /* of the run that is being merged, its first key and its last one */
static struct spend first_key, last_key;

static struct batch *oldest_of_run(struct node *ann)
{
    struct list *log = &ann->origin[ann->my_slot].log;
    for (struct list *at = log->next; at != log; at = at->next)
        if (LIST_OWNER(at, struct batch, link)->first >= ann->merger.first)
            return LIST_OWNER(at, struct batch, link);
    return NULL;
}

/* As if ann had granted a token of the key, and a peer gave it back now. */
static void give_granted_back(struct node *ann, struct spend *spend)
{
    spend->granted = 1;
    settle_credit_granted(ann, table_find(ann->table, spend->id), 1);
}

static void credit_while_merging(unsigned host, const struct effects *effects)
{
    (void)effects;
    struct node *ann = world.host[ANN].node;
    if (host != ANN || credited || ann->merger.uid == 0 || ann->merger.spend_count == 0)
        return;
    struct batch *batch = oldest_of_run(ann);
    give_granted_back(ann, &batch->spend[0]);
    give_granted_back(ann, &batch->spend[batch->spend_count - 1]);
    first_key = batch->spend[0];
    last_key = batch->spend[batch->spend_count - 1];
    credited = ann->stats.batches_compacted == 0;
}

static uint64_t logged_credit(const struct spend *key)
{
    struct node *ann = world.host[ANN].node;
    struct list *log = &ann->origin[ann->my_slot].log;
    uint64_t sum = 0;
    for (struct list *at = log->next; at != log; at = at->next) {
        const struct spend *spend = batch_find(LIST_OWNER(at, struct batch, link), key->limit, key->id);
        sum += spend ? spend->credit : 0;
    }
    return sum;
}

static void credited_while_merged(void)
{
    world_of_slices();
    world_links(BOB, LINK_CUT);
    credited = false;
    world.watch = credit_while_merging;
    for (int i = 0; i < 4; i++) {
        (void)world_spend_many(ANN, "key", KEYS);
        world_run(1000);
    }
    OK(credited && world_stats(ANN).batches_compacted > 0, "tokens are given back while a log is merged");
    OK_U64(logged_credit(&first_key), 1, "of a key that was merged before: it is not charged");
    OK_U64(logged_credit(&last_key), 1, "and of one that is merged later: it is not charged, once");
    world_close();
}

static void full(void)
{
    world_of_slices();
    world_links(BOB, LINK_CUT);
    for (int i = 0; i < 2; i++)
        OK_U64(world_spend_many(ANN, i ? "odd" : "key", KEYS), KEYS, "a log is nearly full of keys that differ");
    world_run(1000);
    world_links(BOB, LINK_FINE);
    world_run(3000);
    OK_U64(world_stats(ANN).log_keys, 0, "all of them settle");
    OK_U64(world_count_left(BOB, "key", KEYS, 159) + world_count_left(BOB, "odd", KEYS, 159), 2 * KEYS,
           "and are known");
    check_steps("while they do");
    world_close();
}

static void taken(void)
{
    world_of_slices();
    host_down(BOB);
    OK_U64(world_spend_many(ANN, "key", KEYS), KEYS, "while bob is down, many keys get a token");
    world_run(100);
    uint64_t served = world_stats(ANN).snapshots_served;
    world_start(BOB);
    world_run(3000);
    served = world_stats(ANN).snapshots_served - served;
    OK(world_stats(BOB).snapshots_taken == 1 && served > KEYS / STEP_KEYS && served < 4 * KEYS / STEP_KEYS,
       "he takes the table in as many parts as it needs: %" PRIu64, served);
    OK_U64(world_count_left(BOB, "key", KEYS, 159), KEYS, "and knows of all");
    check_steps("while the table is given");
    world_close();
}

/* ---- what comes of one who is gone ---- */

enum { FEW = 16, FEW_AT_ONCE = 4, FEW_LIMIT = 4 * FEW };

static uint64_t log_keys_most; /* of ann's */

static void note_log_keys(unsigned host, const struct effects *effects)
{
    (void)effects;
    uint64_t keys = host == ANN ? world_stats(ANN).log_keys : 0;
    log_keys_most = keys > log_keys_most ? keys : log_keys_most;
}

static void spend_few(unsigned host)
{
    char key[32];
    for (unsigned i = 0; i < FEW; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        (void)world_ask(host, key, 0, 1);
    }
}

/* How many tokens of "key 0" ann takes to be used. */
static uint64_t used_of_first(void)
{
    const struct limit *limit = &world.limits.limit[0];
    struct bucket bucket = node_bucket(world.host[ANN].node, key_of("key 0", 0), 0, world.now_ns);
    int64_t used = limit->capacity_units - bucket.settled + bucket.unsettled;
    return (uint64_t)((used + limit->units_per_token / 2) / limit->units_per_token);
}

/*
 * Ann cannot drop it: dan, whom nobody reaches, has to hear of it. Her log is half full; cat tells her of as
 * much as would fill it and half as much again. Large batches cannot be merged where steps are small.
 */
static void of_a_ghost(bool large_batches)
{
    enum { FEW_ROUNDS = 4 };
    world_init(4);
    world_name_all();
    for (unsigned i = 0; i < 4; i++)
        world.host[i].options.step_keys = i != ANN && large_batches ? FEW : FEW_AT_ONCE;
    world.host[ANN].options.log_keys_max = FEW_LIMIT;
    world_start_all();
    world_run(2000);
    world_link(BOB, ANN, LINK_CUT);
    world_link(CAT, ANN, LINK_CUT);
    world_links(DAN, LINK_CUT);
    for (unsigned round = 0; round < FEW_ROUNDS; round++) {
        spend_few(BOB);
        spend_few(ANN);
        world_run(110);
    }
    OK_U64(world_stats(ANN).log_keys, FEW_LIMIT / 2, "half of ann's log is full");
    world_crash(BOB);
    world_forget(CAT, BOB);
    log_keys_most = 0;
    world.watch = note_log_keys;
    world_link(CAT, ANN, LINK_FINE);
    world_run(150);
    if (large_batches) /* all of it came by now, and nothing else will: she goes on by herself */
        world_link(CAT, ANN, LINK_CUT);
    world_run(10000);
    uint64_t most = large_batches ? FEW_LIMIT * 3 / 2 : FEW_LIMIT + 2 * FEW_AT_ONCE;
    OK(log_keys_most > FEW_LIMIT && log_keys_most <= most,
       "what comes of one who is gone waits until logs are merged%s: at most %" PRIu64 " are kept",
       large_batches ? ", if they can be" : "", log_keys_most);
    OK_U64(used_of_first(), 2 * FEW_ROUNDS, "all of it is known in the end");
    OK(large_batches || world_stats(ANN).log_keys <= FEW_LIMIT, "and the log within its limit, if it can be");
    skip_text();
    world_close();
}

int main(void)
{
    of_a_ghost(false);
    of_a_ghost(true);
    told();
    merged();
    credited_while_merged();
    full();
    taken();
    return tap_done();
}
