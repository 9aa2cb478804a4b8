/*
 * uncharged_state: the memory of uncharged.h: how much of each key was heard of and is not charged.
 *
 * The one idea: a small table, begun when a charge first waits, and emptied as a whole.
 */
#ifndef HEADGATE_CLUSTER_STATE_UNCHARGED_STATE_H
#define HEADGATE_CLUSTER_STATE_UNCHARGED_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct uncharged_key;

struct uncharged {
    bool waits;                 /* charges may wait in this step */
    uint32_t count;             /* keys in use */
    uint64_t members;           /* a hash of the members in the last step; 0: charges did not wait then */
    struct uncharged_key *slot; /* NULL: no charge waited yet, or no memory */
};

#endif
