/*
 * central: what one thread asks the central store: requests on their way, their deadlines and answers, and whether the
 * store can be asked at all.
 *
 * The one idea: whoever asks gets a ticket and looks again later, as those do who wait for their share. An ask ends
 * with an answer, or fails: at its deadline, with the connection, or with an error of the store. What was granted and
 * is not used is given back, also when its answer comes too late. Three failures in a row open a breaker: nothing is
 * asked any more until the store has answered a probe. Time is an input, and bytes are the link's (central_link.h):
 * here is no I/O.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_H

#include "edge/central/central_lease.h"
#include "edge/central/central_script.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CENTRAL_ASKS_MAX = 1024,   /* of one thread, on their way or not looked at yet */
    CENTRAL_FAILURES_MAX = 3,  /* in a row: they open the breaker */
    CENTRAL_HEALTH_MS = 1000,  /* from probe to probe */
    CENTRAL_ERROR_BYTES = 160, /* of a sentence, terminated */
};

/* X(name, what it counts). The thread of the loop writes them as base/metric.h does. */
#define CENTRAL_STATS(X)                                                                                           \
    X(connections, "threads whose connection to the central store answers (now)")                                  \
    X(waiting, "requests that wait for the central store (now)")                                                   \
    X(asked, "calls of the central store for requests")                                                            \
    X(failed, "of these, calls that failed: an error, no answer in time, or the connection was lost")              \
    X(spared, "requests of hot keys decided without a call: by tokens taken in advance, or a refusal before")      \
    X(leased_tokens, "tokens of hot keys that were taken in advance")                                              \
    X(late, "answers that came after their deadline")                                                              \
    X(crowded, "requests that could not ask, since too many others were on their way")                             \
    X(returned, "grants given back: the client had gone, another rule refused, or the answer was late")            \
    X(lost, "grants that could not be given back: their tokens stay used")                                         \
    X(opened, "times that the store was taken for down")                                                           \
    X(changing,                                                                                                    \
      "threads that go on with the store before, since the one of the config read again does not answer (now)")

struct central_stats {
#define X(name, help) uint64_t name;
    CENTRAL_STATS(X)
#undef X
};

struct central;

/* What carries calls. All are called in the thread of the loop. */
struct central_wire {
    void *context;
    /*
     * Sends a call; central_answered or central_failed ends it later, in the order of the calls, and not within this
     * call. False: it was not sent.
     */
    bool (*send)(void *context, uint32_t ticket, enum central_way way, const struct central_charge *charges,
                 uint32_t count);
    /* Something that somebody may wait for has changed. May be NULL. */
    void (*news)(void *context);
};

/* NULL without memory. `timeout_ns`: from a call to its deadline. */
struct central *central_create(const struct central_wire *wire, uint64_t timeout_ns);
void central_destroy(struct central **central);

/* ---- for those who ask ---- */

/*
 * Asks. Returns a ticket, above 0, which the caller must end with central_end. 0: the store is down, or too many calls
 * are on their way; the caller decides without it.
 */
uint32_t central_ask(struct central *central, enum central_way way, const struct central_charge *charges,
                     uint32_t count, uint64_t now_ns);

/* Tickets with this bit wait for the call of another request. */
#define LEASE_TICKET ((uint32_t)1 << 30)
/*
 * Decides a request that takes, of one charge without a floor, as lease_decide does. LEASE_ASK: by central_ask.
 * LEASE_WAIT: *ticket must be ended with central_end. When it is CENTRAL_OVER, the request is decided `again`; when it
 * is CENTRAL_FAILED, so is the request, which has waited for a whole deadline.
 */
enum lease_outcome central_decide(struct central *central, struct central_charge *charge, bool again,
                                  uint64_t now_ns, struct central_figures *figures, uint32_t *ticket);
/* The request was allowed by what is in hand, and another rule refused it. */
void central_put_back(struct central *central, const struct central_charge *charge);

enum central_state {
    CENTRAL_WAITS,
    CENTRAL_ANSWERED,
    CENTRAL_FAILED,
    CENTRAL_OVER, /* of another request: the call is answered */
};
/* *answer is set for CENTRAL_ANSWERED, and valid until central_end. */
enum central_state central_look(const struct central *central, uint32_t ticket,
                                const struct central_answer **answer);
/* True if the ticket's call was the same. */
bool central_is_of(const struct central *central, uint32_t ticket, enum central_way way,
                   const struct central_charge *charges, uint32_t count);
/*
 * The caller is done with the ticket. `used`: what was granted is used, or would be: a late grant stays taken as well.
 * Otherwise it is given back.
 */
void central_end(struct central *central, uint32_t ticket, bool used);

/* True: the store can be asked. */
bool central_is_up(const struct central *central);
/* From now on nothing is asked, and all that waits has failed. */
void central_stop(struct central *central);
/* Another store is asked from now on: what is on its way here is still answered, and what is in hand is given back. */
void central_retire(struct central *central);
/* True: nobody has a ticket, and the store has answered everything. */
bool central_is_idle(const struct central *central);
/* Counts what `before` has counted as well. */
void central_inherit(struct central *central, const struct central *before);
/* Another store is to be asked, which does not answer yet. */
void central_note_changing(struct central *central, bool changing);
const struct central_stats *central_stats(const struct central *central);
/* Why the last call or connection failed; "": none has, and the store has answered. */
const char *central_error(const struct central *central);

/* ---- for the link ---- */

/* A connection may carry a probe from now on, or, with false, nothing: all that is on its way fails by itself. */
void central_connected(struct central *central, bool connected);
/* Sends a probe, unless one is on its way. Returns how long that one has been. */
uint64_t central_probe(struct central *central, uint64_t now_ns);
void central_answered(struct central *central, uint32_t ticket, const struct central_answer *answer,
                      uint64_t now_ns);
/* How many charges a call has. */
uint32_t central_count(const struct central *central, uint32_t ticket);
/* The store did nothing for the call: sends it once more, with the deadline that it had. False: it was not sent. */
bool central_again(struct central *central, uint32_t ticket);
/* `why`: a few words, valid during the call. */
void central_failed(struct central *central, uint32_t ticket, const char *why);
/*
 * Calls whose deadline is over fail, and what has been in hand for too long goes back. Returns when this is due again;
 * UINT64_MAX: nothing is on its way or in hand.
 */
uint64_t central_expire(struct central *central, uint64_t now_ns);
/* Gives back what has been in hand for too long. */
void central_sweep(struct central *central, uint64_t now_ns);
void central_set_error(struct central *central, const char *why);

#endif
