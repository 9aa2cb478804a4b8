#include "tests/lib/cluster_harness.h"

void world_start(unsigned i)
{
    struct world_host *host = &world.host[i];
    struct error error;
    assert(!host->node);
    host->options.incarnation = host->incarnation++;
    host->node = node_create(&host->options, &error);
    assert(host->node);
    node_validate(host->node);
    step(i, (struct event){.kind = EVENT_START}, i);
}

void world_start_all(void)
{
    for (unsigned i = 0; i < world.count; i++)
        world_start(i);
}

void world_crash(unsigned i)
{
    tell("%s crashes", host_names[i]);
    host_down(i);
}

void world_init_steps(uint64_t table_keys, uint32_t step_keys)
{
    world_init(2);
    world_name_all();
    for (unsigned i = 0; i < 2; i++) {
        world.host[i].options.table_keys = table_keys;
        world.host[i].options.step_keys = step_keys;
    }
}

void world_stop(unsigned i)
{
    tell("%s is asked to leave", host_names[i]);
    step(i, (struct event){.kind = EVENT_STOP}, i);
}

void world_forget(unsigned i, unsigned peer)
{
    step(i, (struct event){.kind = EVENT_FORGET, .name = host_names[peer]}, i);
}

void world_mute(unsigned i, unsigned peer, bool in, bool out)
{
    step(i, (struct event){.kind = EVENT_MUTE, .name = host_names[peer], .mute_in = in, .mute_out = out}, i);
}

void world_link(unsigned from, unsigned to, enum link_mood mood)
{
    world.link[from][to].mood = mood;
}

void world_link_both(unsigned one, unsigned other, enum link_mood mood)
{
    world_link(one, other, mood);
    world_link(other, one, mood);
}

void world_links(unsigned host, enum link_mood mood)
{
    for (unsigned other = 0; other < world.count; other++)
        if (other != host)
            world_link_both(host, other, mood);
}

void world_release(unsigned from, unsigned to, bool backwards)
{
    for (unsigned p = 0; p < world.packet_count; p++) {
        struct world_packet *packet = &world.packet[p];
        if (!packet->held || packet->from != from || packet->to != to)
            continue;
        packet->held = false;
        packet->at_ns = world.now_ns;
        packet->order = backwards ? UINT64_MAX - packet->order : packet->order;
    }
    world_link(from, to, LINK_FINE);
}

struct key_id key_of(const char *name, uint16_t limit)
{
    return key_id_of(&(struct hash_key){{0}}, world.limits.named.limit[limit].id, bytes_of("user"), bytes_of(name));
}

struct charge charge_at(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct error error;
    int limit = node_intern_limit(world.host[i].node, terms, &error);
    assert(limit >= 0);
    struct charge charge = {.id = key_of(key, 0), .cost = cost, .limit = (uint16_t)limit};
    if (terms->kind == LIMIT_CELL)
        charge.expires_ns = charge.window_end_ns = charge.window_ns = 3600000 * MS;
    return charge;
}

const char *reason_text(const struct verdict *verdict)
{
    switch (verdict->reason) {
    case VERDICT_ALLOWED:
        return "yes";
    case VERDICT_CAPACITY:
        return "no, nothing is left";
    case VERDICT_SHARE:
        return "no, not our share";
    case VERDICT_TOO_LARGE:
        return "never";
    case VERDICT_NOT_READY:
        return "no, joining";
    case VERDICT_LOG_FULL:
    case VERDICT_KEYS_FULL:
        return "no, overload";
    case VERDICT_ISOLATION:
        return "no, somebody is silent";
    case VERDICT_CONFIG_DIFFERS:
        return "no, another config";
    case VERDICT_DENY_LIST:
    case VERDICT_LIMIT_ZERO:
    case VERDICT_CENTRAL_DOWN:
    case VERDICT_REASON_COUNT:
        break;
    }
    return "?";
}

struct verdict world_ask(unsigned i, const char *key, uint16_t limit, uint64_t cost)
{
    return node_admit(world.host[i].node, key_of(key, limit), limit, cost, world.now_ns);
}

bool world_spend(unsigned i, const char *key, uint64_t cost)
{
    struct verdict verdict = world_ask(i, key, 0, cost);
    tell("%s: %" PRIu64 " of %s? %s", host_names[i], cost, key, reason_text(&verdict));
    return verdict.allowed;
}

unsigned world_drain(unsigned i, const char *key)
{
    unsigned count = 0;
    while (node_peek(world.host[i].node, key_of(key, 0), 0, 1, world.now_ns).available_tokens > 0 &&
           world_ask(i, key, 0, 1).allowed)
        count++;
    tell("%s: takes %u of %s, all it may", host_names[i], count, key);
    return count;
}

unsigned world_spend_many(unsigned host, const char *name, unsigned count)
{
    char key[32];
    unsigned given = 0;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        given += world_ask(host, key, 0, 1).allowed;
        if (i % 256 == 255)
            world_run(2);
        world_push(host);
    }
    return given;
}

unsigned world_count_left(unsigned host, const char *name, unsigned count, int64_t left)
{
    char key[32];
    unsigned equal = 0;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        struct bucket bucket = node_bucket(world.host[host].node, key_of(key, 0), 0, world.now_ns);
        equal += (bucket.settled - bucket.unsettled) / world.limits.limit[0].units_per_token == left;
    }
    return equal;
}

void world_show_wish(unsigned host)
{
    tell("%s %s", host_names[host],
         node_wants_step(world.host[host].node) ? "wants to speak" : "waits for its next batch");
}

void world_show_one(unsigned i, const char *key)
{
    double per_token = (double)world.limits.limit[0].units_per_token;
    struct node *node = world.host[i].node;
    struct bucket bucket = node_bucket(node, key_of(key, 0), 0, world.now_ns);
    struct verdict verdict = node_peek(node, key_of(key, 0), 0, 0, world.now_ns);
    struct node_stats stats;
    node_stats(node, &stats);
    tell("%s: %s %.1f - %.1f, may take %" PRIu64 ", keeps %" PRIu64, host_names[i], key,
         (double)bucket.settled / per_token, (double)bucket.unsettled / per_token, verdict.available_tokens,
         stats.log_batches);
}

void world_show(const char *key)
{
    for (unsigned i = 0; i < world.count; i++)
        if (world.host[i].node)
            world_show_one(i, key);
}

void world_show_peers(void)
{
    struct peer_report report[NODE_PEERS_MAX];
    for (unsigned i = 0; i < world.count; i++) {
        char line[256];
        int size = 0;
        if (!world.host[i].node)
            continue;
        size_t count = node_peers(world.host[i].node, world.now_ns, report);
        for (size_t p = 0; p < count; p++)
            size += snprintf(line + size, sizeof line - (size_t)size, "%s%s %s %.1f%%", p == 0 ? "" : ", ",
                             report[p].self ? "itself" : report[p].name, peer_state_name(report[p].state),
                             (double)report[p].share * 100 / (double)SHARE_ONE);
        tell("%s sees %s", host_names[i], line);
    }
}

struct node_stats world_stats(unsigned i)
{
    struct node_stats stats;
    node_stats(world.host[i].node, &stats);
    return stats;
}

static void show_lines(const char *title, const char *text)
{
    printf("# %s:\n", title);
    while (*text != '\0') {
        int size = (int)strcspn(text, "\n");
        printf("#   %.*s\n", size, text);
        text += size + (text[size] == '\n');
    }
}

void expect(const char *file, int line, const char *what, const char *expected)
{
    world.text[world.text_size] = '\0';
    if (!tap_report(strcmp(world.text, expected) == 0, file, line, "%s", what)) {
        show_lines("expected", expected);
        show_lines("got", world.text);
    }
    world.text_size = 0;
}

void skip_text(void)
{
    world.text_size = 0;
}

void world_close(void)
{
    for (unsigned i = 0; i < world.count; i++)
        host_down(i);
    while (world.packet_count > 0)
        free(world.packet[--world.packet_count].data);
    effects_close(&world.effects);
}

void world_of(unsigned count)
{
    world_init(count);
    world_name_all();
    world_start_all();
    world_run(1000);
    skip_text();
}
