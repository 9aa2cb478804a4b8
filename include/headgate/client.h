/*
 * client: asks a headgate daemon over TCP, blocking with a deadline or from any event loop.
 *
 * Blocking: create, connect, can_access / check / command, destroy. Every call returns within the client's
 * timeout (looking up a host's name may take longer: use an address where that matters).
 *
 * In an event loop: create, start, then watch headgate_client_fd for headgate_client_wanted, and whenever it is
 * ready: headgate_client_step, then headgate_client_poll until HEADGATE_CLIENT_AGAIN. headgate_client_queue may
 * be called at any time, also before the connection stands; replies come in the order of the requests.
 *
 * A client is one connection with buffers of fixed size, allocated when it is created. It is used by one thread
 * at a time; different clients are independent. It never reconnects by itself and never retries: a request whose
 * reply was lost may have been granted. Bytes are sent as they are: a key may hold any byte.
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
    HEADGATE_CLIENT_AGAIN,       /* nothing yet: step when the descriptor is ready */
    HEADGATE_CLIENT_USAGE,       /* the arguments make no sense, or the call does not fit the client's state */
    HEADGATE_CLIENT_FULL,        /* no room to queue: step and poll first; or a request that can never fit */
    HEADGATE_CLIENT_UNREACHABLE, /* the name is unknown, or nobody listens there */
    HEADGATE_CLIENT_TIMEOUT,     /* the deadline passed; the connection was closed */
    HEADGATE_CLIENT_CLOSED,      /* not connected, or the connection was lost */
    HEADGATE_CLIENT_PROTOCOL,    /* the other end does not speak RESP2, or its reply is over the limit; closed */
    HEADGATE_CLIENT_REFUSED      /* the daemon answered with an error; the connection goes on */
};

struct headgate_client_options {
    const char *address;         /* "host:port", "[::1]:port" or "host"; NULL: 127.0.0.1:7070 */
    uint32_t timeout_ms;         /* of every blocking call; 0: 1000 */
    uint32_t reply_elements_max; /* values in one reply, arrays counted as well; 0: 1024 */
    size_t request_bytes_max;    /* queued and not yet sent; 0: 64 KiB */
    size_t reply_bytes_max;      /* of one reply; 0: 256 KiB */
};

/* Copies what it needs. NULL when memory is short. `options` may be NULL: all defaults. */
struct headgate_client *headgate_client_create(const struct headgate_client_options *options);

/* Closes the connection, frees the client and sets *client to NULL. *client may be NULL. */
void headgate_client_destroy(struct headgate_client **client);

/* A sentence about the last call that did not return OK or AGAIN; "" before. Valid until the next call. */
const char *headgate_client_message(const struct headgate_client *client);

/* Drops the connection with all that is pending; the client can connect again. */
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

/* A value of a reply. Its bytes lie in the client: valid until the next call with that client. */
struct headgate_reply {
    enum headgate_reply_kind kind;
    uint32_t count;   /* elements of an array */
    uint32_t span;    /* values in all, itself included: reply + span is its next sibling */
    int64_t integer;  /* of HEADGATE_REPLY_INTEGER */
    const char *text; /* of a status, an error or a text: terminated by a zero, which `size` does not count */
    size_t size;
};

/* Element `index` of an array, or NULL when there is none or `array` is no array. Walks over those before it. */
const struct headgate_reply *headgate_reply_at(const struct headgate_reply *array, uint32_t index);

/* ---- blocking calls ---- */

/* Connects anew, dropping a connection that stands. */
enum headgate_client_status headgate_client_connect(struct headgate_client *client);

/*
 * Sends one command of `count` words and waits for its reply. `sizes` may be NULL: the words are terminated
 * strings. With HEADGATE_CLIENT_REFUSED, too, *reply is the reply (an error); otherwise NULL.
 * Not while replies to queued requests are pending (HEADGATE_CLIENT_USAGE).
 */
enum headgate_client_status headgate_client_command(struct headgate_client *client, size_t count,
                                                    const char *const *words, const size_t *sizes,
                                                    const struct headgate_reply **reply);

/* May `key` (a user's name) spend `cost` tokens now? If so, they are spent. */
enum headgate_client_status headgate_client_can_access(struct headgate_client *client, const char *key,
                                                       size_t key_size, uint64_t cost, bool *allowed);

/* As `limit` and `remaining`: nothing limits this request. */
#define HEADGATE_CLIENT_UNLIMITED UINT64_MAX

/* What a check says, as of the moment of the answer. */
struct headgate_client_verdict {
    bool allowed;
    uint64_t limit; /* tokens that the limit holds when full */
    uint64_t
        remaining; /* tokens that this daemon could still hand out now, by itself: not what is left of it all */
    int64_t retry_after_ms; /* 0 if allowed; -1: never, with this cost */
    int64_t reset_after_ms; /* until the limit is full again if nobody spends */
    char rule[64];          /* the rule that decided, or the limit's name; "" where nothing limits */
};

/*
 * The same with all figures. `id` is "user=alice", "ip=1.2.3.4" or a user's name; `rule` names a limit, NULL:
 * the default one. `spend` false only looks.
 */
enum headgate_client_status headgate_client_check(struct headgate_client *client, const char *id, uint64_t cost,
                                                  const char *rule, bool spend,
                                                  struct headgate_client_verdict *verdict);

/*
 * Any CHECK or PEEK, as docs/protocol.md has them, without VERBOSE: words[0] is the command, then ids and options,
 * e.g. "CHECK", "user=alice", "ip=1.2.3.4", "SERVICE", "shop", "COST", "2". The words are terminated strings.
 */
enum headgate_client_status headgate_client_ask(struct headgate_client *client, size_t count,
                                                const char *const *words, struct headgate_client_verdict *verdict);

/* ---- for event loops ---- */

enum { HEADGATE_CLIENT_READ = 1, HEADGATE_CLIENT_WRITE = 2 };

/* Begins to connect and returns at once (OK or an error); it is done when headgate_client_step says OK. */
enum headgate_client_status headgate_client_start(struct headgate_client *client);

/* What to watch; -1 when there is no connection. May change in a step while the connection is being made. */
int headgate_client_fd(const struct headgate_client *client);

/* What to watch it for: HEADGATE_CLIENT_READ and WRITE, or'ed. Ask again after every other call. */
int headgate_client_wanted(const struct headgate_client *client);

/*
 * Does what can be done without waiting. `events` is what the descriptor is ready for (an error or a hangup
 * counts as both). AGAIN while the connection is being made, OK when it stands.
 */
enum headgate_client_status headgate_client_step(struct headgate_client *client, int events);

/* Queues one command, to be sent by the next steps; the words are copied. */
enum headgate_client_status headgate_client_queue(struct headgate_client *client, size_t count,
                                                  const char *const *words, const size_t *sizes);

/* The next reply, if it is there: OK or REFUSED with *reply, AGAIN without. */
enum headgate_client_status headgate_client_poll(struct headgate_client *client,
                                                 const struct headgate_reply **reply);

/* Requests that were queued and whose replies were not polled yet. */
size_t headgate_client_pending(const struct headgate_client *client);

#ifdef __cplusplus
}
#endif

#endif
