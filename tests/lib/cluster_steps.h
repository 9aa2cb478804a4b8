/*
 * cluster_steps: ann alone with an impostor for bob, one step at a time, and the messages that she
 * sends meanwhile.
 *
 * The one idea: time stands still between calls, so a test can look between two steps of one piece
 * of work. All spends are of one token, so the unsettled tokens of ann's keys must equal the spends
 * that her reports count as kept for peers or untold. Every message of ann's is read as a peer
 * would read it.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_STEPS_H
#define HEADGATE_TESTS_LIB_CLUSTER_STEPS_H

#include "tests/lib/cluster_impostor.h"
#include "tests/lib/opened_message.h"

enum { SAID_MAX = 512 };

/* A batch that ann has told. */
struct said {
    uint64_t first, last;
    uint32_t spend_count;
    uint64_t message; /* number of the message among the messages that ann published */
};

struct said_state {
    struct said batch[SAID_MAX];
    unsigned count;
    /* messages that ann published; `floor` of the newest one */
    uint64_t messages, floor;
    struct message message;
};
extern struct said_state said;

/*
 * steps_init makes the impostor's world, with an ann who works on `step_keys` keys in a step. The
 * test may change her options before it calls steps_begin.
 */
void steps_init(uint32_t step_keys);

void steps_begin(void);

void step_once(void);

/* True: ann left work for a step that follows at once. */
bool goes_on(void);

/* Makes all steps that follow at once. */
void step_until_done(void);

/* Lets an interval pass: ann tells her untold spends. */
void tell_now(void);

/* Bob, of that incarnation, says in one step that he has applied ann's batches up to `applied`. */
void acknowledge_as(uint64_t incarnation, enum peer_state state, uint64_t applied);

void acknowledge(uint64_t applied);

/* Bob asks for an empty part of the table: one step, and a reply. */
void ask_as(uint64_t incarnation);

/* Takes a token of each of the keys "<name> first".."<name> end-1". */
unsigned spend_range(const char *name, unsigned first, unsigned end);

uint64_t whole_tokens(int64_t units);

uint64_t unsettled_of(const char *key);

struct sums {
    uint64_t unsettled, used;
};

struct sums sums_of(const char *name, unsigned count);

/*
 * Tokens that ann keeps for peers, and untold tokens: with spends of one token each, exactly the
 * unsettled tokens.
 */
uint64_t kept_or_untold(void);

#endif
