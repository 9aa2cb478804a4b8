/*
 * load: sends requests to several daemons at once and measures how fast and how exactly they
 * answer.
 *
 * The one idea: one thread, one epoll loop, requests copied from a prepared one, replies compared
 * rather than parsed. At a given rate the schedule does not wait for answers: latency counts from
 * the moment at which a request was due, so that a daemon that stalls is charged for the requests
 * of that time. With --max each connection keeps its pipeline full.
 *
 * Times are nanoseconds of the monotonic clock since the run began.
 */
#ifndef HEADGATE_OPERATOR_LOAD_H
#define HEADGATE_OPERATOR_LOAD_H

#include "base/histogram.h"
#include "base/random.h"
#include "base/zipf.h"
#include "limit/accuracy.h"
#include "limit/named_limit.h"
#include "operator/command.h"
#include "wire/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>

enum {
    LOAD_TARGETS_MAX = 64,
    LOAD_CONNECTIONS_MAX = 4096, /* of all targets together */
    LOAD_PIPELINE_MAX = 1 << 16,
    LOAD_JUDGED_KEYS_MAX = 1000000, /* with more keys, requests are counted but accuracy is not judged */
    LOAD_ADDRESS_BYTES = 128,
    LOAD_KEY_BYTES = 200,
    LOAD_REQUEST_BYTES = 1024,
    LOAD_INPUT_BYTES = 16 << 10,
    LOAD_HOLES_MAX = 8,
};

enum load_command { LOAD_CAN_ACCESS, LOAD_CHECK, LOAD_PING, LOAD_SEND };

/* The command line; the strings are argv's. */
struct load_options {
    char target[LOAD_TARGETS_MAX][LOAD_ADDRESS_BYTES];
    uint32_t target_count;
    const char *key;    /* the name of a single key; NULL: keys named by prefix and number */
    const char *prefix; /* NULL: a prefix that no other run uses */
    uint32_t keys;
    bool in_order; /* true: keys 0, 1, 2 ... and round again; false: keys drawn at random */
    double zipf;
    double rate; /* requests per second to all targets together; 0: as fast as possible */
    bool poisson;
    bool busy;            /* true: never sleeps */
    uint32_t connections; /* per target */
    uint32_t pipeline;    /* requests in flight per connection */
    double seconds, warmup;
    uint64_t cost;
    enum load_command command;
    const char *send; /* LOAD_SEND: the words of the request */
    const char *rule;
    struct command_access access;
    uint64_t burst; /* requests to each target, once; 0: no burst */
    uint64_t seed;
    bool json, histogram, quiet, progress, expect_bound, no_accuracy;
    /* The limit, if the daemon is not to be asked for it; `declared` may be millionths of the
     * capacity. */
    uint64_t capacity, limit_rate, limit_period_ns, declared;
    bool capacity_given, rate_given, declared_given, declared_is_part;
};

struct load_request {
    uint64_t intended_ns; /* when the request was due: latency counts from here */
    uint64_t sent_ns;     /* a time not later than the sending */
    uint32_t key;
};

struct load_connection {
    struct load_target *target;
    int fd;                 /* -1: not connected */
    bool ready;             /* the connection is made */
    bool greets;            /* it is made but for the handshake of TLS */
    struct client_tls *tls; /* NULL: it speaks in clear */
    bool writing;           /* the socket is full: wait until it is writable */
    uint32_t skip;          /* replies still to come that belong to no request but to AUTH */
    uint64_t retry_ns;
    uint64_t burst_left;
    char *output;
    size_t output_start, output_end;
    char *input;
    size_t input_end;
    struct load_request *ring; /* the requests in flight, in order */
    uint32_t head, count;
};

struct load_target {
    const char *name;
    char host[LOAD_ADDRESS_BYTES]; /* of the name */
    struct sockaddr_storage address;
    socklen_t address_size;
    struct load_connection *connection;
    uint32_t next_connection;
    double next_ns; /* when the next request is due */
    bool blocked;   /* requests are due, and no connection has room */
    /* Counts since the run began, warm-up included. */
    uint64_t answered, admitted, refused, errors;
    uint64_t lost;   /* in flight when their connection ended: whether they were admitted is unknown */
    uint64_t unsent; /* due but not sent, because no connection was there or the run ended first */
    uint64_t reconnects;
};

struct load {
    struct load_options options;
    struct load_target target[LOAD_TARGETS_MAX];
    struct load_connection *connections; /* connections of all targets, target by target */
    uint32_t connection_count, ready_count;
    int epoll;
    uint64_t origin_ns; /* the monotonic clock at time 0 of the run */
    bool sending;       /* new requests may be sent */
    char request[LOAD_REQUEST_BYTES];
    size_t request_size, digits_at[LOAD_HOLES_MAX];
    uint32_t hole_count;
    uint32_t digit_count; /* 0: one key, no digits to fill in */
    uint32_t next_key;    /* the next key if keys are asked for in order */
    char key_prefix[LOAD_KEY_BYTES];
    struct random random;
    struct zipf *zipf; /* NULL: all keys are equally likely */
    struct reply_node node[16];
    struct reply_parser parser;
    /* Measurements after the warm-up. */
    uint64_t measure_from_ns;
    /* `latency_tick` has the requests since the last progress line, not yet added to `latency`. */
    struct histogram *latency, *latency_tick;
    struct histogram *late; /* for requests to connections with room: the time from being due to being sent */
    uint64_t measured;
    /* The judgement includes the warm-up, since the daemons count it, too. */
    struct named_limit limit;
    bool limit_known;
    struct accuracy_limit judged_limit;
    struct accuracy *accuracy; /* one for each key; NULL: accuracy is not judged */
    uint64_t pending_ns;       /* see accuracy_record */
    uint64_t last_reply_ns;
    uint64_t send_end_ns; /* the time at which sending ended */
    char first_error[200];
};

/* ---- load_setup.c ---- */

/* Learns the limits and addresses and allocates everything. Returns an exit status; a status other
 * than 0 was explained on stderr. */
int load_open(struct load *load);
void load_close(struct load *load);

/* ---- load_stream.c ---- */

/* Makes room for the connection's TLS, if it is to speak it; false: memory is short, or a file is wrong. */
bool load_stream_init(const struct load *load, struct load_connection *connection);
void load_stream_close(struct load_connection *connection);
/* As send(2) and recv(2) without waiting; after -1, load_stream_sentence says why. */
ssize_t load_stream_send(struct load_connection *connection, const char *data, size_t size);
ssize_t load_stream_receive(struct load_connection *connection, char *data, size_t room);
const char *load_stream_sentence(const struct load_connection *connection);
/* Bytes have come that no event of epoll will tell of. */
bool load_stream_holds(const struct load_connection *connection);

/* ---- load_connection.c ---- */

uint64_t load_now(const struct load *load);

/* Begins to connect; a failure shows as an event or is tried again. */
void load_connection_begin(struct load *load, struct load_connection *connection, uint64_t now_ns);
/* Writes one request into the output. The connection must be ready and have room in its ring. */
void load_connection_request(struct load *load, struct load_connection *connection, uint64_t intended_ns,
                             uint64_t now_ns);
/* Sends the output as far as the socket takes it. */
void load_connection_flush(struct load *load, struct load_connection *connection);
/* Handles an event of epoll. */
void load_connection_event(struct load *load, struct load_connection *connection, uint32_t events);

/* ---- load_loop.c ---- */

/* Runs to the end. Returns an exit status; a status other than 0 was explained on stderr. */
int load_run(struct load *load);

/* ---- load_report.c ---- */

struct load_judgement {
    uint64_t admitted, ideal; /* tokens, summed over all keys */
    double utilisation;
    double overshoot, overshoot_by_replies; /* of the key with the largest overshoot */
    uint32_t worst_key;
    double bound;      /* capacity + rate * elapsed + declared: the most that one key may have been granted */
    bool within_bound; /* true: for every key the overshoot is certainly at most the declared one */
};

void load_judge(const struct load *load, struct load_judgement *judgement);
/* Writes "key:0000042" into `room` bytes; LOAD_KEY_BYTES + 16 suffice. */
void load_key_name(const struct load *load, uint32_t key, char *out, size_t room);
void load_progress(struct load *load, double seconds, uint64_t requests);
void load_report(const struct load *load);

#endif
