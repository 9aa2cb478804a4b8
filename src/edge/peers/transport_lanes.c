/*
 * transport_lanes gives a link that loses packets more connections ("lanes"). The peer publishes to all
 * of them, and the first copy of a message is heard. A lost packet makes the messages behind it wait on
 * its lane only. The copies are not read. A link that loses nothing any more has one lane again.
 *
 * A peer has places for TRANSPORT_SUBSCRIBERS_MAX connections in all, so in large clusters each link has
 * fewer lanes. A peer that has no place for a lane is asked again much later.
 */
#include "base/metric.h"
#include "edge/peers/transport_state.h"

enum { REFUSED_LOOKS = 256 }; /* for so long no lane is tried at a peer that takes none */

static uint32_t lanes_allowed(const struct transport *transport, const struct link *link)
{
    return link->refused_looks > 0 ? 1 : loss_lanes(transport->stats.links);
}

static void drop_lane(struct transport *transport, struct link *link, uint32_t index)
{
    struct lane *lane = &link->lane[index];
    if (lane->dialer.id == 0)
        return;
    pipes_close_dialer(transport->pipes, transport->subscriber, lane->dialer);
    *lane = (struct lane){0};
    if (index > 0)
        metric_add(&transport->stats.spare_connections, UINT64_MAX);
    if (index == 1) /* nothing comes twice any more */
        link->copies = (struct copies){0};
}

void lanes_drop(struct transport *transport, struct link *link, uint32_t from)
{
    for (uint32_t i = from; i < TRANSPORT_LANES; i++)
        drop_lane(transport, link, i);
}

/* A dial fails for want of memory or descriptors only: the next look dials again. */
static void open_lane(struct transport *transport, struct link *link, uint32_t index)
{
    struct lane *lane = &link->lane[index];
    if (lane->dialer.id != 0)
        return;
    if (!links_dial(transport, link, lane)) {
        *lane = (struct lane){0};
        return;
    }
    metric_add(&transport->stats.spare_connections, 1);
    metric_add(&transport->stats.spares_opened, 1);
}

static bool is_refused(struct transport *transport, struct lane *lane, bool first_has_one)
{
    struct arrivals unused;
    const uint32_t connection = pipes_arrivals(transport->pipes, lane->dialer, &unused);
    return loss_lane_is_refused(&lane->watch, connection, first_has_one);
}

static void look_at(struct transport *transport, struct link *link)
{
    struct arrivals arrivals;
    const uint32_t connection = pipes_arrivals(transport->pipes, link->lane[0].dialer, &arrivals);
    const bool loses = connection != 0 ? loss_look(&link->loss, connection, &arrivals) : link->loss.loses;
    link->refused_looks -= link->refused_looks > 0;
    for (uint32_t i = 1; i < TRANSPORT_LANES; i++)
        if (link->lane[i].dialer.id != 0 && is_refused(transport, &link->lane[i], connection != 0))
            link->refused_looks = REFUSED_LOOKS;
    const uint32_t wanted = loses ? lanes_allowed(transport, link) : 1;
    for (uint32_t i = 1; i < wanted; i++)
        open_lane(transport, link, i);
    lanes_drop(transport, link, wanted);
}

void lanes_look(struct transport *transport, uint64_t now_ns)
{
    if (transport->look_each_ns == 0 || transport->stats.links == 0)
        return;
    if (now_ns >= transport->look_ns) {
        for (uint32_t i = 0; i < TRANSPORT_LINKS_MAX; i++)
            if (transport->links[i].address[0])
                look_at(transport, &transport->links[i]);
        transport->look_ns = now_ns + transport->look_each_ns;
    }
    transport_wake_by(transport, transport->look_ns);
}

bool lanes_have_brought(const struct transport *transport, struct link *link, struct bytes message)
{
    struct copies *copies = &link->copies;
    if (link->lane[1].dialer.id == 0)
        return false;
    const uint64_t hash = hash_64(&transport->hash_key, message.data, message.size) | 1; /* never 0 */
    for (uint32_t i = 0; i < COPIES_KEPT; i++)
        if (copies->seen[i] == hash)
            return true;
    copies->seen[copies->next++ % COPIES_KEPT] = hash;
    return false;
}
