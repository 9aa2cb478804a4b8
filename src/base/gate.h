/*
 * gate: a lock that many threads hold at once, or one thread by itself.
 *
 * The one idea: a thread that enters raises its own flag, on its own cache line, and looks whether the gate is
 * closed; a thread that closes the gate waits until all other flags are down. Entering costs one store and one
 * load, on no line that other threads write; closing waits for the slowest thread inside. A thread that closes the
 * gate, or that finds it closed, draws a ticket, and tickets are served in order: so a thread that closes the gate
 * again and again keeps another thread out only once each time. Each thread has a number. The gate does
 * not order the threads inside among each other: they need other locks for shared data.
 */
#ifndef HEADGATE_BASE_GATE_H
#define HEADGATE_BASE_GATE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GATE_THREADS_MAX = 64, GATE_LINE_BYTES = 64 };

struct gate_thread {
    alignas(GATE_LINE_BYTES) atomic_bool inside;
    atomic_uint_least64_t turned_away; /* how often it found the gate closed */
};

struct gate {
    uint32_t threads;
    atomic_bool closed;
    atomic_uint_least64_t closed_count,
        waited_count; /* how often the gate was closed; how often the closing thread had to wait */
    atomic_uint_least32_t tickets, serves; /* tickets drawn; the ticket whose turn it is, from 0 */
    atomic_uint_least32_t sleepers;        /* threads that wait for their turn on `served` */
    pthread_mutex_t mutex;
    pthread_cond_t served;
    struct gate_thread thread[GATE_THREADS_MAX];
};

/* An open gate for threads of the numbers 0 to `threads` - 1. False: the system cannot make a mutex or a condition. */
bool gate_init(struct gate *gate, uint32_t threads);
void gate_destroy(struct gate *gate);

/* From here to gate_leave no thread has the gate closed. `thread` must be the caller's, and outside. May wait. */
void gate_enter(struct gate *gate, uint32_t thread);
void gate_leave(struct gate *gate, uint32_t thread);

/*
 * From here to gate_open no other thread is inside. A caller that was inside leaves first, so other threads may
 * close the gate before it does. The same thread must not close the gate twice.
 */
void gate_close(struct gate *gate, uint32_t thread);
/* `inside`: the caller is inside afterwards, and no other thread can close the gate in between. */
void gate_open(struct gate *gate, uint32_t thread, bool inside);

#endif
