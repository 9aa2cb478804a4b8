#include "edge/process/resolver.h"

#include "base/host_port.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Held by the resolver and by the thread. The lock guards `told` and `is_done`. */
struct lookup {
    char host[NI_MAXHOST], port[PORT_TEXT_BYTES];
    pthread_mutex_t lock;
    uv_async_t *told; /* NULL: given up */
    bool is_done;     /* `why` and `addresses` are the resolver's */
    const char *why;  /* of the C library; NULL: there are addresses */
    struct addrinfo *addresses;
    atomic_uint holders;
};

static void release(struct lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->holders, 1) > 1)
        return;
    if (lookup->addresses != NULL)
        freeaddrinfo(lookup->addresses);
    (void)pthread_mutex_destroy(&lookup->lock);
    free(lookup);
}

static void *look_up(void *argument)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct lookup *lookup = argument;
    struct addrinfo *addresses = NULL;
    const int failed = getaddrinfo(lookup->host, lookup->port, &wanted, &addresses);
    const char *why = failed == EAI_SYSTEM ? strerrordesc_np(errno) : gai_strerror(failed);
    if (failed == 0)
        lookup->addresses = addresses;
    else
        lookup->why = why != NULL ? why : "the system has failed";
    (void)pthread_mutex_lock(&lookup->lock);
    lookup->is_done = true;
    if (lookup->told != NULL)
        (void)uv_async_send(lookup->told);
    (void)pthread_mutex_unlock(&lookup->lock);
    release(lookup);
    return NULL;
}

/* Signals are for the threads that expect them. */
static bool start_thread(struct lookup *lookup)
{
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    const bool started = pthread_create(&thread, NULL, look_up, lookup) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_detach(thread);
    return started;
}

static void on_told(uv_async_t *handle)
{
    struct resolver *resolver = handle->data;
    struct lookup *lookup = resolver->lookup;
    if (lookup == NULL)
        return;
    (void)pthread_mutex_lock(&lookup->lock);
    const bool is_done = lookup->is_done;
    (void)pthread_mutex_unlock(&lookup->lock);
    if (!is_done)
        return;
    resolver->lookup = NULL;
    resolver->resolved(resolver->context, lookup->why, lookup->addresses);
    release(lookup);
}

bool resolver_init(struct resolver *resolver, uv_loop_t *loop,
                   void (*resolved)(void *context, const char *why, const struct addrinfo *addresses),
                   void *context)
{
    *resolver = (struct resolver){.resolved = resolved, .context = context};
    if (uv_async_init(loop, &resolver->told, on_told) != 0)
        return false;
    resolver->told.data = resolver;
    return true;
}

bool resolver_begin(struct resolver *resolver, const char *host, const char *port)
{
    if (resolver->lookup != NULL)
        return false;
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL)
        return false;
    (void)snprintf(lookup->host, sizeof lookup->host, "%s", host);
    (void)snprintf(lookup->port, sizeof lookup->port, "%s", port);
    (void)pthread_mutex_init(&lookup->lock, NULL);
    lookup->told = &resolver->told;
    atomic_init(&lookup->holders, 2);
    if (start_thread(lookup)) {
        resolver->lookup = lookup;
        return true;
    }
    atomic_store(&lookup->holders, 1);
    release(lookup);
    return false;
}

bool resolver_is_busy(const struct resolver *resolver)
{
    return resolver->lookup != NULL;
}

void resolver_close(struct resolver *resolver, uv_close_cb closed)
{
    struct lookup *lookup = resolver->lookup;
    resolver->lookup = NULL;
    if (lookup != NULL) {
        (void)pthread_mutex_lock(&lookup->lock);
        lookup->told = NULL;
        (void)pthread_mutex_unlock(&lookup->lock);
        release(lookup);
    }
    uv_close((uv_handle_t *)&resolver->told, closed);
}
