/*
 * central_wire: a wire to no store: a test sees what is asked, and answers it when it likes.
 */
#ifndef HEADGATE_TESTS_LIB_CENTRAL_WIRE_H
#define HEADGATE_TESTS_LIB_CENTRAL_WIRE_H

#include "edge/central/central.h"

enum { CENTRAL_SENT_MAX = 4096 };

/* Calls in the order in which they were sent. */
struct central_sent {
    uint32_t ticket;
    enum central_way way;
    uint32_t count;
    struct central_charge charge[CHARGES_MAX];
};

struct test_wire {
    struct central *central;
    bool broken; /* nothing can be sent */
    uint64_t now_ns;     /* when answers come: the test sets it, where it matters */
    uint64_t extra_most; /* so much of what is wished in advance is granted */
    uint32_t sent_count, news;
    struct central_sent sent[CENTRAL_SENT_MAX];
};
extern struct test_wire test_wire;

/* Makes test_wire.central, whose store has answered a probe. */
void test_wire_open(uint64_t timeout_ns, uint64_t now_ns);
void test_wire_close(void);
/* The call that was sent last. */
struct central_sent *test_wire_last(void);
/* Answers a call: all its charges have so many tokens left, and are allowed or not. */
void test_wire_answer(const struct central_sent *sent, bool allowed, uint64_t remaining);

#endif
