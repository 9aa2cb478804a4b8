/*
 * transport_tunnel: TLS between this process and its peers, under nng.
 *
 * The one idea: nng 1.5.2 speaks TLS itself, but a connection that ends while it sends or reads hangs all
 * of nng for good. So nng speaks in clear, with this process only, at ports of 127.0.0.1; a thread here
 * carries the bytes between those connections and TLS. It demands a certificate on both sides, knows the
 * names in it, and lets nng's ports take nothing that it has not brought. It does not know what the
 * bytes mean, and keeps a bounded number of them.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_TUNNEL_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_TUNNEL_H

#include "base/error.h"
#include "edge/peers/endpoint.h"
#include "edge/peers/transport_contact.h"
#include "edge/peers/transport_tls.h"

#include <stdbool.h>
#include <stdint.h>

/* Where nng is; 0: the system chooses the port. */
#define TUNNEL_URL "tcp://127.0.0.1:%u"

enum tunnel_port { TUNNEL_GOSSIP, TUNNEL_SNAPSHOTS, TUNNEL_PORTS };

enum {
    /* members that are dialled, each at two addresses, and some that have moved */
    TUNNEL_ROUTES_MAX = 160,
    TUNNEL_CONNECTIONS_MAX = 480,
    TUNNEL_FILES_MAX = TUNNEL_ROUTES_MAX + 2 * TUNNEL_CONNECTIONS_MAX + 40,
};

struct tunnel_stats {
    uint64_t refused; /* connections without a place */
    uint64_t cut;     /* connections that were no peer's, or not in time */
};

struct tunnel;

/* Starts the thread. The caller is the first holder. NULL: no memory, descriptor or thread was left. */
struct tunnel *tunnel_create(struct transport_tls *tls);
struct tunnel *tunnel_hold(struct tunnel *tunnel);
/* The last holder frees it; it must be stopped then. NULL is nobody's. */
void tunnel_release(struct tunnel **tunnel);
/* Ends all connections, and waits for the thread, which waits for nobody. Other calls do nothing then. */
void tunnel_stop(struct tunnel *tunnel);

/* New connections use `tls`; those that are there end. */
void tunnel_renew(struct tunnel *tunnel, struct transport_tls *tls);

/* Brings what comes to `address` ("host:port") to a port of nng. Returns 0 or an errno; EINVAL: no such address. */
int tunnel_listen(struct tunnel *tunnel, enum tunnel_port port, const char *address, uint16_t inner_port);
/* The port at which nng finds the member `name` of `address`; 0: no descriptor was left. */
uint16_t tunnel_route(struct tunnel *tunnel, const char *name, const char *address);

/* True: the connection of nng with that remote end comes from a peer. */
bool tunnel_has_brought(struct tunnel *tunnel, const struct endpoint *remote);
/* The names of that peer; "": the connection has ended. */
void tunnel_names(struct tunnel *tunnel, const struct endpoint *remote, char names[TRANSPORT_NAMES_BYTES]);

/* What the kernel counts of the connection with the peer that nng has dialled from that end. False: there is none. */
bool tunnel_arrivals(struct tunnel *tunnel, const struct endpoint *inner_remote, struct arrivals *arrivals);

/*
 * What was found at the last contact with that member, and the sentence about it. CONTACT_NOTHING: nothing,
 * or all is well.
 */
enum contact_finding tunnel_finding(struct tunnel *tunnel, const char *name, const char *address,
                                    char sentence[CONTACT_SENTENCE_BYTES]);

/* A copy of the counters; any thread may call this. */
struct tunnel_stats tunnel_stats(const struct tunnel *tunnel);

#endif
