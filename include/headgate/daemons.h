/*
 * daemons: asks the nearest of several headgate daemons that answers, within one deadline.
 *
 * The one idea: a request goes to another daemon only while no daemon can have charged it. What was sent and not
 * answered may have been charged: it is not sent again, unless it takes nothing (PEEK), or, with `resend`, to the same
 * daemon, which knows it by an idempotency key. Where no daemon answers, the program has said before what the answer is
 * then: no, yes, or what a limiter of its own says.
 *
 * Connections are kept. One that fails is tried again later, with growing pauses and some chance in them, while the
 * next daemon answers; a nearer one is used again as soon as it is there. A daemon that has no share yet, since it has
 * just started, counts as away. Blocking; one thread at a time may use it. After a fork both processes may: the child
 * makes connections of its own.
 */
#ifndef HEADGATE_DAEMONS_H
#define HEADGATE_DAEMONS_H

#include <headgate/client.h>
#include <headgate/limiter.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADGATE_DAEMONS_MAX 16

struct headgate_daemons;

/* The answer to a request that no daemon decides in time. */
enum headgate_absence {
    HEADGATE_ABSENCE_CLOSED = 0, /* refused */
    HEADGATE_ABSENCE_OPEN,       /* allowed */
    HEADGATE_ABSENCE_LOCAL       /* as a limiter inside this program says: `local` */
};

struct headgate_daemons_options {
    /* The nearest first, as in headgate_client_options. A name may have several addresses, of a daemon each. */
    const char *const *addresses;
    size_t address_count;         /* 1 to HEADGATE_DAEMONS_MAX */
    /* Of each connection. `address` must be NULL; `timeout_ms` is the deadline of a whole call, with all daemons. */
    struct headgate_client_options client;
    /* Until a connection that is being made has failed; 0: 250. After a quarter of it the next daemon is dialled. */
    uint32_t connect_timeout_ms;
    uint32_t pause_min_ms, pause_max_ms; /* until a failed connection is tried again; 0: 100 and 5,000 */
    const char *user, *password;         /* sent by AUTH when a connection is made; NULL: no user; no AUTH */
    enum headgate_absence absence;
    /*
     * A CHECK has an idempotency key of its own, and is sent once more on another connection to the same daemon where
     * its answer was lost and time is left: that daemon charges it once. Keys are per daemon, which keeps them over an
     * orderly restart if it has a state_dir: one that crashes in between takes the request for new. The same daemon is
     * who has the same address and port: not for addresses that a balancer shares out. For daemons that know
     * IDEMPOTENCY_KEY; not for DRAIN and WAIT.
     */
    bool resend;
    /*
     * With HEADGATE_ABSENCE_LOCAL: what this program may admit by itself of each key, which should be a part of the
     * limit: all programs that are cut off count alone. Its name is not used. A key is the first id of a request.
     */
    struct headgate_limit local;
};

/* What was decided. */
struct headgate_daemons_answer {
    bool decided;       /* by a daemon, whose verdict follows; false: no daemon answered in time */
    bool maybe_charged; /* no daemon answered, but one has got the request and may have charged it */
    size_t daemon;      /* the index of the daemon that decided */
    /* Not decided: `allowed` is as `absence` says; the figures are those of the limiter, or say that nothing limits. */
    struct headgate_client_verdict verdict;
};

/*
 * Copies the options and connects to nobody yet. NULL: memory is short, or an option is wrong: a sentence in `error`,
 * terminated and cut to `error_room` bytes. `error` may be NULL if error_room is 0.
 */
struct headgate_daemons *headgate_daemons_create(const struct headgate_daemons_options *options, char *error,
                                                 size_t error_room);
/* Closes all connections, frees everything and sets *daemons to NULL. *daemons may be NULL. */
void headgate_daemons_destroy(struct headgate_daemons **daemons);

/*
 * Sends any CHECK or PEEK of docs/protocol.md without VERBOSE, as headgate_client_ask does. Returns
 *   HEADGATE_CLIENT_OK       *answer is filled, whether a daemon decided or not;
 *   HEADGATE_CLIENT_REFUSED  a daemon answered with an error: the request is wrong, or names an unknown rule;
 *   HEADGATE_CLIENT_PROTOCOL an answer has another form than expected;
 *   HEADGATE_CLIENT_USAGE, HEADGATE_CLIENT_FULL  the words are no such command, or too long.
 * But for OK, *answer says that nothing was decided, and refuses. Words with an IDEMPOTENCY_KEY of their own are sent
 * again with `resend` as others are.
 */
enum headgate_client_status headgate_daemons_ask(struct headgate_daemons *daemons, size_t count,
                                                 const char *const *words, struct headgate_daemons_answer *answer);

/* A sentence about the last failure of a daemon or of a call; "" before. Valid until the next call. */
const char *headgate_daemons_message(const struct headgate_daemons *daemons);

#ifdef __cplusplus
}
#endif

#endif
