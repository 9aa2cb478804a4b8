/*
 * peers: how what gossip costs grows with the number of peers, the keys that change, the interval and the regions.
 *
 * Real nodes in this process, on simulated time, all listening to each other: a millisecond apart within a region, 40
 * between regions, nothing lost. When they have met, each spends from keys drawn among 65,536, evenly in time; from the
 * third interval on it is counted what they say and what their steps take, for at least five intervals. What a message
 * costs the kernel comes on top, and a copy for each listener: some 40 us at either end.
 *
 *     peers [--quick]      --quick: at most 10 peers
 */
#include "base/random.h"
#include "tests/bench/nodes.h"

enum {
    PEERS_MAX = 50,
    KEYS = 1 << 16,
    TABLE_KEYS = 1 << 17,
    PACKETS_MAX = 1 << 18, /* on their way at once; a power of two */
};

#define NEAR_NS (1 * MS)
#define FAR_NS (40 * MS)
#define COUNTED_NS (300 * MS) /* at least */

struct setting {
    unsigned peers, regions;
    uint64_t changed_keys; /* a second, of all peers together */
    uint64_t interval_ns;
};

/* One message, for all who get it. */
struct message {
    enum event_kind kind;
    unsigned from, readers;
    size_t size;
    char data[];
};

struct packet {
    uint64_t at_ns;
    unsigned to;
    struct message *message;
};

/* All in it take equally long, so that they arrive in order. */
struct link {
    uint64_t head, tail;
    struct packet packet[PACKETS_MAX];
};

struct host {
    struct node *node;
    uint64_t wake_ns;
    double owed; /* spends that are due */
};

static struct {
    struct setting setting;
    struct host host[PEERS_MAX];
    struct link near, far;
    struct effects effects;
    struct key_id *id;
    struct random random;
    uint64_t now_ns;
    bool spending, counting;
    uint64_t messages, bytes, far_bytes, step_ns, spends; /* while counting; bytes: of all copies */
} world;

static unsigned region_of(unsigned host)
{
    return host % world.setting.regions;
}

/* ---- nodes ---- */

struct name {
    char text[NODE_NAME_BYTES];
};

static struct name name_of(const char *kind, unsigned number)
{
    struct name name;
    (void)snprintf(name.text, sizeof name.text, "%s-%u", kind, number);
    return name;
}

static struct node *make_host(unsigned host)
{
    const struct limit_terms terms = {.capacity = 100000000, .rate = 1, .period_ns = 3600 * SECOND};
    const struct setting *setting = &world.setting;
    struct node_options options = plan_node(name_of("node", host).text, name_of("region", region_of(host)).text);
    for (unsigned r = 0; r < setting->regions; r++)
        plan_region(&options, name_of("region", r).text, SHARE_ONE / setting->regions);
    for (unsigned other = 0; other < setting->peers; other++)
        if (other != host)
            plan_peer(&options, name_of("node", other).text, name_of("region", region_of(other)).text);
    options.interval_ns = setting->interval_ns;
    options.silent_after_ns = 10 * setting->interval_ns > SECOND ? 10 * setting->interval_ns : SECOND;
    options.table_keys = TABLE_KEYS;
    options.message_max_bytes = 1 << 20;
    options.seed = host + 1;
    return make_node(&options, &terms);
}

/* ---- messages ---- */

static void put(struct link *link, uint64_t at_ns, unsigned to, struct message *message)
{
    if (link->tail - link->head == PACKETS_MAX)
        give_up("too many messages are under way");
    link->packet[link->tail++ % PACKETS_MAX] = (struct packet){at_ns, to, message};
}

static void send_to(unsigned to, struct message *message)
{
    bool near = region_of(message->from) == region_of(to);
    put(near ? &world.near : &world.far, world.now_ns + (near ? NEAR_NS : FAR_NS), to, message);
    if (!world.counting)
        return;
    world.bytes += message->size;
    world.far_bytes += near ? 0 : message->size;
}

static struct message *make_message(enum event_kind kind, unsigned from, unsigned readers, struct bytes bytes)
{
    struct message *message = malloc(sizeof *message + bytes.size);
    if (!message)
        give_up("not enough memory");
    *message = (struct message){.kind = kind, .from = from, .readers = readers, .size = bytes.size};
    memcpy(message->data, bytes.data, bytes.size);
    world.messages += world.counting;
    return message;
}

/* What a step of `from` gave; `asker` gets the reply. */
static void post(unsigned from, unsigned asker)
{
    for (size_t e = 0; e < world.effects.effect_count; e++) {
        const struct effect *effect = &world.effects.effect[e];
        struct bytes bytes = effect_bytes(&world.effects, effect);
        unsigned to;
        switch (effect->kind) {
        case EFFECT_PUBLISH: {
            struct message *message = make_message(EVENT_MESSAGE, from, world.setting.peers - 1, bytes);
            for (to = 0; to < world.setting.peers; to++)
                if (to != from)
                    send_to(to, message);
            break;
        }
        case EFFECT_REQUEST:
            to = (unsigned)strtoul(effect->address + strlen("node-"), NULL, 10);
            send_to(to, make_message(EVENT_REQUEST, from, 1, bytes));
            break;
        case EFFECT_REPLY:
            send_to(asker, make_message(EVENT_RESPONSE, from, 1, bytes));
            break;
        case EFFECT_CONNECT: /* all hear all from the start */
        case EFFECT_DISCONNECT:
            break;
        }
    }
}

static void step(unsigned i, struct event event, unsigned asker)
{
    event.now_ns = world.now_ns;
    uint64_t began_ns = processor_ns();
    node_step(world.host[i].node, &event, &world.effects);
    if (world.counting)
        world.step_ns += processor_ns() - began_ns;
    world.host[i].wake_ns = world.effects.next_wake_ns;
    post(i, asker);
}

static void deliver(struct link *link)
{
    struct packet packet = link->packet[link->head++ % PACKETS_MAX];
    struct message *message = packet.message;
    step(packet.to, (struct event){.kind = message->kind, .bytes = {message->data, message->size}}, message->from);
    if (--message->readers == 0)
        free(message);
}

/* ---- time ---- */

static void spend(uint64_t gap_ns)
{
    double due = (double)world.setting.changed_keys * (double)gap_ns / 1e9 / world.setting.peers;
    for (unsigned i = 0; i < world.setting.peers; i++) {
        struct host *host = &world.host[i];
        for (host->owed += due; host->owed >= 1; host->owed -= 1) {
            struct key_id id = world.id[random_below(&world.random, KEYS)];
            if (!node_can_access(host->node, id, 0, 1, world.now_ns))
                give_up("a spend was refused");
            world.spends += world.counting;
        }
        if (node_wants_step(host->node))
            step(i, (struct event){.kind = EVENT_WAKE}, 0);
    }
}

/* Whatever comes first, until that time. */
static void run_until(uint64_t end_ns)
{
    for (uint64_t spend_ns = world.now_ns + MS;;) {
        unsigned waker = 0;
        for (unsigned i = 1; i < world.setting.peers; i++)
            if (world.host[i].wake_ns < world.host[waker].wake_ns)
                waker = i;
        struct link *link = &world.near;
        uint64_t near_ns =
            world.near.head < world.near.tail ? world.near.packet[world.near.head % PACKETS_MAX].at_ns : UINT64_MAX;
        uint64_t far_ns =
            world.far.head < world.far.tail ? world.far.packet[world.far.head % PACKETS_MAX].at_ns : UINT64_MAX;
        uint64_t wake_ns = world.host[waker].wake_ns, packet_ns = near_ns;
        if (far_ns < near_ns) {
            link = &world.far;
            packet_ns = far_ns;
        }
        uint64_t next_ns = wake_ns < packet_ns ? wake_ns : packet_ns;
        next_ns = spend_ns < next_ns ? spend_ns : next_ns;
        if (next_ns > end_ns)
            break;
        world.now_ns = next_ns > world.now_ns ? next_ns : world.now_ns;
        if (next_ns == spend_ns) {
            if (world.spending)
                spend(MS);
            spend_ns += MS;
        } else if (next_ns == packet_ns) {
            deliver(link);
        } else {
            step(waker, (struct event){.kind = EVENT_WAKE}, 0);
        }
    }
    world.now_ns = end_ns;
}

static bool all_met(void)
{
    for (unsigned i = 0; i < world.setting.peers; i++) {
        struct node_status status;
        node_status(world.host[i].node, &status);
        if (status.state != PEER_ACTIVE || status.reachable_peers != world.setting.peers)
            return false;
    }
    return true;
}

/* ---- the tables ---- */

static void clear(struct link *link)
{
    for (; link->head < link->tail; link->head++) {
        struct message *message = link->packet[link->head % PACKETS_MAX].message;
        if (--message->readers == 0)
            free(message);
    }
}

static void measure(struct setting setting)
{
    world.setting = setting;
    world.spending = world.counting = false;
    world.messages = world.bytes = world.far_bytes = world.step_ns = world.spends = 0;
    world.now_ns = SECOND;
    for (unsigned i = 0; i < setting.peers; i++)
        world.host[i] = (struct host){.node = make_host(i)};
    for (unsigned i = 0; i < setting.peers; i++)
        step(i, (struct event){.kind = EVENT_START}, 0);
    for (unsigned s = 0; !all_met(); s++) {
        if (s == 600)
            give_up("the peers do not meet");
        run_until(world.now_ns + SECOND / 10);
    }
    world.spending = true;
    run_until(world.now_ns + 2 * setting.interval_ns + 2 * FAR_NS);
    uint64_t for_ns = 5 * setting.interval_ns > COUNTED_NS ? 5 * setting.interval_ns : COUNTED_NS;
    world.counting = true;
    run_until(world.now_ns + for_ns);
    double peer_seconds = (double)for_ns / 1e9 * setting.peers;
    printf("%8u %8u %12llu %10llu %12.0f %12.1f %12.1f %10.2f", setting.peers, setting.regions,
           (unsigned long long)setting.changed_keys, (unsigned long long)(setting.interval_ns / MS),
           (double)world.messages / peer_seconds, (double)world.bytes / 1e3 / peer_seconds,
           (double)world.far_bytes / 1e3 / peer_seconds, 100 * (double)world.step_ns / 1e9 / peer_seconds);
    if (world.spends > 0)
        printf(" %12.1f %12.0f", (double)world.bytes / (double)world.spends / (setting.peers - 1),
               (double)world.step_ns / (double)world.spends / setting.peers);
    printf("\n");
    (void)fflush(stdout);
    for (unsigned i = 0; i < setting.peers; i++)
        node_destroy(&world.host[i].node);
    clear(&world.near);
    clear(&world.far);
}

int main(int argc, char **argv)
{
    static const unsigned peers[] = {2, 3, 5, 10, 20, 50}, regions[] = {1, 2, 4, 12};
    static const uint64_t changed[] = {0, 1000, 10000, 100000}, interval_ms[] = {10, 50, 100, 500, 1000};
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    world.id = malloc(KEYS * sizeof *world.id);
    if (!world.id)
        give_up("not enough memory");
    random_seed(&world.random, 1);
    for (uint64_t k = 0; k < KEYS; k++)
        world.id[k] =
            (struct key_id){.high = (k + 1) * UINT64_C(0x9e3779b97f4a7c15), .low = random_u64(&world.random)};
    effects_init(&world.effects);
    printf("what a peer sends, copies for all listeners included, and the processor time of its steps\n"
           "                  changed   interval     messages         kB/s    to other       %% of        bytes    "
           "       ns\n"
           "   peers  regions    keys/s         ms          a s               regions     a core  a key, copy  a "
           "key, peer\n");
    for (size_t i = 0; i < sizeof peers / sizeof peers[0] && (!quick || peers[i] <= 10); i++)
        measure((struct setting){peers[i], 1, 10000, 100 * MS});
    printf("\n");
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++)
        measure((struct setting){5, 1, changed[i], 100 * MS});
    printf("\n");
    for (size_t i = 0; i < sizeof interval_ms / sizeof interval_ms[0]; i++)
        measure((struct setting){5, 1, 10000, interval_ms[i] * MS});
    printf("\n");
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++)
        measure((struct setting){12, regions[i], 10000, 100 * MS});
    effects_close(&world.effects);
    free(world.id);
    return 0;
}
