/* What one node has sent to another and the other has not received was lost on the way. */
#include "tests/lib/cluster_harness.h"

/* What host `i` counts of `peer`. */
static struct peer_traffic traffic(unsigned i, unsigned peer)
{
    struct peer_report reports[NODE_PEERS_MAX];
    const size_t count = node_peers(world.host[i].node, world.now_ns, reports);
    for (size_t k = 0; k < count; k++)
        if (strcmp(reports[k].name, host_names[peer]) == 0)
            return reports[k].traffic;
    return (struct peer_traffic){0};
}

/* Messages from `from` to `to` that have not arrived since the figures of `before`. */
static uint64_t lost(unsigned from, unsigned to, const struct peer_traffic before[2])
{
    return traffic(from, to).sent_messages - before[0].sent_messages -
           (traffic(to, from).received_messages - before[1].received_messages);
}

enum { ON_THE_WAY_MAX = 2 };

int main(void)
{
    world_of(3);
    struct peer_traffic before[] = {traffic(ANN, BOB), traffic(BOB, ANN)};
    for (unsigned i = 0; i < 40; i++) {
        world_spend(ANN, "alice", 1);
        world_run(100);
    }
    OK(traffic(ANN, BOB).sent_messages > before[0].sent_messages + 10, "ann has told bob of her spends");
    OK(lost(ANN, BOB, before) <= ON_THE_WAY_MAX, "he has received what she has sent");
    const uint64_t sent = traffic(ANN, BOB).sent_messages, bytes = traffic(ANN, BOB).sent_bytes;
    OK(bytes > 20 * sent, "messages have bytes: %" PRIu64 " of %" PRIu64, bytes, sent);
    OK_U64(traffic(ANN, ANN).sent_messages, 0, "a node sends nothing to itself");

    world_link(ANN, BOB, LINK_CUT);
    const struct peer_traffic cut[] = {traffic(ANN, BOB), traffic(BOB, ANN)},
                              other[] = {traffic(ANN, CAT), traffic(CAT, ANN)};
    for (unsigned i = 0; i < 40; i++) {
        world_spend(ANN, "alice", 1);
        world_run(100);
    }
    OK(lost(ANN, BOB, cut) > 10, "what a cut link loses is seen: %" PRIu64, lost(ANN, BOB, cut));
    OK(lost(ANN, CAT, other) <= ON_THE_WAY_MAX, "cat has lost nothing");
    world_link(ANN, BOB, LINK_FINE);
    world_run(1000);
    world_stop(CAT);
    world_run(1000);
    const struct peer_traffic left = traffic(ANN, CAT);
    world_spend(ANN, "alice", 1);
    world_run(1000);
    OK_U64(traffic(ANN, CAT).sent_messages, left.sent_messages, "nothing goes to a peer that has left");
    world_close();
    return tap_done();
}
