#include "http/metrics_cluster.h"

#define MILLION ((int64_t)1000000)
#define BILLION ((uint64_t)1000000000)

static uint64_t share_billionths(uint64_t share)
{
    return (share * BILLION + SHARE_ONE / 2) / SHARE_ONE;
}

static uint64_t peer_up(const struct peer_report *peer)
{
    return (peer->state == PEER_ACTIVE || peer->state == PEER_JOINING) && peer->heard_ago_ns != UINT64_MAX;
}

static uint64_t peer_decides(const struct peer_report *peer)
{
    return peer->decides;
}

static uint64_t peer_share(const struct peer_report *peer)
{
    return share_billionths(peer->share);
}

static uint64_t peer_lag(const struct peer_report *peer)
{
    return peer->heard_ago_ns;
}

static uint64_t peer_round_trip(const struct peer_report *peer)
{
    return peer->round_trip_ns > 0 ? peer->round_trip_ns : UINT64_MAX;
}

static uint64_t peer_unacknowledged(const struct peer_report *peer)
{
    return peer->lag_batches;
}

static uint64_t peer_log(const struct peer_report *peer)
{
    return peer->log_batches;
}

static uint64_t peer_config(const struct peer_report *peer)
{
    return peer->config_differs;
}

static uint64_t peer_received_messages(const struct peer_report *peer)
{
    return peer->traffic.received_messages;
}

static uint64_t peer_received_bytes(const struct peer_report *peer)
{
    return peer->traffic.received_bytes;
}

static uint64_t peer_sent_messages(const struct peer_report *peer)
{
    return peer->traffic.sent_messages;
}

static uint64_t peer_sent_bytes(const struct peer_report *peer)
{
    return peer->traffic.sent_bytes;
}

static uint64_t peer_clock_rate(const struct peer_report *peer)
{
    return peer->clock != CLOCK_UNMEASURED ? (uint64_t)(MILLION + peer->clock_ppm) : UINT64_MAX;
}

static const struct {
    const char *name, *help;
    uint64_t divisor;
    uint64_t (*value)(const struct peer_report *peer); /* UINT64_MAX: not known */
    bool counts;                                       /* a counter; else a gauge */
} peer_metrics[] = {
    {"peer_up", "1: the peer was heard, and neither is silent now", 1, peer_up, false},
    {"peer_decides", "1: the peer decides, as last heard", 1, peer_decides, false},
    {"peer_share", "the part of every limit that the peer holds", BILLION, peer_share, false},
    {"peer_lag_seconds", "age of the newest message of the peer that is known here", BILLION, peer_lag, false},
    {"peer_round_trip_seconds", "smoothed time from a batch to its acknowledgement", BILLION, peer_round_trip,
     false},
    {"peer_unacknowledged_batches", "own batches that the peer has not acknowledged", 1, peer_unacknowledged,
     false},
    {"peer_log_batches", "batches of the peer that are kept for others", 1, peer_log, false},
    {"peer_config_differs", "1: the config of the peer differs from the own one", 1, peer_config, false},
    {"peer_clock_rate", "how fast the clock of the peer runs, the median of all clocks being 1", MILLION,
     peer_clock_rate, false},
    {"peer_received_messages_total", "messages of the peer that were received", 1, peer_received_messages, true},
    {"peer_received_bytes_total", "their bytes", 1, peer_received_bytes, true},
    {"peer_sent_messages_total", "messages sent to the peer, and published while it was a member", 1,
     peer_sent_messages, true},
    {"peer_sent_bytes_total", "their bytes", 1, peer_sent_bytes, true},
};

/* Begins a line about that peer, with two labels. */
static void begin_line(struct metrics_page *page, const char *name, const struct peer_report *peer)
{
    page_begin(page);
    page_name(page, name);
    page_label(page, 0, "peer", bytes_of(peer->name));
    page_label(page, 1, "region", bytes_of(peer->region));
}

/* Of all members but this daemon, and but those that have left: nothing is to be expected of these. */
static void put_peers(struct metrics_page *page, const struct peer_report *peers, size_t count)
{
    for (size_t i = 0; i < sizeof peer_metrics / sizeof peer_metrics[0]; i++) {
        page_head(page, peer_metrics[i].name, peer_metrics[i].counts ? "counter" : "gauge", peer_metrics[i].help);
        for (size_t k = 0; k < count; k++) {
            const uint64_t value = peer_metrics[i].value(&peers[k]);
            if (peers[k].self || peers[k].state == PEER_LEFT || value == UINT64_MAX)
                continue;
            begin_line(page, peer_metrics[i].name, &peers[k]);
            page_value(page, 2, value, peer_metrics[i].divisor);
            (void)page_end(page);
        }
    }
}

static void put_offsets(struct metrics_page *page, const struct peer_report *peers, size_t count)
{
    static const char name[] = "peer_clock_offset_seconds";
    page_head(page, name, "gauge", "by how much the wall clock of the peer is ahead of the own one, about");
    for (size_t i = 0; i < count; i++) {
        if (!peers[i].wall_known || peers[i].state == PEER_LEFT)
            continue;
        begin_line(page, name, &peers[i]);
        page_signed_value(page, 2, peers[i].wall_ahead_ms, 1000);
        (void)page_end(page);
    }
}

/* The own clock is measured against those of peers: without any it is right. */
static void put_own_clock(struct metrics_page *page, const struct peer_report *peers, size_t count)
{
    uint64_t rate = MILLION;
    for (size_t i = 0; i < count; i++)
        if (peers[i].self && peers[i].clock != CLOCK_UNMEASURED)
            rate = peer_clock_rate(&peers[i]);
    page_gauge(page, "clock_rate", "how fast the clock of this daemon runs, the median of all clocks being 1", rate,
               MILLION);
}

static void put_weights(struct metrics_page *page, const struct node *node)
{
    static const char name[] = "region_weight";
    struct weights_report report;
    node_weights(node, &report);
    page_gauge(page, "weights_version", "the newest weights of regions; 0: those of the config",
               report.pending ? report.pending->stamp.number : report.base->stamp.number, 1);
    page_gauge(page, "weights_wait_for", "daemons that these weights wait for before they are in force everywhere",
               report.wait_count, 1);
    page_head(page, name, "gauge", "the weight of the region that is in force here");
    for (uint32_t i = 0; i < report.region_count; i++) {
        page_begin(page);
        page_name(page, name);
        page_label(page, 0, "region", bytes_of(report.row[i].region));
        page_value(page, 1, report.row[i].in_force_billionths, BILLION);
        (void)page_end(page);
    }
}

void metrics_put_cluster(struct metrics_page *page, const struct node *node, uint64_t now_ns)
{
    struct node_status status;
    struct peer_report peers[NODE_PEERS_MAX];
    node_status(node, &status);
    const size_t count = node_peers(node, now_ns, peers);
    page_gauge(page, "decides", "1: this daemon decides; 0: it joins, has left, or its config is not in use",
               status.decides, 1);
    page_gauge(page, "config_differs", "1: the configs of this daemon and of some peer differ",
               status.config_state == CONFIG_DIFFERS || status.config_state == CONFIG_OUT, 1);
    page_gauge(page, "share", "the part of every limit that this daemon holds", share_billionths(status.share),
               BILLION);
    page_gauge(page, "peers", "members with a share or waiting for one; with this daemon", status.peers, 1);
    page_gauge(page, "reachable_peers", "those members that are not silent", status.reachable_peers, 1);
    put_weights(page, node);
    put_own_clock(page, peers, count);
    put_peers(page, peers, count);
    put_offsets(page, peers, count);
}
