/*
 * cluster_steps: ann alone with an impostor for bob, a step at a time, and what she says on the way.
 *
 * The one idea: time stands still between calls, so that a test stands between two steps of the same piece of work; and
 * all spends are of one token, so that what her keys hold as unsettled is counted by what her reports say is kept for
 * peers, or not told yet. Every message that she publishes is read, as a peer would.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_STEPS_H
#define HEADGATE_TESTS_LIB_CLUSTER_STEPS_H

#include "tests/lib/cluster_impostor.h"
#include "tests/lib/opened_message.h"

enum { SAID_MAX = 512 };

/* A batch of ann's that she said. */
struct said {
    uint64_t first, last;
    uint32_t spend_count;
    uint64_t message; /* the number of the message among those she published */
};

struct said_state {
    struct said batch[SAID_MAX];
    unsigned count;
    uint64_t messages, floor; /* published; of the newest */
    struct message message;
};
extern struct said_state said;

/* The impostor's world, of an ann who works on so many keys in a step; change her options between the two. */
void steps_init(uint32_t step_keys);

void steps_begin(void);

void step_once(void);

/* Something was left for a step that follows at once. */
bool goes_on(void);

/* All that follows at once. */
void step_until_done(void);

/* After an interval: what is untold is told. */
void tell_now(void);

/* Bob, of that incarnation, says that he has applied ann's batches up to this one: one step. */
void acknowledge_as(uint64_t incarnation, enum peer_state state, uint64_t applied);

void acknowledge(uint64_t applied);

/* Bob asks for nothing in particular: one step, and a reply. */
void ask_as(uint64_t incarnation);

/* A token of each of the keys "<name> first".."<name> end-1". */
unsigned spend_range(const char *name, unsigned first, unsigned end);

uint64_t whole_tokens(int64_t units);

uint64_t unsettled_of(const char *key);

struct sums {
    uint64_t unsettled, used;
};

struct sums sums_of(const char *name, unsigned count);

/* What is kept for peers, or untold: with spends of one token each, as much as is unsettled. */
uint64_t kept_or_untold(void);

#endif
