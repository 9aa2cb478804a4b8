/*
 * takeover: the protocol by which a peer that is gone is not waited for any more, and a peer that hears no majority
 * holds back by itself. docs/notebook/takeover.md has it in words, and tests/model tries it whole.
 *
 * The one idea: a right ends by itself, on the clock of whoever has it, before anybody can have recorded that its
 * owner is gone. Time, messages and what is applied are inputs: this file reads no clock, sends nothing, and knows
 * nothing of tokens. takeover_node.c connects it with the node.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_TAKEOVER_H
#define HEADGATE_CLUSTER_MEMBERS_TAKEOVER_H

#include "cluster/state/takeover_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Now, on two clocks: that of rights, and that of waiting, on which time in which the node did not run is missing. */
struct takeover_time {
    uint64_t now_ns, awake_ns;
};

/* What the node knows of spends. */
struct takeover_view {
    bool is_covered; /* all that the digests of those who are waited for name is applied here */
    bool is_settled; /* so are own spends from before takeover.is_ready, everywhere, and they have settled */
    uint64_t covers; /* bit i: all that the member i told is applied here */
    bool serves;     /* the node uses its share: it does not join any more */
};

/* A node without the setting: its right never ends. */
void takeover_off(struct takeover *takeover);
/* `weights` and `ranks` (by name) of all members in the list, this node's first. */
void takeover_begin(struct takeover *takeover, uint64_t after_ns, const uint64_t *weights, const uint32_t *ranks,
                    uint32_t count, struct takeover_time time);
/* This node joins under another incarnation. */
void takeover_begin_anew(struct takeover *takeover);
/* This node has taken a table, or there is none anywhere. */
void takeover_has_table(struct takeover *takeover);

/* The member has started anew. */
void takeover_started(struct takeover *takeover, uint32_t index, uint64_t incarnation, struct takeover_time time);
/* The member has left in good order; or, `for_good`, an operator has said that its process has ended. */
void takeover_is_away(struct takeover *takeover, uint32_t index, bool for_good);
/* A newer message of the member is known, at first or second hand. */
void takeover_heard(struct takeover *takeover, uint32_t index, struct takeover_time time);
/* A message of the member, which was made at made_ns or later; 0: that is not known. */
void takeover_hear(struct takeover *takeover, uint32_t index, const struct takeover_word *word, uint64_t made_ns,
                   struct takeover_time time);
/* True if messages of this incarnation of the member count no more. */
bool takeover_ignores(const struct takeover *takeover, uint32_t index);

/* To be called at the beginning of each step, before anything is heard. True: the right has just ended. */
bool takeover_expire(struct takeover *takeover, struct takeover_time time);
/* Records, takes over and acts, where the protocol allows it. True: something has changed that others should know. */
bool takeover_step(struct takeover *takeover, const struct takeover_view *view, struct takeover_time time);
/* True if this node should join anew: it has lapsed, and cannot go on otherwise. */
bool takeover_wants_anew(const struct takeover *takeover, const struct takeover_view *view,
                         struct takeover_time time);

/* True if this node uses its share, and refill pays off what it has spent. */
bool takeover_acts(const struct takeover *takeover);
/* True if the next message renews that member's right. */
bool takeover_renews(const struct takeover *takeover, uint32_t index);
/* To be called when a message is made that renews all of takeover_renews. */
void takeover_said(struct takeover *takeover);
/* True if it will not act again by itself, but in one of two ways: all others renew its right, or it joins anew. */
bool takeover_is_stuck(const struct takeover *takeover, bool serves);

#endif
