#include "tests/lib/cluster_harness.h"

enum { LOG_KEYS = 8, KEYS = 5, TURNS = 60, PARTS_KEYS = 32 };

static void cut_in_two(enum link_mood mood)
{
    for (unsigned i = ANN; i <= BOB; i++)
        for (unsigned j = CAT; j <= DAN; j++)
            world_link_both(i, j, mood);
}

/* Every one of them has heard what the one before spent when it spends itself. */
static uint64_t spend_in_turns(unsigned first, unsigned last, unsigned gap)
{
    char key[32];
    uint64_t spent = 0;
    for (unsigned i = 0; i < TURNS; i++)
        for (unsigned host = first; host <= last; host += gap) {
            (void)snprintf(key, sizeof key, "key %u", i % KEYS);
            spent += world_ask(host, key, 0, 1).allowed;
            world_run(60);
        }
    return spent;
}

/* Tokens of all those keys that the host takes to be spent, rounded up. */
static uint64_t spent_as_seen_by(unsigned host)
{
    char key[32];
    uint64_t spent = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        (void)snprintf(key, sizeof key, "key %u", k);
        struct bucket bucket = node_bucket(world.host[host].node, key_of(key, 0), 0, world.now_ns);
        int64_t per_token = world.limits.limit[0].units_per_token;
        spent += (uint64_t)((world.limits.limit[0].capacity_units - bucket.settled + per_token - 1) / per_token);
    }
    return spent;
}

static void world_of_small_logs(void)
{
    world_init(4);
    world_name_all();
    for (unsigned i = ANN; i <= DAN; i++)
        world.host[i].options.log_keys_max = LOG_KEYS;
    world_start_all();
    world_run(1000);
}

static void ring(void)
{
    uint64_t dropped = 0, waiting = 0, kept = 0, forgets = 0;
    world_of_small_logs();
    cut_in_two(LINK_CUT);
    uint64_t spent = spend_in_turns(ANN, DAN, 1);
    for (unsigned i = ANN; i <= DAN; i++)
        dropped += world_stats(i).limit_drops > 0;
    OK_U64(dropped, 4, "on both sides of a cut, logs are too small for what others spend");
    cut_in_two(LINK_FINE);
    world_run(8000);
    for (unsigned i = ANN; i <= DAN; i++) {
        waiting += world_stats(i).batches_waiting;
        kept += world_stats(i).log_batches;
        forgets += spent_as_seen_by(i) < spent;
    }
    OK_U64(waiting, 0, "what two merged, each after the other's, does not wait for ever");
    OK_U64(kept, 0, "and all of it settles");
    OK_U64(forgets, 0, "with nothing forgotten");
    world_close();
}

static void taken_from_two(void)
{
    world_of_small_logs();
    host_down(ANN);
    for (unsigned i = ANN; i <= DAN; i++)
        if (i != CAT)
            world_links(i, LINK_CUT);
    uint64_t spent = world_ask(CAT, "key 0", 0, 10).allowed ? 10 : 0;
    OK_U64(spent, 10, "cat spends something that the others do not hear of");
    world_link_both(ANN, CAT, LINK_FINE);
    world_start(ANN);
    world_run(3000);
    OK_U64(spent_as_seen_by(ANN), spent, "ann, who returns, has it from a snapshot");
    world_links(ANN, LINK_CUT);
    world_link_both(BOB, DAN, LINK_FINE);
    spent += spend_in_turns(BOB, DAN, DAN - BOB);
    world_link_both(ANN, BOB, LINK_FINE);
    world_run(3000);
    for (unsigned i = ANN; i <= DAN; i++)
        world_links(i, LINK_FINE);
    world_run(8000);
    OK(spent_as_seen_by(ANN) >= spent, "and does not forget it over another one that lacks it");
    world_close();
}

/* A quarter of the messages to that host is lost. */
static void lose_some(unsigned to)
{
    for (unsigned p = world.packet_count; p-- > 0;) {
        struct world_packet *packet = &world.packet[p];
        if (packet->to != to || packet->kind != EVENT_MESSAGE ||
            packet->order * UINT64_C(0x9e3779b97f4a7c15) >> 62 != 0)
            continue;
        free(packet->data);
        *packet = world.packet[--world.packet_count];
    }
}

static void world_of_parts(void)
{
    world_init(4);
    world_name_all();
    for (unsigned i = ANN; i <= DAN; i++) {
        world.host[i].options.log_keys_max = 2 * PARTS_KEYS;
        world.host[i].options.step_keys = 4;
    }
    world_start_all();
    world_run(1000);
    for (unsigned i = ANN; i <= DAN; i++)
        world_links(i, LINK_CUT);
}

/* They arrive in turns, so that some of each wait when there is no more room. */
static void parts_of_many(void)
{
    static const char *const names[] = {"", "bob's", "cat's", "dan's"};
    uint64_t merged = 0, kept = 0;
    world_of_parts();
    for (unsigned round = 0; round < 4; round++)
        for (unsigned i = BOB; i <= DAN; i++) {
            (void)world_spend_many(i, names[i], PARTS_KEYS - 2);
            world_run(200);
        }
    for (unsigned i = BOB; i <= DAN; i++)
        merged += world_stats(i).batches_compacted > 0 && world_stats(i).log_keys > PARTS_KEYS - 4;
    OK_U64(merged, 3,
           "apart from each other, three spend more than one may keep for them, and merge it into parts");
    for (unsigned i = ANN; i <= DAN; i++)
        world_links(i, LINK_FINE);
    for (unsigned ms = 0; ms < 2000; ms++) {
        world_run(1);
        lose_some(ANN);
    }
    for (unsigned i = ANN; i <= DAN; i++)
        kept += world_stats(i).log_batches + world_stats(i).batches_waiting;
    OK_U64(kept, 0, "who hears all of it, some messages lost, gathers the parts of one after the other");
    OK_U64(world_stats(ANN).snapshots_taken, 0, "and need not take a snapshot");
    world_close();
}

/* For so long no snapshot reaches that host, nor does it give one. */
static void run_without_snapshots(unsigned host, unsigned ms)
{
    for (; ms > 0; ms--) {
        world_run(1);
        for (unsigned p = world.packet_count; p-- > 0;) {
            struct world_packet *packet = &world.packet[p];
            if (packet->kind == EVENT_MESSAGE || (packet->to != host && packet->from != host))
                continue;
            free(packet->data);
            *packet = world.packet[--world.packet_count];
        }
    }
}

/* Ann joins, and hears what cat spends. Cat crashes before ann has a snapshot. Bob, who gives one, has not heard it. */
static void heard_while_joining(void)
{
    world_init(3);
    world_name_all();
    for (unsigned i = ANN; i <= CAT; i++)
        world.host[i].options.join_timeout_ns = 0;
    world_start_all();
    world_run(1000);
    host_down(ANN);
    world_links(BOB, LINK_CUT);
    world_start(ANN);
    run_without_snapshots(ANN, 500);
    uint64_t spent = 0;
    for (unsigned i = 0; i < 3; i++) {
        spent += world_ask(CAT, "key 0", 0, 10).allowed ? 10 : 0;
        run_without_snapshots(ANN, 300);
    }
    OK(spent == 30 && world_stats(ANN).batches_waiting >= 3, "ann, who joins, hears of what cat spends");
    host_down(CAT);
    run_without_snapshots(ANN, 3000);
    world_links(BOB, LINK_FINE);
    world_start(CAT);
    world_run(3000);
    for (unsigned i = ANN; i <= CAT; i++)
        OK_U64(spent_as_seen_by(i), spent, "%s knows all that cat had spent before it crashed",
               world.host[i].options.name);
    world_close();
}

int main(void)
{
    heard_while_joining();
    ring();
    taken_from_two();
    parts_of_many();
    return tap_done();
}
