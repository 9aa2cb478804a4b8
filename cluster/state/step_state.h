/*
 * step_state: how much this step may still do, and which work is left for a later one.
 *
 * The one idea: left-over work is a set with a member for each kind, so a reader can list the work
 * that a step may find. Each member says which file adds it and which drops it. The functions here
 * change the set; node.c asks it.
 */
#ifndef HEADGATE_CLUSTER_STATE_STEP_STATE_H
#define HEADGATE_CLUSTER_STATE_STEP_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* The bounds of one step: see step_has_time(). */
struct step {
    uint32_t keys, left; /* that a step works on; that this step still may work on */
    uint64_t worked;
    /* own spends that a step may settle, see part_to_settle; that it has settled */
    uint32_t settle_part, settled_keys;
    uint32_t apply_room; /* spends of others that this step may still apply */
};

/* Kinds of work that a step leaves for a later one. */
enum work {
    /*
     * A step must follow at once. Added by many files, where a step is too short; dropped when a
     * step begins.
     */
    DO_STEP = 1 << 0,
    /*
     * Spends since the last step ask for an early message. Added by thread.c; dropped by publish.c
     * and tell.c.
     */
    DO_PUSH = 1 << 1,
    /* The last step saw DO_PUSH and it was too early. Put by node.c; dropped by publish.c. */
    DO_PUSH_LATER = 1 << 2,
    /*
     * The allowance of a key runs out: its spends must be told soon. Added by thread.c; dropped by
     * publish.c.
     */
    DO_HURRY = 1 << 3,
    /* The last step saw DO_HURRY and it was too early. Put by node.c; dropped by publish.c. */
    DO_HURRY_LATER = 1 << 4,
    /*
     * Others wait for an acknowledgement or for news of this node. Added by many files;
     * dropped by publish.c.
     */
    DO_ANSWER = 1 << 5,
    /* Due spends are gathered in parts, or did not fit one message. Put by node.c and publish.c. */
    DO_PUBLISH = 1 << 6,
    /*
     * All spends that the pace allows are in batches; the message is due. Added and dropped by
     * tell.c.
     */
    DO_MESSAGE = 1 << 7,
    /*
     * Batches of the inbox could be applied. Added by apply.c; dropped by node.c, which goes on with
     * them.
     */
    DO_APPLY = 1 << 8,
    /* Batches could be applied if logs had room. Added by apply.c; dropped by node.c. */
    DO_APPLY_LATER = 1 << 9,
    /*
     * Own batches that all members have could be settled. Added by settle.c; dropped by node.c,
     * which goes on.
     */
    DO_SETTLE = 1 << 10,
    /* Settling was left over in the last step as well, so applying comes first. Put by node.c. */
    DO_SETTLE_SECOND = 1 << 11,
    /* The store must be told all counters again. Added and dropped by counters.c. */
    DO_RETELL = 1 << 12,
    /*
     * A snapshot must be taken. Added by receive.c, apply.c, gossip.c; dropped by snapshot_take.c,
     * incarnation.c.
     */
    DO_SNAPSHOT = 1 << 13,
};

struct todo {
    uint32_t set; /* of enum work */
};

static inline bool todo_has(const struct todo *todo, enum work work)
{
    return (todo->set & (uint32_t)work) != 0;
}

static inline void todo_add(struct todo *todo, enum work work)
{
    todo->set |= (uint32_t)work;
}

static inline void todo_drop(struct todo *todo, enum work work)
{
    todo->set &= ~(uint32_t)work;
}

static inline void todo_add_if(struct todo *todo, enum work work, bool is_left)
{
    if (is_left)
        todo_add(todo, work);
}

/* Adds or drops. */
static inline void todo_put(struct todo *todo, enum work work, bool is_left)
{
    todo_drop(todo, work);
    todo_add_if(todo, work, is_left);
}

#endif
