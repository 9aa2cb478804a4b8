/*
 * Reads INFO: "name:value" lines, of which some values are "name=value,name=value".
 */
#include "operator/top.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

/* The part "name=" of "a=1,name=2"; .data NULL: there is none. */
static struct bytes part_of(struct bytes value, const char *name)
{
    const size_t size = strlen(name);
    for (size_t at = 0; at < value.size;) {
        const char *comma = memchr(value.data + at, ',', value.size - at);
        const size_t part = comma != NULL ? (size_t)(comma - value.data) - at : value.size - at;
        if (part > size && value.data[at + size] == '=' && memcmp(value.data + at, name, size) == 0)
            return (struct bytes){value.data + at + size + 1, part - size - 1};
        at += part + 1;
    }
    return (struct bytes){0};
}

static void copy(char *to, size_t room, struct bytes from)
{
    const size_t size = from.size < room - 1 ? from.size : room - 1;
    if (size > 0)
        memcpy(to, from.data, size);
    to[size] = '\0';
}

static const char *digits_of(struct bytes value, char room[32])
{
    copy(room, 32, value);
    return room;
}

static uint64_t number_of(struct bytes value)
{
    char digits[32];
    return strtoull(digits_of(value, digits), NULL, 10);
}

static double fraction_of(struct bytes value)
{
    char digits[32];
    return strtod(digits_of(value, digits), NULL);
}

static void read_peer(struct top *top, struct bytes name, struct bytes value)
{
    char heard[32];
    if (top->peer_count == TOP_PEERS_MAX)
        return;
    struct top_peer *peer = &top->peer[top->peer_count++];
    copy(peer->name, sizeof peer->name, name);
    copy(peer->region, sizeof peer->region, part_of(value, "region"));
    copy(peer->state, sizeof peer->state, part_of(value, "state"));
    peer->self = strcmp(peer->name, top->node) == 0;
    peer->forgotten = number_of(part_of(value, "forgotten")) > 0;
    peer->config_differs = bytes_equal(part_of(value, "config"), bytes_of("differs"));
    peer->share = fraction_of(part_of(value, "share"));
    peer->heard_ms = strtoll(digits_of(part_of(value, "heard_ms"), heard), NULL, 10);
    peer->lag = number_of(part_of(value, "lag"));
    peer->log = number_of(part_of(value, "log"));
    copy(peer->clock, sizeof peer->clock, part_of(value, "clock"));
    peer->clock_rate = fraction_of(part_of(value, "clock_rate"));
    peer->clock_jumps = number_of(part_of(value, "clock_jumps"));
}

static void read_rule(struct top *top, struct bytes name, struct bytes value)
{
    if (top->rule_count == TOP_RULES_MAX) {
        top->rules_left_out++;
        return;
    }
    struct top_rule *rule = &top->rule[top->rule_count++];
    copy(rule->name, sizeof rule->name, name);
    rule->allowed = number_of(part_of(value, "allowed"));
    rule->denied = number_of(part_of(value, "denied"));
    rule->shadow_denied = number_of(part_of(value, "shadow_denied"));
    rule->over_limit = number_of(part_of(value, "over_limit"));
}

/* The rest of a name behind `prefix`; .data NULL: it does not begin so. */
static struct bytes behind(struct bytes name, const char *prefix)
{
    const size_t size = strlen(prefix);
    if (name.size <= size || memcmp(name.data, prefix, size) != 0)
        return (struct bytes){0};
    return (struct bytes){name.data + size, name.size - size};
}

static void read_field(struct top *top, struct bytes name, struct bytes value)
{
    const struct {
        const char *name;
        char *text;
    } texts[] = {{"headgate_version", top->version},
                 {"node", top->node},
                 {"region", top->region},
                 {"state", top->state}};
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"uptime_in_seconds", &top->uptime_s},   {"admitted_requests", &top->admitted},
                   {"refused_requests", &top->refused},     {"used_keys", &top->keys},
                   {"connected_clients", &top->clients},    {"used_memory", &top->memory_bytes},
                   {"worst_debt_tokens", &top->worst_debt}, {"rules_not_shown", &top->rules_left_out}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (bytes_equal(name, bytes_of(texts[i].name)))
            copy(texts[i].text, TOP_NAME_BYTES, value);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (bytes_equal(name, bytes_of(numbers[i].name)))
            *numbers[i].number += number_of(value);
    if (bytes_equal(name, bytes_of("share")))
        top->share = fraction_of(value);
    const struct bytes peer = behind(name, "peer_"), rule = behind(name, "rule_");
    if (peer.data != NULL && part_of(value, "region").data != NULL)
        read_peer(top, peer, value);
    else if (rule.data != NULL && part_of(value, "allowed").data != NULL)
        read_rule(top, rule, value);
}

bool top_read(struct top *top, const char *info, uint64_t at_ms)
{
    *top = (struct top){.at_ms = at_ms};
    while (*info != '\0') {
        const size_t size = strcspn(info, "\r\n");
        const char *colon = memchr(info, ':', size);
        if (colon != NULL && info[0] != '#')
            read_field(top, (struct bytes){info, (size_t)(colon - info)},
                       (struct bytes){colon + 1, size - (size_t)(colon - info) - 1});
        info += size;
        info += strspn(info, "\r\n");
    }
    return top->version[0] != '\0' && top->node[0] != '\0' && top->state[0] != '\0';
}
