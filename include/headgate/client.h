/*
 * client: asks a headgate daemon over TCP, blocking with a deadline or from any event loop.
 *
 * Blocking: create, connect, can_access / check / command, destroy. Every call returns within the client's timeout;
 * only looking up a host's name may take longer: use an address where that matters. In an event loop: create, start,
 * then watch headgate_client_fd for headgate_client_wanted; when it is ready, call headgate_client_step, then
 * headgate_client_poll until HEADGATE_CLIENT_AGAIN. headgate_client_queue may be called at any time.
 *
 * A client is one connection with buffers of fixed size, allocated at its creation; one thread at a time may use it.
 * After a fork one of both processes may use the connection; the other one closes it, or connects anew.
 * A client never reconnects by itself and never retries: a request whose reply was lost may have been granted.
 * Replies come in the order of the requests. Words are sent unchanged: a key may hold any byte.
 */
#ifndef HEADGATE_CLIENT_H
#define HEADGATE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct headgate_client;

enum headgate_client_status {
    HEADGATE_CLIENT_OK = 0,
    HEADGATE_CLIENT_AGAIN, /* no result yet: step when the descriptor is ready */
    HEADGATE_CLIENT_USAGE, /* the arguments are invalid, or the client's state does not allow the call */
    HEADGATE_CLIENT_FULL,  /* the queue is full: step and poll first; or the request is larger than the queue */
    HEADGATE_CLIENT_UNREACHABLE, /* the name is unknown, or no daemon listens there */
    HEADGATE_CLIENT_TIMEOUT,     /* the deadline passed; the connection is closed */
    HEADGATE_CLIENT_CLOSED,      /* not connected, or the connection was lost */
    HEADGATE_CLIENT_PROTOCOL, /* the peer does not speak RESP2, its reply exceeds a limit, or nobody asked; closed */
    HEADGATE_CLIENT_REFUSED   /* the daemon answered with an error; the connection stays usable */
};

struct headgate_client_options {
    const char *address;         /* "host:port", "[::1]:port" or "host"; NULL: 127.0.0.1:7070 */
    uint32_t timeout_ms;         /* the deadline of every blocking call; 0: 1000 */
    uint32_t reply_elements_max; /* most values in one reply, arrays included; 0: 1024 */
    size_t request_bytes_max;    /* most bytes queued and not yet sent; 0: 64 KiB */
    size_t reply_bytes_max;      /* most bytes of one reply; 0: 256 KiB */
    bool tls;                    /* the connection speaks TLS 1.2 or 1.3: for a port of listen.clients_tls */
    /* Paths of files in PEM, read at the creation; what is wrong with them is an error of connect and start. */
    const char *tls_ca; /* the authorities that daemons are signed by; NULL: those of the system */
    const char *tls_certificate, *tls_key; /* for daemons with tls.client_ca; NULL: none */
    const char *tls_name; /* the name that the daemon's certificate must have; NULL: the host of `address` */
};

/* Copies the options. `options` may be NULL: all defaults. NULL: memory is short. */
struct headgate_client *headgate_client_create(const struct headgate_client_options *options);

/* Closes the connection, frees the client and sets *client to NULL. *client may be NULL. */
void headgate_client_destroy(struct headgate_client **client);

/* A sentence about the last call that returned neither OK nor AGAIN; "" before. Valid until the
 * next call. */
const char *headgate_client_message(const struct headgate_client *client);

/* Closes the connection and drops all pending requests; the client may connect again. */
void headgate_client_close(struct headgate_client *client);

/* ---- replies ---- */

enum headgate_reply_kind {
    HEADGATE_REPLY_STATUS,
    HEADGATE_REPLY_ERROR,
    HEADGATE_REPLY_INTEGER,
    HEADGATE_REPLY_TEXT,
    HEADGATE_REPLY_NIL,
    HEADGATE_REPLY_ARRAY
};

/* A value of a reply. Its bytes belong to the client and are valid until the next call with that
 * client. */
struct headgate_reply {
    enum headgate_reply_kind kind;
    uint32_t count;   /* elements of an array */
    uint32_t span;    /* values in all, this value included: reply + span is the next sibling */
    int64_t integer;  /* of HEADGATE_REPLY_INTEGER */
    const char *text; /* of a status, an error or a text; followed by a zero that `size` does not count */
    size_t size;
};

/* Element `index` of an array; NULL: there is none, or `array` is no array. Walks over the elements
 * before it. */
const struct headgate_reply *headgate_reply_at(const struct headgate_reply *array, uint32_t index);

/* ---- blocking calls ---- */

/*
 * Connects; an open connection is dropped first. Of a host with several addresses each is tried. One that does not
 * answer takes all the time; the next call begins with the address behind it. So does the call after a connection that
 * answered none of its requests.
 */
enum headgate_client_status headgate_client_connect(struct headgate_client *client);

/*
 * Sends one command of `count` words and waits for its reply. `sizes` may be NULL if the words are
 * terminated strings. *reply becomes the reply for OK and for HEADGATE_CLIENT_REFUSED (an error),
 * and NULL otherwise. Returns HEADGATE_CLIENT_USAGE while replies to queued requests are pending.
 */
enum headgate_client_status headgate_client_command(struct headgate_client *client, size_t count,
                                                    const char *const *words, const size_t *sizes,
                                                    const struct headgate_reply **reply);

/* Spends `cost` tokens of `key` (a user's name) if the limit allows that now. */
enum headgate_client_status headgate_client_can_access(struct headgate_client *client, const char *key,
                                                       size_t key_size, uint64_t cost, bool *allowed);

/* The value of `limit` and `remaining` if nothing limits the request. */
#define HEADGATE_CLIENT_UNLIMITED UINT64_MAX

/* The answer to a check, valid at the moment of the answer. */
struct headgate_client_verdict {
    bool allowed;
    uint64_t limit;         /* tokens that the limit holds when full */
    uint64_t remaining;     /* tokens left of the whole limit, as far as this daemon knows */
    int64_t retry_after_ms; /* 0 if allowed; -1: never, at this cost */
    int64_t reset_after_ms; /* until the limit is full again if nobody spends */
    char rule[64];          /* the rule or limit that decided; "" if nothing limits the request */
};

/*
 * As headgate_client_can_access, with all figures. `id` is "user=alice", "ip=1.2.3.4" or a user's
 * name. `rule` names a limit; NULL: the default limit. With `spend` false nothing is spent.
 */
enum headgate_client_status headgate_client_check(struct headgate_client *client, const char *id, uint64_t cost,
                                                  const char *rule, bool spend,
                                                  struct headgate_client_verdict *verdict);

/*
 * Sends any CHECK or PEEK of docs/protocol.md without VERBOSE. words[0] is the command; ids and
 * options follow, for instance "CHECK", "user=alice", "ip=1.2.3.4", "SERVICE", "shop", "COST", "2".
 * The words are terminated strings.
 */
enum headgate_client_status headgate_client_ask(struct headgate_client *client, size_t count,
                                                const char *const *words, struct headgate_client_verdict *verdict);

/* Reads the reply to a CHECK or a PEEK without VERBOSE. False: it has another form. */
bool headgate_client_read_verdict(const struct headgate_reply *reply, struct headgate_client_verdict *verdict);

/* ---- reservations: requests whose cost is known only afterwards ---- */

struct headgate_client_reservation {
    struct headgate_client_verdict verdict; /* allowed: its tokens are held until the reservation ends */
    char id[64];                            /* its name for the calls below; "" if it was refused */
};

/*
 * Sends any RESERVE of docs/protocol.md without VERBOSE, for instance "RESERVE", "user=alice", "TTL", "5000", "COST",
 * "20". The words are terminated strings. Where the reply is lost, the tokens are held until the TTL is over.
 */
enum headgate_client_status headgate_client_reserve(struct headgate_client *client, size_t count,
                                                    const char *const *words,
                                                    struct headgate_client_reservation *reservation);

/*
 * Ends the reservation `id`: `cost` tokens were used, and the rest comes back; *charged becomes what was charged, which
 * is less than a cost beyond the reserved tokens where the limit had no more. HEADGATE_CLIENT_REFUSED: it had ended.
 */
enum headgate_client_status headgate_client_commit(struct headgate_client *client, const char *id, uint64_t cost,
                                                   uint64_t *charged);

/* Ends the reservation; all its tokens come back. *done false: it had ended. */
enum headgate_client_status headgate_client_cancel(struct headgate_client *client, const char *id, bool *done);

/* Lets the reservation end `ttl_ms` from now. *done false: it has ended, or cannot last so long and ends as before. */
enum headgate_client_status headgate_client_renew(struct headgate_client *client, const char *id, uint64_t ttl_ms,
                                                  bool *done);

/* ---- for event loops ---- */

enum { HEADGATE_CLIENT_READ = 1, HEADGATE_CLIENT_WRITE = 2 };

/* Begins to connect and returns at once with OK or an error. The connection is made when
 * headgate_client_step returns OK. */
enum headgate_client_status headgate_client_start(struct headgate_client *client);

/* The descriptor to watch; -1: there is no connection. A step may change it while the connection is
 * being made. */
int headgate_client_fd(const struct headgate_client *client);

/* The events to watch for: HEADGATE_CLIENT_READ and WRITE, or'ed. Every other call may change them. */
int headgate_client_wanted(const struct headgate_client *client);

/*
 * Does all work that needs no waiting. `events` are the descriptor's ready events; report an error
 * or a hangup as both. Returns AGAIN while the connection is being made, OK afterwards.
 */
enum headgate_client_status headgate_client_step(struct headgate_client *client, int events);

/* Queues one command for the next steps to send; copies the words. */
enum headgate_client_status headgate_client_queue(struct headgate_client *client, size_t count,
                                                  const char *const *words, const size_t *sizes);

/* Takes the next reply: OK or REFUSED with *reply, or AGAIN if none has arrived. */
enum headgate_client_status headgate_client_poll(struct headgate_client *client,
                                                 const struct headgate_reply **reply);

/* The number of queued requests whose replies were not polled yet. */
size_t headgate_client_pending(const struct headgate_client *client);

#ifdef __cplusplus
}
#endif

#endif
