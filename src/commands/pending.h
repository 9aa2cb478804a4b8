/*
 * pending: the requests of one input that wait to be decided together.
 *
 * The one idea: every request for a decision (CAN_ACCESS, CHECK, PEEK, RESERVE and the two
 * THROTTLEs) waits in one queue, in order, as keys whose tags are being prefetched. Neighbours of
 * one shape form one run for the node. When the queue is full, and before any other command, one
 * call of the node decides all requests, and each is answered. Internal to the commands.
 */
#ifndef HEADGATE_COMMANDS_PENDING_H
#define HEADGATE_COMMANDS_PENDING_H

#include "cluster/node.h"
#include "commands/shapes.h"
#include "rules/match.h"
#include "wire/answer.h"
#include "wire/output.h"

struct asker;
struct session;

enum {
    PENDING_LOAD_MAX = 64, /* requests; a request with many keys or a long answer counts as more than one */
    PENDING_RUNS_MAX = 16,
    PENDING_ANSWER_BYTES = 384, /* bytes of one answer at most */
    PENDING_ANSWERS_BYTES =
        PENDING_LOAD_MAX / 2 * PENDING_ANSWER_BYTES, /* bytes of all answers, without one VERBOSE at the end */
    RULE_ANSWER_BYTES = 1280,                        /* bytes of each rule in an answer to VERBOSE */
    DECISION_BYTES = 4,                              /* bytes of one answer to CAN_ACCESS: ":1\r\n" */
    LATE_REQUESTS_MAX = 64,                          /* requests of all clients together that are put off */
    LATE_KEY_MAX_BYTES = 99,                         /* the longest key of a CAN_ACCESS of the known shape */
};

enum throttle_dialect { THROTTLE_REDIS_CELL, THROTTLE_THROTTLECRAB, THROTTLE_DIALECTS };

/*
 * The words of a CL.THROTTLE or a THROTTLE: the burst, the time until one more token comes, and the
 * tokens that the request asks for.
 */
struct throttle {
    struct charge charge;
    int64_t capacity, quantity;
    uint64_t emission_ns;
    enum throttle_dialect dialect;
};

/* Neighbouring requests that come to the same charges, except for the ids of their keys. */
struct pending_run {
    uint8_t command; /* enum command_id */
    uint8_t shape;   /* SHAPES_MAX: the run is one request of no known shape */
    uint16_t request_count;
    bool wait, verbose;  /* the answer has the part of WAIT, or of VERBOSE */
    struct bytes frames; /* the requests as they came, for names; the last ones may be missing */
};

/* A request of no known shape. */
struct pending_single {
    union {
        struct match match;
        struct throttle throttle; /* of either dialect */
    };
    struct hold hold; /* of a RESERVE */
};

struct pending {
    uint32_t run_count, request_count, key_count;
    uint32_t load;       /* PENDING_LOAD_MAX at most */
    bool patient;        /* the last request may wait: it is decided before another one joins */
    bool refused;        /* the last request would have to wait, and cannot: an error answers it */
    struct bytes behind; /* then: the input behind it; to be set before pending_decide */
    uint32_t shapes;     /* one bit for each shape of the runs: these shapes must stay until the runs are decided */
    struct pending_run run[PENDING_RUNS_MAX];
    struct pending_single single[PENDING_RUNS_MAX];
    struct key_id id[NODE_KEYS_MAX]; /* the keys of all charges of all requests */
};

/* True: no other request may join before pending_decide. */
bool pending_is_full(const struct pending *pending);
/*
 * Lets requests of known shapes at the front of `input` join the queue. Returns the sum of their
 * sizes, 0 if the first request has no known shape, and adds their cost to `work`.
 */
size_t pending_join_shapes(struct commands *commands, struct bytes input, struct turn turn, uint32_t *work);
/*
 * Lets the request in `words`, which were parsed from `frame`, join the queue. False: the words are
 * no request for a decision, or a wrong one, or a THROTTLE that must be prepared first. The call
 * writes the reason to `refusal`, unless `refusal` is NULL.
 */
bool pending_join(struct commands *commands, const struct resp_command *words, struct bytes frame, struct turn turn,
                  struct answer *refusal);
/* Lets a prepared THROTTLE join the queue. */
void pending_join_throttle(struct commands *commands, enum throttle_dialect dialect,
                           const struct throttle *throttle);
/* Decides all requests of the queue in order, and answers each. */
void pending_decide(struct commands *commands, const struct session *session, struct output *output,
                    uint64_t now_ns);
/*
 * The same where the last request may wait (pending->patient). Returns its size, if it is not answered but has to wait
 * (session->waiting); else 0.
 */
size_t pending_decide_patiently(struct commands *commands, struct session *session, struct output *output,
                                struct turn turn);
void pending_clear(struct pending *pending);
/*
 * Decides `count` CAN_ACCESS of the known shape by their keys. `count` must be at most
 * LATE_REQUESTS_MAX. Returns bits: bit i is set if ids[i] is allowed.
 */
uint64_t pending_decide_access(struct commands *commands, const struct key_id *ids, uint32_t count,
                               const struct asker *asker, uint64_t now_ns);
/*
 * Writes `count` answers to CAN_ACCESS: answer i says yes if bit i is set. `count` must be at most
 * PENDING_LOAD_MAX.
 */
void answer_decisions(struct output *output, uint64_t allowed, uint32_t count);

/* ---- late.c ---- */

/* The key of one CAN_ACCESS of the known shape, in words. */
struct late_key {
    uint8_t size;
    char text[LATE_KEY_MAX_BYTES];
};

/* Requests CAN_ACCESS of one key that wait to be decided together with those of other clients. */
struct late {
    uint32_t count, answered;
    uint64_t allowed; /* the decisions, a bit for each, once they are made */
    struct key_id id[LATE_REQUESTS_MAX];
    struct late_key key[LATE_REQUESTS_MAX]; /* filled only if names are remembered */
};

/*
 * Takes the few CAN_ACCESS of the queue out of it, for commands_answer to decide. False: they must
 * be decided now.
 */
bool late_put_off(struct commands *commands, struct session *session);

#endif
