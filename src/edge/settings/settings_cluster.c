/*
 * settings_cluster reads the regions, the peers and the addresses of the config, and checks them
 * against each other.
 */
#include "edge/settings/settings_cluster.h"

#include "rules/homes.h"

#include <stdio.h>
#include <string.h>

#define WHOLE_BILLIONTHS ((uint64_t)1000000000)

/* ---- regions and peers ---- */

static const struct region_weight *find_region(const struct node_options *node, const char *name)
{
    for (uint32_t i = 0; i < node->region_count; i++)
        if (strcmp(node->regions[i].region, name) == 0)
            return &node->regions[i];
    return NULL;
}

/* In rules, `home: by_key` means the home of each key, and `home: none` no home: no region has such a name. */
static bool read_region(const struct settings_reader *reader, const char *path, char *name, const char *expected)
{
    return read_name(reader, path, name, NODE_NAME_BYTES, expected) &&
           (!home_is_by_key(bytes_of(name)) ||
            reader_wrong(reader, path, name,
                         "another name, as home: by_key of rules means the home of each key")) &&
           (!bytes_equal(bytes_of(name), bytes_of(HOME_NONE)) ||
            reader_wrong(reader, path, name, "another name, as home: none of rules means no home"));
}

/*
 * Weights are exact in billionths. Each is then rounded down, so that together they never exceed
 * the whole.
 */
static bool read_regions(const struct settings_reader *reader, struct settings *settings)
{
    struct node_options *node = &settings->node;
    struct settings_reader entry;
    uint64_t sum = 0;
    for (uint32_t i = 0; reader_entry(reader, "regions", i, &entry); i++) {
        char name[NODE_NAME_BYTES];
        uint64_t billionths;
        if (!read_region(&entry, "name", name, "a region's name"))
            return false;
        if (find_region(node, name))
            return reader_wrong(&entry, "name", name, "a region that is not in the list already");
        if (!read_weight(&entry, "weight", &billionths))
            return false;
        settings->region_billionths[node->region_count] = billionths;
        settings->region_line[node->region_count] = reader_node(&entry, "weight")->line;
        struct region_weight *region = &node->regions[node->region_count++];
        memcpy(region->region, name, sizeof name);
        region->weight = (billionths << 32) / WHOLE_BILLIONTHS;
        if (reader_text(&entry, "floor") && !read_weight(&entry, "floor", &region->floor_billionths))
            return false;
        sum += billionths;
    }
    if (node->region_count > 0 && sum != WHOLE_BILLIONTHS)
        return reader_fail(reader, "regions", "regions have weights that sum to %llu.%09llu: expected exactly 1",
                           (unsigned long long)(sum / WHOLE_BILLIONTHS),
                           (unsigned long long)(sum % WHOLE_BILLIONTHS));
    if (node->region_count == 0 && reader_count(reader, "peers") > 0)
        return reader_missing(reader, "regions", "each region's name and weight, as there are peers");
    if (node->region_count == 0) {
        node->region_count = 1;
        memcpy(node->regions[0].region, node->region, sizeof node->region);
        node->regions[0].weight = SHARE_ONE;
        settings->region_billionths[0] = WHOLE_BILLIONTHS;
    }
    return true;
}

static bool check_region(const struct settings_reader *reader, const struct settings *settings, const char *path,
                         const char *region)
{
    if (find_region(&settings->node, region))
        return true;
    return reader_wrong(reader, path, region, "a region that has a weight in regions");
}

/* The address after `address`: the same host, the next port. */
static bool next_port(const char *address, char *next)
{
    char host[NODE_ADDRESS_BYTES];
    unsigned port = address_port(address) + 1;
    address_host(address, host);
    int size = snprintf(next, NODE_ADDRESS_BYTES, "%s:%u", host, port);
    return port <= 65535 && size > 0 && size < NODE_ADDRESS_BYTES;
}

/* The peer that uses `address` already, for gossip or for snapshots; NULL: no peer does. */
static const char *address_owner(const struct node_options *node, const char *address)
{
    if (strcmp(node->gossip_address, address) == 0 || strcmp(node->snapshot_address, address) == 0)
        return node->name;
    for (uint32_t i = 0; i < node->peer_count; i++)
        if (strcmp(node->peers[i].gossip_address, address) == 0 ||
            strcmp(node->peers[i].snapshot_address, address) == 0)
            return node->peers[i].name;
    return NULL;
}

static bool check_peer_address(const struct settings_reader *reader, const struct settings *settings,
                               const char *path, const char *address)
{
    char host[NODE_ADDRESS_BYTES];
    address_host(address, host);
    if (host_is_wildcard(host))
        return reader_wrong(reader, path, address, "an address that can be connected to");
    const char *owner = address_owner(&settings->node, address);
    return !owner || reader_wrong(reader, path, address, "an address that %s does not have already", owner);
}

/* `reader` must be within the peer's entry. */
static bool read_peer(const struct settings_reader *reader, struct settings *settings)
{
    struct node_options *node = &settings->node;
    struct node_peer_options peer = {0};
    if (!read_name(reader, "node", peer.name, sizeof peer.name, "the peer's name"))
        return false;
    if (strcmp(peer.name, node->name) == 0)
        return reader_wrong(reader, "node", peer.name, "another name than this node's own");
    for (uint32_t i = 0; i < node->peer_count; i++)
        if (strcmp(node->peers[i].name, peer.name) == 0)
            return reader_wrong(reader, "node", peer.name, "a name that peers[%u] does not have already", i);
    if (!read_region(reader, "region", peer.region, "the peer's region") ||
        !check_region(reader, settings, "region", peer.region))
        return false;
    if (!reader_text(reader, "gossip"))
        return reader_missing(reader, "gossip", "host:port where the peer publishes");
    if (!read_address(reader, "gossip", peer.gossip_address) ||
        !check_peer_address(reader, settings, "gossip", peer.gossip_address) ||
        !read_address(reader, "snapshots", peer.snapshot_address))
        return false;
    const char *path = reader_text(reader, "snapshots") ? "snapshots" : "gossip";
    if (!peer.snapshot_address[0] && !next_port(peer.gossip_address, peer.snapshot_address))
        return reader_wrong(reader, path, peer.gossip_address, "a port below 65535, as snapshots use the next one");
    if (!check_peer_address(reader, settings, path, peer.snapshot_address))
        return false;
    if (strcmp(peer.snapshot_address, peer.gossip_address) == 0)
        return reader_wrong(reader, path, peer.snapshot_address, "another address than the peer's gossip");
    node->peers[node->peer_count++] = peer;
    return true;
}

/* ---- addresses ---- */

static bool check_ports(const struct settings_reader *reader, const struct settings *settings)
{
    const char *snapshots = reader_text(reader, "listen.snapshots") ? "listen.snapshots" : "listen.gossip";
    unsigned clients = address_port(settings->clients_address), gossip = address_port(settings->gossip_address);
    if (clients == gossip)
        return reader_fail(reader, "listen.gossip",
                           "listen.gossip has port %u: expected another one than listen.clients", gossip);
    if (address_port(settings->snapshot_address) == clients)
        return reader_fail(
            reader, snapshots,
            "listen.snapshots has port %u (by default listen.gossip's next): expected another one than "
            "listen.clients",
            clients);
    if (address_port(settings->snapshot_address) == gossip)
        return reader_fail(reader, snapshots,
                           "listen.snapshots has port %u: expected another one than listen.gossip", gossip);
    return true;
}

/* The address at which peers reach a port that listens on `address`. */
static bool advertised(const struct settings_reader *reader, const struct settings *settings, const char *path,
                       const char *address, char *out)
{
    char host[NODE_ADDRESS_BYTES];
    address_host(address, host);
    if (!settings->advertise[0] && host_is_wildcard(host))
        return reader_wrong(reader, path, address, "a host that peers can reach, or advertise to name one");
    int size = snprintf(out, NODE_ADDRESS_BYTES, "%s:%u", settings->advertise[0] ? settings->advertise : host,
                        address_port(address));
    return (size > 0 && size < NODE_ADDRESS_BYTES) || reader_wrong(reader, path, address, "a shorter address");
}

static bool read_advertise(const struct settings_reader *reader, struct settings *settings)
{
    const char *text = reader_text(reader, "advertise");
    char with_port[NODE_ADDRESS_BYTES + 2], address[NODE_ADDRESS_BYTES];
    if (!text)
        return true;
    bool fits = snprintf(with_port, sizeof with_port, "%s:1", text) < NODE_ADDRESS_BYTES;
    if (!fits || host_is_wildcard(text) || !host_port_parse(with_port, address))
        return reader_wrong(reader, "advertise", text, "a host without a port, as peers reach this node");
    address_host(address, settings->advertise);
    return true;
}

static bool read_addresses(const struct settings_reader *reader, struct settings *settings)
{
    struct node_options *node = &settings->node;
    if (!read_address(reader, "listen.clients", settings->clients_address) ||
        !read_address(reader, "listen.gossip", settings->gossip_address) ||
        !read_address(reader, "listen.snapshots", settings->snapshot_address))
        return false;
    if (!reader_text(reader, "listen.snapshots") &&
        !next_port(settings->gossip_address, settings->snapshot_address))
        return reader_wrong(reader, "listen.gossip", settings->gossip_address,
                            "a port below 65535, as snapshots use the next one");
    return read_advertise(reader, settings) && check_ports(reader, settings) &&
           advertised(reader, settings, "listen.gossip", settings->gossip_address, node->gossip_address) &&
           advertised(reader, settings, "listen.snapshots", settings->snapshot_address, node->snapshot_address);
}

/* Reads in the order in which later checks need earlier results. */
bool settings_read_cluster(struct settings *settings, const struct settings_reader *reader)
{
    struct node_options *node = &settings->node;
    const bool is_named = reader_text(reader, "region") != NULL;
    if ((is_named || reader_count(reader, "regions") > 0) &&
        !read_region(reader, "region", node->region, "this node's region"))
        return false;
    if (!read_regions(reader, settings) ||
        !check_region(reader, settings, is_named ? "region" : "regions", node->region) ||
        !read_addresses(reader, settings))
        return false;
    struct settings_reader entry;
    for (uint32_t i = 0; reader_entry(reader, "peers", i, &entry); i++)
        if (!read_peer(&entry, settings))
            return false;
    return true;
}
