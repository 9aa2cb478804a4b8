/*
 * listener_scene: a listener with real sockets in one process, its clients, and a service that
 * answers lines.
 *
 * The one idea: the loop turns only while a test waits for a condition.
 */
#ifndef HEADGATE_TESTS_LIB_LISTENER_SCENE_H
#define HEADGATE_TESTS_LIB_LISTENER_SCENE_H

#include "edge/clients/connection.h"
#include "edge/clients/listener.h"
#include "tests/lib/tap.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DEADLINE_MS = 60000, RECEIVED_MAX = 8 << 20 };

/*
 * ---- the service: it answers each line, and a line is work. "work N": N units of work. "big N":
 * an answer of N bytes. "late": answered only when listener_answer asks. "wait": answered when the
 * result is known. "delay": answered after a while. "feed": an answer that goes on. "who": makes the client
 * known. "quit": ends the connection ----
 */

enum { DELAY_MS = 150, ORDER_MAX = 4096 };

struct visit {
    uint64_t id;
    uint32_t lines;
    bool known;
};

extern struct listener listener;

struct seen_state {
    uint32_t opened, closed, served, answered;
    /* a client becomes known by "who"; otherwise by its first line */
    bool asks_who;
    uint64_t order[LISTENER_LATE_MAX]; /* ids of the connections that were answered late */
    /* the result that lines "wait" wait for is known */
    bool known;
    uint64_t unknown;  /* but the connection with this id must go on waiting */
    uint32_t fed;      /* pieces of answers that go on: piece N is "piece N\n", */
    size_t feed_bytes; /* or so many bytes if this is not 0 */
    bool feed_ends;    /* there is no further piece */
    bool session_was_zero;
    uint64_t writes; /* number of writes when the last line was served */
    uint64_t turn_of[ORDER_MAX], id_of[ORDER_MAX], work_of[ORDER_MAX],
        /* for each call of serve: the turn of the loop, the work, and the writes before */
        writes_of[ORDER_MAX];
    char address[LISTENER_ADDRESS_BYTES];
};
extern struct seen_state seen;

void on_open(void *context, void *session, uint64_t id, const char *address);

enum serve_status on_serve(void *context, void *session, struct bytes input, struct output *output,
                           struct serve_budget *budget, size_t *consumed);

/* ---- the scene ---- */

extern uv_loop_t scene_loop;
extern bool all_closed;
extern char *received;

void on_all_closed(void *context);

void note_closed(void *context);

void open_listener(const struct listener_options *options);

/* Turns the loop until `condition` holds or the deadline passes. The value is the condition. */
#define TURN_UNTIL(condition)                                                                                      \
    do {                                                                                                           \
        uint64_t turn_end = uv_hrtime() / 1000000 + DEADLINE_MS;                                                   \
        while (!(condition) && uv_hrtime() / 1000000 < turn_end) {                                                 \
            (void)uv_run(&scene_loop, UV_RUN_NOWAIT);                                                              \
            (void)poll(NULL, 0, 1);                                                                                \
        }                                                                                                          \
    } while (0)

void close_listener(void);

int dial(void);
int dial_port(uint16_t port);
/* From an address of the loopback network. */
int dial_from(uint32_t from, uint16_t port);

void scene_say(int fd, const char *text, size_t size);

/*
 * Reads until `size` bytes have come, or the end, or the deadline. Returns the number of bytes; -1
 * - errno for a reset.
 */
ssize_t hear(int fd, size_t size, bool *ended);

bool hears(int fd, const char *text);

bool hears_end(int fd);

/*
 * Connects `count` new clients, each of which was served once and so is light. Counts of reads and
 * writes begin anew.
 */
void dial_light(int *fd, uint32_t count);

#endif
