/*
 * transport_close closes nng's sockets in a thread of their own, after their connections have
 * ended. The thread waits PATIENCE_NS for that, of the time in which this process runs; a socket
 * whose connections do not end stays open.
 */
#include "edge/peers/transport_state.h"

#include "edge/process/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { HOLDERS = 2, SOCKETS_MAX = TRANSPORT_REQUESTS_MAX + 3 };
/* The time in which connections must end. */
#define PATIENCE_NS ((uint64_t)2500 * 1000000)

/* Two holders: the caller of closing_create, and the thread. The last holder frees it. */
struct closing {
    /* held until all sockets are closed, because nng's threads report pipes until then */
    struct pipes *pipes;
    struct {
        nng_socket socket;
        nng_aio *sending;
    } item[SOCKETS_MAX];
    uint32_t count;
    atomic_bool done;
    atomic_uint holders;
};

static void close_one(nng_socket socket, nng_aio *sending)
{
    (void)nng_close(socket);
    if (!sending)
        return;
    nng_aio_stop(sending);
    /* The message of a request that was not sent still belongs to this file. */
    nng_msg *unsent = nng_aio_get_msg(sending);
    if (unsent)
        nng_msg_free(unsent);
    nng_aio_free(sending);
}

static void let_go(struct closing *closing)
{
    if (atomic_fetch_sub(&closing->holders, 1) == 1)
        free(closing);
}

static void *close_all(void *context)
{
    struct closing *closing = context;
    struct patience patience = patience_begin(PATIENCE_NS, clock_monotonic_ns());
    bool all = true;
    for (uint32_t i = 0; i < closing->count; i++)
        pipes_retire(closing->pipes, closing->item[i].socket);
    for (uint32_t i = 0; i < closing->count; i++) {
        bool none = pipes_await_none(closing->pipes, closing->item[i].socket, &patience);
        if (none)
            close_one(closing->item[i].socket, closing->item[i].sending);
        all &= none;
    }
    if (all)
        pipes_release(&closing->pipes);
    atomic_store(&closing->done, true);
    let_go(closing);
    return NULL;
}

struct closing *closing_create(struct pipes *pipes)
{
    struct closing *closing = calloc(1, sizeof *closing);
    if (!closing)
        return NULL;
    atomic_init(&closing->holders, HOLDERS);
    closing->pipes = pipes_hold(pipes);
    return closing;
}

void closing_add(struct closing *closing, nng_socket socket, nng_aio *sending)
{
    if (!closing)
        return;
    assert(closing->count < SOCKETS_MAX);
    closing->item[closing->count].socket = socket;
    closing->item[closing->count++].sending = sending;
}

void closing_begin(struct closing *closing)
{
    pthread_t thread;
    if (!closing)
        return;
    if (pthread_create(&thread, NULL, close_all, closing) == 0)
        (void)pthread_detach(thread);
    else {
        atomic_store(&closing->done, true); /* nobody waits for a thread that is not there */
        let_go(closing);
    }
}

bool closing_is_done(const struct closing *closing)
{
    return !closing || atomic_load(&closing->done);
}

void closing_forget(struct closing **closing)
{
    if (*closing)
        let_go(*closing);
    *closing = NULL;
}
