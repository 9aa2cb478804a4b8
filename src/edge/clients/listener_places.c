/*
 * Strangers by the place that they come from: an address of IPv4, or a /64 of IPv6, since whoever has one address of
 * it has them all. Places share a fixed number of lists by a keyed hash, so that there is no memory for each, and
 * nobody knows whose strangers he shares a list with.
 */
#include "edge/clients/connection.h"

#include <sodium.h>

/* Strangers of one place that are a smaller part of all connections are no crowd. */
enum { CROWD_PART = 4 };

static uint32_t place_of(const struct listener *listener, const struct connection *connection)
{
    unsigned char hash[crypto_shorthash_BYTES];
    uint8_t place[STREAM_PLACE_BYTES];
    stream_place(&connection->stream, place);
    (void)crypto_shorthash(hash, place, sizeof place, listener->places_key);
    return hash[0] % LISTENER_PLACES;
}

void listener_places_init(struct listener *listener)
{
    _Static_assert(sizeof listener->places_key == crypto_shorthash_KEYBYTES, "a key of the hash");
    randombytes_buf(listener->places_key, sizeof listener->places_key);
    for (uint32_t i = 0; i < LISTENER_PLACES; i++)
        list_init(&listener->place[i].strangers);
}

void listener_enter_place(struct listener *listener, struct connection *connection)
{
    struct listener_place *place = &listener->place[place_of(listener, connection)];
    connection->place = place;
    list_insert_before(&place->strangers, &connection->at_place);
    place->count++;
}

void listener_leave_place(struct connection *connection)
{
    if (connection->place == NULL)
        return;
    list_remove(&connection->at_place);
    connection->place->count--;
    connection->place = NULL;
}

struct connection *listener_find_crowd(const struct listener *listener)
{
    const struct listener_place *most = &listener->place[0];
    for (uint32_t i = 1; i < LISTENER_PLACES; i++)
        if (listener->place[i].count > most->count)
            most = &listener->place[i];
    if (most->count < listener->options.crowd_strangers ||
        most->count < listener->stats.connected_clients / CROWD_PART)
        return NULL;
    struct connection *oldest = LIST_OWNER(most->strangers.next, struct connection, at_place);
    return list_empty(&oldest->unwritten) ? oldest : NULL;
}
