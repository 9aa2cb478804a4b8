/*
 * gate: many threads inside at once, or one alone.
 *
 * The one idea: whoever goes in raises a flag of his own, on a cache line of his own, and looks whether the gate is
 * closed; whoever closes it waits until all other flags are down. Going in costs one store and one load, and no line
 * that others write; being alone costs as long as the slowest of the others stays inside. Each thread has a number, its
 * lane. It does not order those inside among each other: they need locks of their own for what they share.
 */
#ifndef HEADGATE_BASE_GATE_H
#define HEADGATE_BASE_GATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GATE_LANES_MAX = 64, GATE_LINE_BYTES = 64 };

struct gate_lane {
    alignas(GATE_LINE_BYTES) atomic_bool inside;
    atomic_uint_least64_t turned_away; /* how often it found the gate closed */
};

struct gate {
    uint32_t lanes;
    atomic_bool closed;
    atomic_uint_least64_t closed_count,
        waited_count;      /* how often it was closed; and somebody had to be waited for */
    pthread_mutex_t alone; /* held by whoever has closed it */
    struct gate_lane lane[GATE_LANES_MAX];
};

/* Open, with lanes 0 to `lanes` - 1. False: the system has no mutex to give. */
bool gate_init(struct gate *gate, uint32_t lanes);
void gate_destroy(struct gate *gate);

/* From here to gate_leave nobody is alone. The lane is the caller's, and outside. May wait. */
void gate_enter(struct gate *gate, uint32_t lane);
void gate_leave(struct gate *gate, uint32_t lane);

/*
 * From here to gate_open nobody else is inside. A caller who was inside is out meanwhile: others may be alone
 * before he is. Not twice by the same thread.
 */
void gate_close(struct gate *gate, uint32_t lane);
/* `inside`: as if gate_enter came next, but nobody can be alone in between. */
void gate_open(struct gate *gate, uint32_t lane, bool inside);

#endif
