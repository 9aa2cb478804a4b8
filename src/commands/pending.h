/*
 * pending: the requests of one input that wait to be decided together.
 *
 * The one idea: every request that clients have decided (CAN_ACCESS, CHECK, PEEK, RESERVE and the two
 * THROTTLEs) waits in one queue, in order, as keys whose tags are prefetched. Neighbours of one shape
 * are one run of the node's. When the queue is full, and before any other command, one call of the
 * node decides all of them, and all are answered. Internal to the commands.
 */
#ifndef HEADGATE_COMMANDS_PENDING_H
#define HEADGATE_COMMANDS_PENDING_H

#include "cluster/node.h"
#include "commands/shapes.h"
#include "rules/match.h"
#include "wire/answer.h"
#include "wire/output.h"

struct session;

enum {
    PENDING_LOAD_MAX = 64, /* requests; many keys or a long answer count more */
    PENDING_RUNS_MAX = 16,
    PENDING_ANSWER_BYTES = 376, /* of one request, at most, */
    PENDING_ANSWERS_BYTES =
        PENDING_LOAD_MAX / 2 * PENDING_ANSWER_BYTES, /* of all, but for one VERBOSE at the end */
    RULE_ANSWER_BYTES = 1280,                        /* of each rule that VERBOSE tells of */
    DECISION_BYTES = 4,                              /* of CAN_ACCESS: ":1\r\n" */
    LATE_REQUESTS_MAX = 64,                          /* put off by all clients together */
};

enum throttle_dialect { THROTTLE_REDIS_CELL, THROTTLE_THROTTLECRAB, THROTTLE_DIALECTS };

/* A CL.THROTTLE or a THROTTLE: how many tokens there are, how long it takes to get one, how many are asked for. */
struct throttle {
    struct charge charge;
    int64_t capacity, quantity;
    uint64_t emission_ns;
    enum throttle_dialect dialect;
};

/* Neighbours that fall under the same charges, but for the ids of their keys. */
struct pending_run {
    uint8_t command; /* enum command_id */
    uint8_t shape;   /* SHAPES_MAX: it is a single request of no known shape */
    uint16_t request_count;
    bool wait, verbose; /* the answer has these parts */
};

/* A request of no known shape. */
struct pending_single {
    union {
        struct match match;
        struct throttle throttle; /* of either dialect */
    };
    struct hold hold; /* of RESERVE */
};

struct pending {
    uint32_t run_count, request_count, key_count;
    uint32_t load;   /* PENDING_LOAD_MAX at most */
    uint32_t shapes; /* bits: the shapes of the runs, which must stay until the runs are decided */
    struct pending_run run[PENDING_RUNS_MAX];
    struct pending_single single[PENDING_RUNS_MAX];
    struct key_id id[NODE_KEYS_MAX]; /* of all charges of all requests */
};

/* Nothing else may join before pending_decide. */
bool pending_is_full(const struct pending *pending);
/*
 * Requests of known shapes at the front of `input` join. Returns their sizes together, 0 if the first request is of no
 * known shape, and adds what they cost to `work`.
 */
size_t pending_join_shapes(struct commands *commands, struct bytes input, struct turn turn, uint32_t *work);
/*
 * True when `words`, which `frame` was parsed to, joined. False: they are no such request, or a THROTTLE that must be
 * prepared first, or a wrong request; `refusal` (unless NULL) is answered why.
 */
bool pending_join(struct commands *commands, const struct resp_command *words, struct bytes frame, struct turn turn,
                  struct answer *refusal);
/* A THROTTLE that is prepared joins. */
void pending_join_throttle(struct commands *commands, enum throttle_dialect dialect,
                           const struct throttle *throttle);
/* Decides all that joined, in order, and answers each. */
void pending_decide(struct commands *commands, const struct session *session, struct output *output,
                    struct turn turn);
void pending_clear(struct pending *pending);
/* Decides `count` CAN_ACCESS of the known shape, LATE_REQUESTS_MAX at most, by their keys. Bit i: ids[i] is allowed. */
uint64_t pending_decide_access(struct commands *commands, const struct key_id *ids, uint32_t count,
                               struct turn turn);
/* Bit i: answer number i is yes. `count` is at most PENDING_LOAD_MAX. */
void answer_decisions(struct output *output, uint64_t allowed, uint32_t count);

/* ---- late.c ---- */

/* CAN_ACCESS of one key whose answers wait for those of other clients. */
struct late {
    uint32_t count, answered;
    uint64_t allowed; /* bits, once they are decided */
    struct key_id id[LATE_REQUESTS_MAX];
};

/* Leaves few pending CAN_ACCESS to commands_answer. False: they must be decided now. */
bool late_put_off(struct commands *commands, struct session *session);

#endif
