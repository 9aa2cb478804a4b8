/*
 * transport_links keeps a connection to each address that this daemon subscribes to, and further
 * lanes where transport_lanes.c has dialled them. A lane without a message for a while is dialled
 * anew, and each time the patience doubles. A pause of this
 * process is no silence of the peer. Why a link has no connection nng does not tell, so that is found out.
 */
#include "base/metric.h"
#include "edge/peers/transport_state.h"
#include "edge/process/clock.h"

#include <string.h>

enum { REDIAL_DOUBLINGS = 2 };
#define CONTACT_LOOK_NS ((uint64_t)200 * 1000000)

static uint64_t patience_ns(const struct transport *transport, const struct lane *lane)
{
    return transport->redial_after_ns << lane->doublings;
}

/*
 * Wakes at half of the patience as well: a pause is noticed soon after it, and never taken for
 * silence.
 */
static void look_again(struct transport *transport, const struct lane *lane, uint64_t now_ns)
{
    uint64_t patience = patience_ns(transport, lane), half_ns = lane->quiet_since_ns + patience / 2;
    transport_wake_by(transport, now_ns < half_ns ? half_ns : lane->quiet_since_ns + patience);
}

static void be_patient(struct transport *transport, struct lane *lane, uint64_t now_ns)
{
    lane->quiet_since_ns = now_ns;
    look_again(transport, lane, now_ns);
}

bool links_dial(struct transport *transport, struct link *link, struct lane *lane)
{
    be_patient(transport, lane, clock_monotonic_ns());
    return transport_dial(transport, transport->subscriber, link->name, link->address, &lane->dialer) == 0;
}

/* In clear nobody proves a name, so an address has one link. Over TLS no other member takes the place of one. */
static struct link *link_to(struct transport *transport, const char *name, const char *address)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++) {
        struct link *link = &transport->links[i];
        if (strcmp(link->address, address) == 0 && (!transport->tunnel || strcmp(link->name, name) == 0))
            return link;
    }
    return NULL;
}

static struct link *free_link(struct transport *transport)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++)
        if (!transport->links[i].address[0])
            return &transport->links[i];
    return NULL;
}

static void drop_link(struct transport *transport, struct link *link)
{
    lanes_drop(transport, link, 0);
    memset(link, 0, sizeof *link);
    metric_set(&transport->stats.links, transport->stats.links - 1);
}

bool transport_connect(struct transport *transport, const char *name, const char *address)
{
    if (address[0] == '\0' || strlen(address) >= ADDRESS_BYTES || strlen(name) >= NAME_BYTES)
        return false;
    if (link_to(transport, name, address))
        return true;
    struct link *link = free_link(transport);
    if (!link)
        return false;
    memset(link, 0, sizeof *link);
    memcpy(link->name, name, strlen(name) + 1);
    memcpy(link->address, address, strlen(address) + 1);
    link->found = CONTACT_NOTHING;
    if (!links_dial(transport, link, &link->lane[0])) {
        link->address[0] = '\0';
        return false;
    }
    metric_add(&transport->stats.links, 1);
    lanes_look(transport, clock_monotonic_ns());
    return true;
}

void transport_disconnect(struct transport *transport, const char *name, const char *address)
{
    struct link *link = address[0] ? link_to(transport, name, address) : NULL;
    if (link)
        drop_link(transport, link);
}

/* A dial fails at once only for want of memory or descriptors: the next round dials again. */
static void dial_anew(struct transport *transport, struct link *link, struct lane *lane)
{
    pipes_close_dialer(transport->pipes, transport->subscriber, lane->dialer);
    (void)links_dial(transport, link, lane);
}

/* ---- why there is no connection ---- */

static void tell(const struct transport *transport, struct link *link, enum contact_finding found,
                 const char *sentence)
{
    if (found == CONTACT_NOTHING || found == link->found)
        return;
    link->found = found;
    if (transport->receiver.warn)
        transport->receiver.warn(transport->receiver.context, sentence);
}

/* The tunnel knows of each link; without it one link at a time is looked at, in turns. */
static void ask_next(struct transport *transport)
{
    for (uint32_t i = 0; i < TRANSPORT_LINKS_MAX && !transport->contact; i++) {
        struct link *link = &transport->links[transport->next_contact];
        transport->next_contact = (transport->next_contact + 1) % TRANSPORT_LINKS_MAX;
        if (!link->address[0] || !link->is_unexplained)
            continue;
        link->is_unexplained = false;
        transport->contact = contact_begin(NULL, link->name, link->address, -1);
    }
    if (transport->contact)
        transport_wake_by(transport, clock_monotonic_ns() + CONTACT_LOOK_NS);
}

static void explain(struct transport *transport, struct link *link)
{
    char sentence[CONTACT_SENTENCE_BYTES];
    if (transport->tunnel)
        tell(transport, link, tunnel_finding(transport->tunnel, link->name, link->address, sentence), sentence);
    else
        link->is_unexplained = true;
}

void links_tell(struct transport *transport)
{
    struct contact *contact = transport->contact;
    if (contact && !atomic_load(&contact->done)) {
        transport_wake_by(transport, clock_monotonic_ns() + CONTACT_LOOK_NS);
        return;
    }
    struct link *link = contact ? link_to(transport, contact->name, contact->address) : NULL;
    if (link)
        tell(transport, link, contact->found, contact->sentence);
    contact_release(&transport->contact);
    ask_next(transport);
}

/*
 * If the lane has a connection, the connection is ended and nng dials anew. Otherwise the dialer is
 * closed and a new one dials.
 */
static void redial(struct transport *transport, struct link *link, struct lane *lane, uint64_t now_ns)
{
    if (pipes_restart(transport->pipes, lane->dialer)) {
        be_patient(transport, lane, now_ns);
    } else {
        dial_anew(transport, link, lane);
        if (lane == &link->lane[0])
            explain(transport, link);
        ask_next(transport);
    }
    if (lane->doublings < REDIAL_DOUBLINGS)
        lane->doublings++;
    lane->spared = false;
    metric_add(&transport->stats.redials, 1);
}

/*
 * A lane that looks quiet after a pause may have many messages waiting. Only a whole patience in
 * which this process ran, and had no message to hear, proves silence. A lane is spared once only:
 * on a machine where every timer is late, silence must still end.
 */
static void look_after(struct transport *transport, struct link *link, struct lane *lane, uint64_t now_ns,
                       bool may_be_unheard)
{
    if (may_be_unheard && !lane->spared) {
        lane->spared = true;
        be_patient(transport, lane, now_ns);
    } else if (now_ns >= lane->quiet_since_ns + patience_ns(transport, lane)) {
        redial(transport, link, lane, now_ns);
    } else {
        look_again(transport, lane, now_ns);
    }
}

void links_redial(struct transport *transport, uint64_t now_ns, bool late)
{
    bool may_be_unheard = late || transport->held || transport->waits[INLET_PUBLISHED];
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++)
        for (size_t k = 0; k < TRANSPORT_LANES && transport->links[i].address[0]; k++) {
            struct link *link = &transport->links[i];
            if (k == 0 || link->lane[k].dialer.id != 0)
                look_after(transport, link, &link->lane[k], now_ns, may_be_unheard);
        }
}

void links_close(struct transport *transport)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++)
        if (transport->links[i].address[0])
            drop_link(transport, &transport->links[i]);
}

struct link *links_hear(struct transport *transport, nng_dialer dialer, uint64_t now_ns)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX && dialer.id != 0; i++)
        for (size_t k = 0; k < TRANSPORT_LANES; k++) {
            struct link *link = &transport->links[i];
            struct lane *lane = &link->lane[k];
            if (!link->address[0] || lane->dialer.id != dialer.id)
                continue;
            lane->quiet_since_ns = now_ns;
            lane->doublings = 0;
            lane->spared = false;
            link->is_unexplained = false;
            link->found = CONTACT_NOTHING;
            return link;
        }
    return NULL;
}
