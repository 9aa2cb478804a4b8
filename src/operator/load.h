/*
 * load: sends requests to several daemons at once and measures how fast and how exactly they answer.
 *
 * The one idea: one thread, one epoll loop, requests that are copied from a prepared one, replies that are
 * compared rather than parsed. At a given rate the schedule does not wait for answers: latency counts from
 * the moment at which a request should have been sent, so that a daemon that stalls is not spared the requests
 * of that time. With --max each connection keeps its pipeline full.
 *
 * Time is nanoseconds of the monotonic clock since the run began.
 */
#ifndef HEADGATE_OPERATOR_LOAD_H
#define HEADGATE_OPERATOR_LOAD_H

#include "base/histogram.h"
#include "base/random.h"
#include "base/zipf.h"
#include "limit/accuracy.h"
#include "limit/named_limit.h"
#include "wire/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>

enum {
    LOAD_TARGETS_MAX = 64,
    LOAD_CONNECTIONS_MAX = 4096, /* of all targets */
    LOAD_PIPELINE_MAX = 1 << 16,
    LOAD_JUDGED_KEYS_MAX = 1000000, /* above, requests are counted but accuracy is not judged */
    LOAD_ADDRESS_BYTES = 128,
    LOAD_KEY_BYTES = 200,
    LOAD_REQUEST_BYTES = 1024,
    LOAD_INPUT_BYTES = 16 << 10,
    LOAD_HOLES_MAX = 8,
};

enum load_command { LOAD_CAN_ACCESS, LOAD_CHECK, LOAD_PING, LOAD_SEND };

/* What the command line says; the strings are argv's. */
struct load_options {
    char target[LOAD_TARGETS_MAX][LOAD_ADDRESS_BYTES];
    uint32_t target_count;
    const char *key;    /* one key of that name; NULL: keys named prefix and number */
    const char *prefix; /* NULL: one that no other run uses */
    uint32_t keys;
    bool in_order; /* key 0, 1, 2 ... and round again, rather than drawn */
    double zipf;
    double rate; /* requests a second to all targets together; 0: as fast as possible */
    bool poisson;
    bool busy;            /* never sleeps */
    uint32_t connections; /* per target */
    uint32_t pipeline;    /* requests in flight per connection */
    double seconds, warmup;
    uint64_t cost;
    enum load_command command;
    const char *send; /* LOAD_SEND: the words */
    const char *rule;
    uint64_t burst; /* requests to each target, once; 0: no burst */
    uint64_t seed;
    bool json, histogram, quiet, progress, expect_bound, no_accuracy;
    /* What the limit is, where the daemon is not to be asked; `declared` may be in millionths of the capacity. */
    uint64_t capacity, limit_rate, limit_period_ns, declared;
    bool capacity_given, rate_given, declared_given, declared_is_part;
};

struct load_request {
    uint64_t intended_ns; /* when it should have been sent: latency counts from here */
    uint64_t sent_ns;     /* not later than it was sent */
    uint32_t key;
};

struct load_connection {
    struct load_target *target;
    int fd;        /* -1: not connected */
    bool ready;    /* the connection stands */
    bool writing;  /* the socket was full: wait until it is not */
    uint32_t skip; /* replies to come that belong to no request: to AUTH */
    uint64_t retry_ns;
    uint64_t burst_left;
    char *output;
    size_t output_start, output_end;
    char *input;
    size_t input_end;
    struct load_request *ring; /* in flight, in order */
    uint32_t head, count;
};

struct load_target {
    const char *name;
    struct sockaddr_storage address;
    socklen_t address_size;
    struct load_connection *connection;
    uint32_t next_connection;
    double next_ns; /* when the next request is due */
    bool blocked;   /* some are due, and wait until a connection has room */
    /* Counted since the run began, warm-up included: */
    uint64_t answered, admitted, refused, errors;
    uint64_t lost;   /* in flight when their connection ended: nobody knows whether they were admitted */
    uint64_t unsent; /* due, and not sent because there was no connection or the end came first */
    uint64_t reconnects;
};

struct load {
    struct load_options options;
    struct load_target target[LOAD_TARGETS_MAX];
    struct load_connection *connections; /* of all targets, target by target */
    uint32_t connection_count, ready_count;
    int epoll;
    uint64_t origin_ns; /* of the monotonic clock: the run's time 0 */
    bool sending;       /* new requests may be sent */
    char request[LOAD_REQUEST_BYTES];
    size_t request_size, digits_at[LOAD_HOLES_MAX];
    uint32_t hole_count;
    uint32_t digit_count; /* 0: one key, nothing to fill in */
    uint32_t next_key;    /* of those that are asked for in order */
    char key_prefix[LOAD_KEY_BYTES];
    struct random random;
    struct zipf *zipf; /* NULL: all keys alike */
    struct reply_node node[16];
    struct reply_parser parser;
    /* What is measured after the warm-up: */
    uint64_t measure_from_ns;
    struct histogram *latency, *latency_tick; /* _tick: since the last progress line, not yet in the other */
    struct histogram *late; /* how long after they were due requests were sent to connections that were free */
    uint64_t measured;
    /* What is judged, warm-up included: the daemons count it, too. */
    struct named_limit limit;
    bool limit_known;
    struct accuracy_limit judged_limit;
    struct accuracy *accuracy; /* one per key; NULL: not judged */
    uint64_t pending_ns;       /* see accuracy_record */
    uint64_t first_sent_ns, last_reply_ns;
    uint64_t send_end_ns; /* when sending ended */
    char first_error[200];
};

/* ---- load_setup.c ---- */

/* Learns the limits and the addresses and makes everything ready. An exit status; not 0: told on stderr. */
int load_open(struct load *load);
void load_close(struct load *load);

/* ---- load_connection.c ---- */

uint64_t load_now(const struct load *load);

/* Begins to connect; failures show as an event or are tried again. */
void load_connection_begin(struct load *load, struct load_connection *connection, uint64_t now_ns);
/* Writes one request into the output; the connection is ready and has room in its ring. */
void load_connection_request(struct load *load, struct load_connection *connection, uint64_t intended_ns,
                             uint64_t now_ns);
/* Sends what is in the output. */
void load_connection_flush(struct load *load, struct load_connection *connection);
/* Handles what epoll reported. */
void load_connection_event(struct load *load, struct load_connection *connection, uint32_t events);

/* ---- load_loop.c ---- */

/* Runs to the end. An exit status; not 0: told on stderr. */
int load_run(struct load *load);

/* ---- load_report.c ---- */

struct load_judgement {
    uint64_t admitted, ideal; /* tokens, of all keys */
    double utilisation;
    double overshoot, overshoot_by_replies; /* of the worst key */
    uint32_t worst_key;
    double bound;      /* capacity + rate * elapsed + declared: what one key may have been granted at most */
    bool within_bound; /* of every key: the overshoot is certainly not above the declared one */
};

void load_judge(const struct load *load, struct load_judgement *judgement);
/* "key:0000042", into LOAD_KEY_BYTES + 16. */
void load_key_name(const struct load *load, uint32_t key, char *out, size_t room);
void load_progress(struct load *load, double seconds, uint64_t requests);
void load_report(const struct load *load);

#endif
