#include "edge/clock.h"
#include "edge/transport_state.h"

#include <string.h>

enum { REDIAL_DOUBLINGS = 2 };

static uint64_t redial_ns(const struct transport *transport, const struct link *link)
{
    return link->quiet_since_ns + (transport->redial_after_ns << link->doublings);
}

static bool dial(struct transport *transport, struct link *link)
{
    char url[URL_BYTES];
    link->quiet_since_ns = clock_monotonic_ns();
    transport_wake_by(transport, redial_ns(transport, link));
    return transport_url(url, link->address) &&
           nng_dial(transport->subscriber, url, &link->dialer, NNG_FLAG_NONBLOCK) == 0;
}

static struct link *link_at(struct transport *transport, const char *address)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++)
        if (strcmp(transport->links[i].address, address) == 0)
            return &transport->links[i];
    return NULL;
}

bool transport_connect(struct transport *transport, const char *address)
{
    if (address[0] == '\0' || strlen(address) >= ADDRESS_BYTES)
        return false;
    if (link_at(transport, address))
        return true;
    struct link *link = link_at(transport, "");
    if (!link)
        return false;
    memcpy(link->address, address, strlen(address) + 1);
    link->doublings = 0;
    if (!dial(transport, link)) {
        link->address[0] = '\0';
        return false;
    }
    transport->stats.links++;
    return true;
}

static void drop_link(struct transport *transport, struct link *link)
{
    (void)nng_dialer_close(link->dialer);
    memset(link, 0, sizeof *link);
    transport->stats.links--;
}

void transport_disconnect(struct transport *transport, const char *address)
{
    struct link *link = address[0] ? link_at(transport, address) : NULL;
    if (link)
        drop_link(transport, link);
}

void links_redial(struct transport *transport, uint64_t now_ns)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++) {
        struct link *link = &transport->links[i];
        if (!link->address[0])
            continue;
        if (now_ns < redial_ns(transport, link)) {
            transport_wake_by(transport, redial_ns(transport, link));
            continue;
        }
        (void)nng_dialer_close(link->dialer);
        /* A dial fails at once only for want of memory or descriptors: then the next round tries again. */
        (void)dial(transport, link);
        if (link->doublings < REDIAL_DOUBLINGS)
            link->doublings++;
        transport->stats.redials++;
    }
}

static struct link *link_of(struct transport *transport, nng_dialer dialer)
{
    for (size_t i = 0; i < TRANSPORT_LINKS_MAX; i++)
        if (transport->links[i].address[0] && transport->links[i].dialer.id == dialer.id)
            return &transport->links[i];
    return NULL;
}

void links_hear(struct transport *transport, nng_dialer dialer, uint64_t now_ns)
{
    struct link *link = link_of(transport, dialer);
    if (!link)
        return;
    link->quiet_since_ns = now_ns;
    link->doublings = 0;
}
