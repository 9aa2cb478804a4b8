/*
 * resolver: looks the addresses of a host up, in a thread that nobody waits for.
 *
 * The one idea: a name server that does not answer holds whoever asks it for some ten seconds, and nothing ends that
 * earlier. A thread of libuv's pool would hold the end of the process as well. So each lookup has a thread of its own,
 * which may outlive the one that asks: the asker gives the lookup up, and the thread frees what is left.
 */
#ifndef HEADGATE_EDGE_PROCESS_RESOLVER_H
#define HEADGATE_EDGE_PROCESS_RESOLVER_H

#include <netdb.h>
#include <stdbool.h>
#include <uv.h>

struct lookup;

/* One host at a time. One thread, that of the loop, may use a resolver. */
struct resolver {
    uv_async_t told;
    struct lookup *lookup; /* NULL: nothing is looked up */
    /*
     * Called in the loop. `why` NULL: there is one address at least. Else it says why there is none. Both are gone
     * after the call.
     */
    void (*resolved)(void *context, const char *why, const struct addrinfo *addresses);
    void *context;
};

/* False: no descriptor was left, and nothing needs closing. */
bool resolver_init(struct resolver *resolver, uv_loop_t *loop,
                   void (*resolved)(void *context, const char *why, const struct addrinfo *addresses),
                   void *context);
/*
 * Begins to look up addresses for TCP. False: a lookup is under way, or there is no memory or thread; nothing is called
 * back then.
 */
bool resolver_begin(struct resolver *resolver, const char *host, const char *port);
bool resolver_is_busy(const struct resolver *resolver);
/* Gives up what is looked up, without a call back. The resolver must stay until `closed` is called, from the loop. */
void resolver_close(struct resolver *resolver, uv_close_cb closed);

#endif
