/* Who has nothing to say says it seldom, and nobody waits longer for that. */
#include "tests/lib/cluster_impostor.h"
#include "tests/lib/plane_world.h"

enum { FAST = 1, TICKS = 9, SPARED_TICKS = TICKS / 3 };

/* How many messages that host publishes within TICKS ticks. */
static uint64_t messages(unsigned host)
{
    uint64_t before = world.host[host].messages;
    world_run((uint64_t)TICKS * INTERVAL_MS);
    return world.host[host].messages - before;
}

static bool is_silent(unsigned host, unsigned peer)
{
    struct peer_report report[NODE_PEERS_MAX];
    size_t count = node_peers(world.host[host].node, world.now_ns, report);
    for (size_t i = 0; i < count; i++)
        if (strcmp(report[i].name, host_names[peer]) == 0)
            return report[i].state == PEER_SILENT;
    return false;
}

static void rests(void)
{
    world_of(3);
    for (unsigned i = ANN; i <= CAT; i++)
        OK_U64(messages(i), SPARED_TICKS, "%s, who has nothing to say, publishes with each third tick",
               host_names[i]);
    OK(!is_silent(ANN, BOB) && !is_silent(BOB, ANN), "and nobody is silent");
    world_close();
}

/* Of the moments between two messages, each. */
static void a_spend_ends_it(void)
{
    bool soon = true, settled = true;
    for (unsigned ms = 0; ms < 3 * INTERVAL_MS; ms += 20) {
        world_of(2);
        world_until_published(ANN);
        world_run(ms);
        (void)world_ask(ANN, "alice", 0, 2);
        world_run(INTERVAL_MS + 10);
        soon &= world_stats(BOB).applied_tokens == 2;
        world_run(10);
        settled &= world_stats(ANN).settled_tokens == 2;
        world_close();
    }
    OK(soon, "a spend is told with the next tick, however long nothing was to be said");
    OK(settled, "and acknowledged at once");
}

/* Three of them, who never rest or do. Who calls others silent before three messages are missing does not. */
static void world_of_three(bool rest)
{
    world_init(3);
    world_name_all();
    for (unsigned i = ANN; i <= CAT && !rest; i++)
        world.host[i].options.silent_after_ns = 800 * MS;
    world_start_all();
    world_run(1000);
    skip_text();
}

/* How long a spend waits to be paid off that is made so long after bob has published. */
static uint64_t paid_off_after_ms(bool rest, uint64_t ms)
{
    world_of_three(rest);
    world_until_published(BOB);
    world_run(ms);
    (void)world_ask(ANN, "alice", FAST, 1);
    uint64_t since_ns = world.now_ns;
    while (world_stats(ANN).spends_paid_off == 0 && world.now_ns - since_ns < 10000 * MS)
        world_run(1);
    uint64_t took_ms = (world.now_ns - since_ns) / MS;
    world_close();
    return took_ms;
}

/* Nobody is told of it; but until it is paid off, all must be heard. */
static void waiting_ends_it(void)
{
    bool as_soon = true;
    world_of(3);
    (void)world_ask(ANN, "alice", FAST, 1);
    world_until_published(ANN);
    world_run(10);
    uint64_t ann = world.host[ANN].messages, bob = world.host[BOB].messages, cat = world.host[CAT].messages;
    world_run(INTERVAL_MS);
    OK_U64(world.host[ANN].messages - ann, 1, "whoever waits for others' word publishes with each tick");
    OK(world.host[BOB].messages - bob == 1 && world.host[CAT].messages - cat == 1,
       "and so do they, once told of it");
    world_close();
    for (unsigned ms = 0; ms < 3 * INTERVAL_MS; ms += 20)
        as_soon &= paid_off_after_ms(true, ms) <= paid_off_after_ms(false, ms);
    OK(as_soon, "what waits to be paid off waits no longer than when nobody rests");
}

/* Like a version that knows nothing of resting, he never says that he rests. */
static void who_does_not_rest(void)
{
    world_init(3);
    world_name_all();
    world.host[BOB].options.silent_after_ns = 800 * MS;
    world_start_all();
    world_run(1000);
    OK_U64(messages(BOB), TICKS, "one who does not rest,");
    OK_U64(messages(ANN), TICKS, "keeps the others from it,");
    OK(!is_silent(BOB, ANN), "who would call them silent too soon");
    world_close();
}

static void silence(void)
{
    bool noticed = true;
    for (unsigned ms = 0; ms < 3 * INTERVAL_MS; ms += 20) {
        world_of(2);
        world_until_published(BOB);
        world_run(ms);
        world_link(BOB, ANN, LINK_CUT);
        world_run(1000 + INTERVAL_MS + 10);
        noticed &= is_silent(ANN, BOB);
        world_close();
    }
    OK(noticed, "whoever falls silent at rest is noticed as soon as silent_after says");
}

/* One message is lost: the next three would come too late to be missed. */
static void a_lost_message(void)
{
    world_of(2);
    world_until_published(BOB);
    world_run(20);
    world_link(BOB, ANN, LINK_CUT);
    world_until_published(BOB);
    world_link(BOB, ANN, LINK_FINE);
    uint64_t before = world.host[BOB].messages;
    world_run(3 * INTERVAL_MS);
    OK(world.host[BOB].messages - before == 2, "who is not heard when he should be is asked for more");
    world_run(3 * INTERVAL_MS);
    OK_U64(messages(BOB), SPARED_TICKS, "and rests again once he is");
    world_link(BOB, ANN, LINK_CUT);
    world_run(800);
    before = world.host[BOB].messages;
    OK(messages(ANN) == TICKS && world.host[BOB].messages - before == TICKS,
       "while one does not hear the other, both go on");
    world_close();
}

static void a_third_way_round(void)
{
    world_of(3);
    world_link(ANN, CAT, LINK_CUT);
    world_run(1000);
    OK(messages(CAT) == TICKS && messages(BOB) == TICKS, "who hears somebody at second hand only does not rest");
    OK(!is_silent(CAT, ANN), "and does not call him silent");
    world_close();
}

static void muted(void)
{
    world_of(2);
    world_mute(ANN, BOB, false, true);
    world_run(500);
    OK_U64(messages(ANN), TICKS, "who asks to be ignored does not rest");
    world_mute(ANN, BOB, false, false);
    world_run(500);
    OK_U64(messages(ANN), SPARED_TICKS, "until he is listened to again");
    world_close();
}

/* How many messages ann publishes within TICKS ticks while bob says so with each of them. */
static uint64_t messages_meanwhile(bool bob_rests, uint64_t bob_made, uint64_t ann_applied)
{
    world_until_published(ANN);
    uint64_t before = world.host[ANN].messages;
    for (unsigned i = 0; i < TICKS; i++) {
        impostor_begin(MESSAGE_GOSSIP, bob_made, ann_applied);
        impostor.rows[0].hears |= bob_rests;
        impostor_say(NULL);
        world_run(INTERVAL_MS);
    }
    return world.host[ANN].messages - before;
}

static void own_business(void)
{
    world_init(2);
    world_name_all();
    world_start(ANN);
    OK_U64(messages_meanwhile(true, 0, 0), TICKS, "ann does not rest before she is active");
    world_close();
    impostor_world();
    OK_U64(messages_meanwhile(true, 0, 0), SPARED_TICKS, "then she does, while bob does");
    OK_U64(messages_meanwhile(false, 0, 0), TICKS, "she does not while he does not, or is too old to say so");
    (void)world_ask(ANN, "alice", 0, 3);
    OK_U64(messages_meanwhile(true, 0, 0), TICKS,
           "nor while he has not acknowledged what she spent, whatever he says");
    OK_U64(messages_meanwhile(true, 0, 1), SPARED_TICKS, "when he has, she does");
    impostor_begin(MESSAGE_GOSSIP, 2, 1);
    impostor_say(impostor_batch(2, 2, key_of("alice", 0), 0, 4));
    OK_U64(messages_meanwhile(true, 2, 1), TICKS,
           "she does not while something is missing before what he has spent");
    impostor_begin(MESSAGE_GOSSIP, 2, 1);
    impostor_say(impostor_batch(1, 1, key_of("alice", 0), 0, 5));
    OK_U64(world_stats(ANN).applied_tokens, 9, "it comes");
    OK_U64(messages_meanwhile(true, 2, 1), SPARED_TICKS, "and she rests");
    world_close();
}

static void a_ghost(void)
{
    impostor_world();
    impostor_begin(MESSAGE_GOSSIP, 1, 0);
    impostor_say(impostor_batch(1, 1, key_of("alice", 0), 0, 5));
    OK_U64(messages_meanwhile(true, 1, 0), SPARED_TICKS, "bob has spent");
    uint64_t before = world.host[ANN].messages;
    for (unsigned i = 0; i < TICKS; i++) {
        impostor_begin(MESSAGE_GOSSIP, 0, 0);
        impostor.members[0].incarnation = impostor.origins[0].incarnation = 2;
        impostor.rows[0].hears |= 1;
        impostor_say(NULL);
        world_run(INTERVAL_MS);
    }
    OK_U64(world.host[ANN].messages - before, TICKS, "she does not rest while he, back again, does not know of it");
    world_close();
}

static void rules(void)
{
    world_of(2);
    (void)set(ANN, "rules:\n  - {id: a, service: s, by: user, rate: 7/m}\n");
    world_run(15);
    OK_U64(nodes_with_rate("s", "a", 7), 1, "a rule is on its way");
    world_run(1000);
    OK_U64(nodes_with_rate("s", "a", 7), 2, "and arrives");
    OK_U64(messages(ANN), 2 * SPARED_TICKS, "who has rules, which are everybody's, says that as seldom");
    world_link(ANN, BOB, LINK_CUT);
    (void)set(ANN, "rules:\n  - {id: a, service: s, by: user, rate: 8/m}\n");
    world_link(ANN, BOB, LINK_FINE);
    world_run(2 * INTERVAL_MS);
    OK_U64(nodes_with_rate("s", "a", 8), 2, "a lost word of another rule is said again with the next tick");
    struct health_report health = {.service = bytes_of("s"), .health_millionths = 500000};
    world_run(1000);
    step(ANN, (struct event){.kind = EVENT_HEALTH, .health = &health}, ANN);
    OK(messages(ANN) >= 2 * TICKS, "and so is, all the time, that a service is not well");
    world_close();
}

int main(void)
{
    rests();
    a_spend_ends_it();
    waiting_ends_it();
    who_does_not_rest();
    silence();
    a_lost_message();
    a_third_way_round();
    muted();
    own_business();
    a_ghost();
    rules();
    return tap_done();
}
