/*
 * node_report: the state of a node for operators: its peers, its figures, and the reasons of one
 * decision.
 *
 * The one idea: reports are copies made between steps, in units that people read; no decision
 * depends on them. Figures count from the node's start, unless they are called "(now)".
 */
#ifndef HEADGATE_CLUSTER_NODE_REPORT_H
#define HEADGATE_CLUSTER_NODE_REPORT_H

#include "base/hash.h"
#include "cluster/node_options.h"
#include "limit/table.h"
#include "limit/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node;

enum peer_state { PEER_JOINING, PEER_ACTIVE, PEER_SILENT, PEER_LEFT };
const char *peer_state_name(enum peer_state state);

/* Messages between this node and a peer, and their bytes, since this node has known the peer. */
struct peer_traffic {
    uint64_t received_messages, received_bytes;
    uint64_t sent_messages, sent_bytes; /* published ones as well, whether the peer listened or not */
};

/* What this node says of a peer's right to its share, where rights end by themselves; RIGHT_UNLIMITED elsewhere. */
enum right_state {
    RIGHT_UNLIMITED,
    RIGHT_HELD,     /* own: it acts. Of a peer: it is waited for */
    RIGHT_DOUBTED,  /* of a peer: it was not heard for long */
    RIGHT_RECORDED, /* of a peer: it is gone; it is waited for until most have recorded that */
    RIGHT_TAKEN,    /* of a peer: it is not waited for */
    RIGHT_AWAITED,  /* own: joining. Of a peer: it is back, and the allowance is lowered until it acts */
    RIGHT_LAPSED,   /* own: it goes on with what its share has left */
};
const char *right_state_name(enum right_state state);

/* What this node says of a clock: good is within 1% of the median of all clocks. */
enum clock_state { CLOCK_UNMEASURED, CLOCK_GOOD, CLOCK_FAST, CLOCK_SLOW };
const char *clock_state_name(enum clock_state state);

/* What this node knows of a peer's key. */
enum key_state {
    KEY_NONE,    /* it signs nothing, or was never heard itself */
    KEY_PINNED,  /* it is known, and outlives a restart where the caller keeps it */
    KEY_NEW,     /* learnt since this node started */
    KEY_DIFFERS, /* it comes with another one, and is not heard until an operator accepts that */
    KEY_MISSING, /* it signs nothing, and is not heard for that: KEYS_REQUIRED */
};
const char *key_state_name(enum key_state state);

/* This node's own key. NULL: it signs nothing. */
const uint8_t *node_key(const struct node *node);
/* True: it follows another one, which peers may still know in its place. */
bool node_key_follows(const struct node *node);

struct peer_report {
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];
    enum peer_state state;
    bool self;
    bool config_differs; /* from ours; own: from the config in use, so we refuse */
    bool decides;        /* as last heard */
    bool wall_known;     /* its wall clock was heard of; never known of this node itself */
    enum clock_state clock;
    int32_t clock_ppm;    /* how much faster than the median of all clocks it runs; 0: unmeasured */
    uint32_t clock_jumps; /* of its clock, since it is known here */
    enum right_state right;
    uint64_t incarnation;   /* 0: never heard */
    uint64_t share;         /* in 1/SHARE_ONE, as this node sees it; 0: none yet */
    uint64_t heard_ago_ns;  /* UINT64_MAX: never */
    int64_t wall_ahead_ms;  /* by how much its wall clock is ahead of this node's, give or take a round trip */
    uint64_t round_trip_ns; /* smoothed, batch to acknowledgement; 0: not measured yet */
    uint64_t lag_batches;   /* own batches that the peer has not acknowledged */
    uint64_t log_batches;   /* batches of the peer that are kept for others */
    struct peer_traffic traffic;
    enum key_state key_state;
    uint8_t key[NODE_KEY_BYTES], offered_key[NODE_KEY_BYTES]; /* offered: of KEY_DIFFERS; all 0: it has none */
    bool lacks_our_key; /* it signs, and has not said since this node has its present key that it knows it */
    bool passed_over;   /* this node joins, and has asked it in vain */
    bool forgotten;     /* left, as somebody said, or as nobody has heard it for long */
};

/* Fills in a report for each peer, this node first. Returns how many there are. */
size_t node_peers(const struct node *node, uint64_t now_ns, struct peer_report reports[NODE_PEERS_MAX]);

/*
 * By how many millionths the caller must slow events' now_ns, and the time of requests, against the clock of this
 * machine from now on: see held_clock.h. It is above 0 while that clock runs faster than the median of all peers'.
 */
uint32_t node_held_ppm(const struct node *node);

/*
 * Counters and gauges as an X-macro: X(name, help). INFO prints each row by itself, and
 * docs/operations.md must explain it (tests/tidy/recipes.t). /metrics prints it under a name and with a
 * type that it makes of the row: src/http/metrics_page.h says how.
 *
 * A row gives struct node the counter node->stats.name, which is 0 at the start. The file in which
 * the event happens must add to it. A row with "(now)" is a gauge instead: node_stats (report.c)
 * must compute it. A row with "(most)" is the most that was seen. A name that ends with _ms or _ns is
 * a time, and the help names no unit.
 */
#define NODE_STATS(X)                                                                                              \
    X(admitted_requests, "requests allowed")                                                                       \
    X(refused_requests, "requests refused")                                                                        \
    X(admitted_tokens, "tokens handed out here")                                                                   \
    X(returned_tokens, "tokens given back here, of all keys: refunds, resets, reservations")                       \
    X(open_reservations, "reservations that have not ended (now)")                                                 \
    X(former_reservations, "reservations of the former process that go on when this node has joined (now)")        \
    X(rights_asked, "times that peers were asked for rights of a key, since the own share was used up")            \
    X(rights_asked_tokens, "tokens that peers were asked for")                                                     \
    X(rights_received_tokens, "tokens that peers spent on behalf of this node")                                    \
    X(rights_used_tokens, "tokens admitted here that peers had spent on behalf of this node")                      \
    X(rights_returned_tokens, "of the same, those that nobody used and that were given back to all")               \
    X(rights_decayed_tokens, "tokens that peers had spent on behalf of this node, and that came to nothing")       \
    X(rights_granted, "grants of this node to peers that asked, and to itself with own asks")                      \
    X(rights_granted_tokens, "tokens spent here for these grants")                                                 \
    X(settled_tokens, "own tokens that every peer has acknowledged")                                               \
    X(applied_tokens, "tokens that other peers reported spent")                                                    \
    X(batches_closed, "own batches closed")                                                                        \
    X(batches_applied, "batches of other peers applied")                                                           \
    X(batches_duplicate, "batches ignored: received again, own ones, or of an origin that is over")                \
    X(batches_waiting, "batches received early, waiting for what they depend on (now)")                            \
    X(batches_missing, "batches that some peer has and this node has not (now)")                                   \
    X(batches_resent, "batches sent again or passed on for another peer")                                          \
    X(batches_compacted, "batches merged because the log was at its limit")                                        \
    X(messages_published, "messages published")                                                                    \
    X(messages_received, "messages received and understood")                                                       \
    X(messages_invalid, "messages dropped as nonsense")                                                            \
    X(messages_unsealed, "messages dropped because damaged or of another secret")                                  \
    X(messages_impostor, "messages dropped since the certificate of their connection is for another peer")         \
    X(messages_orphaned, "messages dropped since their connection had ended, so nobody knows who brought them")    \
    X(proofs_checked, "signatures of members that were checked")                                                   \
    X(statements_made, "signatures of this node's own digest and batches, made while some peer may not hear it")   \
    X(proofs_wrong, "signatures of members that were wrong: what they should prove was dropped")                   \
    X(messages_unproven, "messages dropped since their sender has another key than the one that is known here")    \
    X(messages_unsigned, "messages dropped since their sender signs nothing, with signatures: required")           \
    X(words_unproven, "words of peers about others that were ignored, since those others have not signed them")    \
    X(members_unsigned, "members whose key is not known here (now)")                                               \
    X(members_refused, "members that are not heard since they have another key or none (now)")                     \
    X(messages_former_secret, "messages of peers that seal with another one of secrets than the first here")       \
    X(messages_unreadable, "messages dropped since this daemon cannot read their version")                         \
    X(messages_unknown_kind, "messages of a kind that this daemon does not know, dropped")                         \
    X(messages_muted, "messages dropped by DEBUG DROP")                                                            \
    X(bytes_published, "bytes published")                                                                          \
    X(bytes_received, "bytes received")                                                                            \
    X(snapshots_served, "snapshot pages served")                                                                   \
    X(snapshots_taken, "snapshots taken from a peer")                                                              \
    X(second_donors, "times that this node, joining, took the snapshot of a second peer as well")                  \
    X(donors_passed_over, "times that this node, joining, gave up a peer that gave it nothing in time")            \
    X(donors_exceeding, "times that a snapshot was said to have more of a peer than that one had made")            \
    X(stores_taken, "peers of which it was asked what their stores had when they started")                         \
    X(parts_beyond, "parts of snapshots that may contain more than their donor had told")                          \
    X(doubted_tokens, "tokens that were charged, or not given back, though a part of a snapshot may contain that") \
    X(unspent_returns, "tokens that peers gave back and were not known to have spent, so that they do not count")  \
    X(spared_tokens, "tokens told late that were not charged, since refill had paid them off")                     \
    X(uncharged_spends, "spends heard of while a peer was silent, and charged when all were heard again")          \
    X(uncharged_keys, "keys with such spends that are not charged yet (now)")                                      \
    X(log_batches, "batches kept for peers that lack them (now)")                                                  \
    X(log_keys, "spends kept for peers that lack them (now)")                                                      \
    X(log_ghost_keys, "kept spends of a start that is over: they do not heed the limit (now)")                     \
    X(open_keys, "spends that no peer was told of yet (now)")                                                      \
    X(spends_paid_off, "spends that refill had paid off before anybody was told of them")                          \
    X(open_oldest_ms, "for how long the oldest spend that no peer was told of has waited (now)")                   \
    X(rule_changes, "changes of rules made here, automatic ones included")                                         \
    X(rule_versions_fetched, "versions of rules that came from peers")                                             \
    X(rule_versions_invalid, "versions of rules that were dropped as nonsense")                                    \
    X(rule_scans, "times that a peer was asked for its rules")                                                     \
    X(step_keys_max, "keys that one step worked on (most)")                                                        \
    X(refunds_forgotten, "accounts of what may be given back that made room for others")                           \
    X(limit_drops, "items dropped at a limit: inbox, members, unknown rules")                                      \
    X(incarnations_refused, "members in messages that were dropped since their clock is too far ahead")            \
    X(unlisted_refused, "members that no config names, dropped beyond unlisted_peers")                             \
    X(rights_lapsed, "times that the right of this node to its share ended, since it heard no majority")           \
    X(takeovers, "peers that were out of reach of most, and that this node did not wait for any more")             \
    X(stalls, "times that this node got to run later than a quarter of silent_after")                              \
    X(stalled_ms, "for how long this node got to run too late, in all")                                            \
    X(clock_jumps, "jumps of the clocks of peers, and of this daemon's clock, that were seen")                     \
    X(clock_held_ppm,                                                                                              \
      "millionths by which time is slowed here, since the clock runs faster than the median (now)")                \
    X(config_mismatches, "messages from peers whose config differs")                                               \
    X(settle_ns, "smoothed time from a spend to its acknowledgement by all (now)")                                 \
    X(worst_debt_tokens, "tokens below zero that a key was seen at here (most)")

struct node_stats {
#define X(name, help) uint64_t name;
    NODE_STATS(X)
#undef X
};

void node_stats(const struct node *node, struct node_stats *stats);
/* refused_requests by reason: of a request with several charges, that of the one that refuses it for longest. */
void node_refusals(const struct node *node, uint64_t counts[VERDICT_REASON_COUNT]);
/* The part of doubted_tokens that keys of one limit have. */
uint64_t node_doubted_tokens(const struct node *node, uint16_t limit);
/* The part of worst_debt_tokens that keys of one limit have. */
uint64_t node_worst_debt_tokens(const struct node *node, uint16_t limit);
void node_table_stats(const struct node *node, struct table_stats *stats);

/*
 * The configs of others: the same; different, but this node's is in use; this node's is not in use;
 * unheard.
 */
enum config_state { CONFIG_SAME, CONFIG_DIFFERS, CONFIG_OUT, CONFIG_UNHEARD };
const char *config_state_name(enum config_state state);

struct node_status {
    enum peer_state state;           /* of this node itself */
    bool decides;                    /* active, not leaving, and its config is in use */
    uint32_t peers, reachable_peers; /* members with a share or waiting for one; with this node */
    uint64_t share;                  /* in 1/SHARE_ONE */
    enum right_state right;
    uint64_t right_ends_ns; /* of RIGHT_HELD, unless others renew it: a time of events */
    uint64_t gone_share;    /* of those for whom the own allowance is lowered */
    bool config_differs;    /* the config digest of some peer differs */
    enum config_state config_state;
    uint64_t config_digest;
};
void node_status(const struct node *node, struct node_status *status);

/* What this node waits for while it joins, and what an operator may do about it. "": it does not join. */
void node_waits_for(const struct node *node, char text[NODE_NOTICE_BYTES]);

/* The reasons of a decision about one key, in tokens (fractions kept). */
struct explanation {
    double settled_tokens, unsettled_tokens, allowance_tokens;
    double share;
    uint64_t overshoot_tokens;
    uint64_t voucher_tokens; /* that may be admitted beyond the allowance: peers have spent them for this node */
    /*
     * Tokens that others may have spent without this node's knowledge: the sum of min(C, demand *
     * (interval + latency)) over all other peers, and the spends that they do not tell because
     * refill pays them off (docs/accounting.md).
     */
    double in_flight_bound_tokens;
    double overshoot_bound_tokens; /* the smaller of declared and in-flight overshoot */
    /* measured: the most tokens below zero of any key of this limit here */
    double worst_debt_tokens;
    char last_spender[NODE_NAME_BYTES]; /* "": no peer is known */
    bool tracked;                       /* false: no tokens are owed, the key is full */
};
void node_explain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns, struct explanation *out);

#endif
