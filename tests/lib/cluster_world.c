#include "tests/lib/cluster_world.h"

struct world world;

const char *const host_names[WORLD_HOSTS_MAX] = {"ann", "bob", "cat", "dan"};

void tell(const char *format, ...)
{
    va_list arguments;
    if (world.quiet)
        return;
    va_start(arguments, format);
    int size = vsnprintf(world.text + world.text_size, sizeof world.text - world.text_size, format, arguments);
    va_end(arguments);
    assert(size >= 0 && world.text_size + (size_t)size + 2 < sizeof world.text);
    world.text_size += (size_t)size;
    world.text[world.text_size++] = '\n';
    world.text[world.text_size] = '\0';
}

void world_init(unsigned count)
{
    memset(&world, 0, sizeof world);
    world.now_ns = 1000 * MS;
    world.count = count;
    bool valid = limits_add(&world.limits, "slow", 160, 1, 3600000 * MS, 0) &&
                 limits_add(&world.limits, "fast", 160, 160, 1000 * MS, 0);
    assert(valid);
    effects_init(&world.effects);
    for (unsigned from = 0; from < WORLD_HOSTS_MAX; from++)
        for (unsigned to = 0; to < WORLD_HOSTS_MAX; to++)
            world.link[from][to].delay_ns = 10 * MS;
    for (unsigned i = 0; i < count; i++) {
        struct node_options *options = &world.host[i].options;
        (void)snprintf(options->name, sizeof options->name, "%s", host_names[i]);
        (void)snprintf(options->region, sizeof options->region, "%s's", host_names[i]);
        (void)snprintf(options->gossip_address, sizeof options->gossip_address, "%s:1", host_names[i]);
        (void)snprintf(options->snapshot_address, sizeof options->snapshot_address, "%s:2", host_names[i]);
        options->region_count = count;
        for (unsigned r = 0; r < count; r++) {
            (void)snprintf(options->regions[r].region, NODE_NAME_BYTES, "%s's", host_names[r]);
            options->regions[r].weight = r + 1 == count ? SHARE_ONE >> r : SHARE_ONE >> (r + 1);
        }
        options->unlisted_max = WORLD_HOSTS_MAX;
        options->interval_ns = 100 * MS;
        options->silent_after_ns = 1000 * MS;
        options->join_timeout_ns = 2000 * MS;
        options->leave_timeout_ns = 2000 * MS;
        options->table_keys = 1024;
        options->log_keys_max = 100000;
        options->events_max = WORLD_EVENTS_MAX;
        options->message_max_bytes = 256 * 1024;
        options->seed = i + 1;
        options->limits = &world.limits.named;
        options->config_digest = 0xc0ffee;
        world.host[i].incarnation = 1;
    }
}

void world_name_peer(unsigned host, unsigned peer)
{
    struct node_options *options = &world.host[host].options;
    const struct node_options *named = &world.host[peer].options;
    struct node_peer_options *entry = &options->peers[options->peer_count++];
    memcpy(entry->name, named->name, sizeof entry->name);
    memcpy(entry->region, named->region, sizeof entry->region);
    memcpy(entry->gossip_address, named->gossip_address, sizeof entry->gossip_address);
    memcpy(entry->snapshot_address, named->snapshot_address, sizeof entry->snapshot_address);
}

void world_name_all(void)
{
    for (unsigned i = 0; i < world.count; i++)
        for (unsigned j = 0; j < world.count; j++)
            if (i != j)
                world_name_peer(i, j);
}

static int host_at(const char *address, bool gossip)
{
    for (unsigned i = 0; i < world.count; i++) {
        const struct node_options *options = &world.host[i].options;
        if (strcmp(address, gossip ? options->gossip_address : options->snapshot_address) == 0)
            return (int)i;
    }
    return -1;
}

static void put_packet(enum event_kind kind, unsigned from, unsigned to, struct bytes bytes, uint64_t delay_ns,
                       bool held)
{
    assert(world.packet_count < WORLD_PACKETS_MAX);
    struct world_packet *packet = &world.packet[world.packet_count++];
    *packet = (struct world_packet){.kind = kind, .from = from, .to = to, .held = held, .size = bytes.size};
    packet->at_ns = world.now_ns + delay_ns;
    packet->order = world.order++;
    packet->data = malloc(bytes.size > 0 ? bytes.size : 1); /* of its exact size, so that reading beyond shows */
    assert(packet->data);
    if (bytes.size > 0)
        memcpy(packet->data, bytes.data, bytes.size);
}

static void post(enum event_kind kind, unsigned from, unsigned to, struct bytes bytes)
{
    const struct world_link *link = &world.link[from][to];
    if (world.rewrite)
        bytes = world.rewrite(from, bytes);
    switch (link->mood) {
    case LINK_CUT:
        break;
    case LINK_STUTTERS:
        put_packet(kind, from, to, bytes, 3 * link->delay_ns, false);
        put_packet(kind, from, to, bytes, link->delay_ns, false);
        break;
    case LINK_FINE:
    case LINK_HELD:
        put_packet(kind, from, to, bytes, link->delay_ns, link->mood == LINK_HELD);
        break;
    }
}

void host_down(unsigned i)
{
    node_destroy(&world.host[i].node);
    memset(world.host[i].listens_to, 0, sizeof world.host[i].listens_to);
}

static void apply_effect(unsigned i, const struct effect *effect, unsigned asker)
{
    struct bytes bytes = effect_bytes(&world.effects, effect);
    struct world_host *host = &world.host[i];
    int to = host_at(effect->address, effect->kind != EFFECT_REQUEST);
    switch (effect->kind) {
    case EFFECT_PUBLISH:
        host->messages++;
        if (bytes.size > host->published_bytes_max)
            host->published_bytes_max = bytes.size;
        for (unsigned j = 0; j < world.count; j++)
            if (world.host[j].node && world.host[j].listens_to[i])
                post(EVENT_MESSAGE, i, j, bytes);
        break;
    case EFFECT_REQUEST:
        host->requests++;
        if (to >= 0)
            post(EVENT_REQUEST, i, (unsigned)to, bytes);
        break;
    case EFFECT_REPLY:
        post(EVENT_RESPONSE, i, asker, bytes);
        break;
    case EFFECT_CONNECT:
    case EFFECT_DISCONNECT:
        if (to >= 0)
            host->listens_to[to] = effect->kind == EFFECT_CONNECT;
        break;
    }
}

void step(unsigned i, struct event event, unsigned asker)
{
    struct world_host *host = &world.host[i];
    if (!host->node)
        return;
    event.now_ns = world.now_ns;
    if (world.step) {
        world.step(i, &event);
    } else {
        node_step(host->node, &event, &world.effects);
        node_validate(host->node);
    }
    if (world.watch)
        world.watch(i, &world.effects);
    for (size_t n = 0; n < world.effects.notice_count; n++)
        tell("%s: %s", host_names[i], world.effects.notice[n].text);
    for (size_t e = 0; e < world.effects.effect_count; e++)
        apply_effect(i, &world.effects.effect[e], asker);
    host->wake_ns = world.effects.next_wake_ns;
    if (world.effects.left) {
        tell("%s is gone", host_names[i]);
        host_down(i);
    }
}

int next_packet(void)
{
    int next = -1;
    for (unsigned p = 0; p < world.packet_count; p++) {
        const struct world_packet *packet = &world.packet[p];
        if (packet->held || world.host[packet->to].stalled_until_ns > world.now_ns)
            continue;
        if (next < 0 || packet->at_ns < world.packet[next].at_ns ||
            (packet->at_ns == world.packet[next].at_ns && packet->order < world.packet[next].order))
            next = (int)p;
    }
    return next;
}

static void deliver(unsigned p)
{
    struct world_packet packet = world.packet[p];
    world.packet[p] = world.packet[--world.packet_count];
    step(packet.to, (struct event){.kind = packet.kind, .bytes = {packet.data, packet.size}}, packet.from);
    free(packet.data);
}

void world_step_packet(void)
{
    int p = next_packet();
    assert(p >= 0);
    if (world.packet[p].at_ns > world.now_ns)
        world.now_ns = world.packet[p].at_ns;
    deliver((unsigned)p);
}

void world_push(unsigned i)
{
    if (world.host[i].node && node_wants_step(world.host[i].node))
        step(i, (struct event){.kind = EVENT_WAKE}, i);
}

void world_stall(unsigned i, uint64_t ms)
{
    world.host[i].stalled_until_ns = world.now_ns + ms * MS;
}

static uint64_t host_wake_ns(const struct world_host *host)
{
    return host->wake_ns > host->stalled_until_ns ? host->wake_ns : host->stalled_until_ns;
}

void world_run(uint64_t ms)
{
    uint64_t end_ns = world.now_ns + ms * MS;
    for (;;) {
        int p = next_packet(), waker = -1;
        uint64_t at_ns = p >= 0 ? world.packet[p].at_ns : UINT64_MAX;
        for (unsigned i = 0; i < world.count; i++) {
            if (world.host[i].node && host_wake_ns(&world.host[i]) < at_ns) {
                waker = (int)i;
                at_ns = host_wake_ns(&world.host[i]);
            }
        }
        if (at_ns > end_ns)
            break;
        if (at_ns > world.now_ns)
            world.now_ns = at_ns;
        if (waker >= 0)
            step((unsigned)waker, (struct event){.kind = EVENT_WAKE}, (unsigned)waker);
        else
            deliver((unsigned)p);
    }
    world.now_ns = end_ns;
}

void world_until_published(unsigned i)
{
    for (uint64_t before = world.host[i].messages; world.host[i].messages == before;)
        world_run(1);
}
