#include "edge/settings/settings.h"

#include "base/units.h"
#include "edge/settings/settings_http.h"
#include "edge/settings/settings_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for the texts of numbers, which settings_text only points at. */
enum { TEXTS_MAX = 32 + NODE_REGIONS_MAX + 3 * NAMED_LIMITS_MAX };

struct printer {
    struct settings_text text;
    struct region_text regions[NODE_REGIONS_MAX];
    struct peer_text peers[NODE_PEERS_MAX];
    struct limit_text limits[NAMED_LIMITS_MAX];
    char texts[TEXTS_MAX][UNITS_TEXT_BYTES];
    char headers[SETTINGS_HEADERS_BYTES];
    size_t used;
    struct settings settings; /* a copy to point into */
};

static char *room(struct printer *printer)
{
    assert(printer->used < TEXTS_MAX);
    return printer->texts[printer->used++];
}

static char *word(struct printer *printer, const char *text)
{
    char *out = room(printer);
    (void)snprintf(out, UNITS_TEXT_BYTES, "%s", text);
    return out;
}

static char *duration(struct printer *printer, uint64_t ns)
{
    char *out = room(printer);
    (void)units_format_duration(out, UNITS_TEXT_BYTES, ns);
    return out;
}

static char *size_text(struct printer *printer, uint64_t bytes)
{
    char *out = room(printer);
    (void)units_format_size(out, UNITS_TEXT_BYTES, bytes);
    return out;
}

static char *number(struct printer *printer, uint64_t value)
{
    char *out = room(printer);
    (void)snprintf(out, UNITS_TEXT_BYTES, "%llu", (unsigned long long)value);
    return out;
}

/* `share` of 2^32 as a decimal of the whole with the fewest digits that read back to it. */
static char *fraction(struct printer *printer, uint64_t share, uint64_t whole, const char *unit)
{
    char *out = room(printer);
    /* Reading rounds down, so that the least decimal that reaches the share is the one that was written. */
    uint64_t parts = (share * whole + SHARE_ONE - 1) / SHARE_ONE;
    uint64_t one = unit[0] ? whole / 100 : whole;
    int digits = unit[0] ? 4 : 9;
    (void)snprintf(out, UNITS_TEXT_BYTES, "%llu.%0*llu", (unsigned long long)(parts / one), digits,
                   (unsigned long long)(parts % one));
    size_t size = strlen(out);
    while (out[size - 1] == '0')
        size--;
    size -= out[size - 1] == '.';
    (void)snprintf(out + size, UNITS_TEXT_BYTES - size, "%s", unit);
    return out;
}

static void print_lists(struct printer *printer)
{
    struct settings *settings = &printer->settings;
    struct node_options *node = &settings->node;
    struct settings_text *text = &printer->text;
    text->regions = printer->regions;
    text->region_count = node->region_count;
    for (uint32_t i = 0; i < node->region_count; i++)
        printer->regions[i] = (struct region_text){node->regions[i].region,
                                                   fraction(printer, node->regions[i].weight, 1000000000, "")};
    text->peers = printer->peers;
    text->peer_count = node->peer_count;
    for (uint32_t i = 0; i < node->peer_count; i++)
        printer->peers[i] = (struct peer_text){node->peers[i].name, node->peers[i].region,
                                               node->peers[i].gossip_address, node->peers[i].snapshot_address};
    text->limits = printer->limits;
    text->limit_count = settings->limits.count;
    for (uint32_t i = 0; i < settings->limits.count; i++) {
        struct named_limit *limit = &settings->limits.limit[i];
        char *rate = room(printer);
        (void)units_format_rate(rate, UNITS_TEXT_BYTES, limit->terms.rate, limit->terms.period_ns);
        printer->limits[i] = (struct limit_text){limit->name, number(printer, limit->terms.capacity), rate,
                                                 number(printer, limit->terms.overshoot),
                                                 i == settings->limits.by_default ? word(printer, "true") : NULL};
    }
}

static void print_values(struct printer *printer)
{
    struct settings *settings = &printer->settings;
    struct node_options *node = &settings->node;
    struct settings_text *text = &printer->text;
    text->node = node->name;
    text->region = node->region;
    text->listen =
        (struct listen_text){settings->clients_address, settings->gossip_address, settings->snapshot_address,
                             settings->http_address[0] ? settings->http_address : NULL};
    if (settings->http_address[0]) {
        settings_print_sources(&settings->http, printer->headers);
        text->http = (struct http_text){word(printer, http_limit_fields_name(settings->http.limit_fields)),
                                        printer->headers[0] ? printer->headers : NULL};
    }
    text->advertise = settings->advertise[0] ? settings->advertise : NULL;
    text->interval = duration(printer, node->interval_ns);
    text->early_push =
        node->early_push_share ? fraction(printer, node->early_push_share, 1000000, "%") : word(printer, "auto");
    text->silent_after = duration(printer, node->silent_after_ns);
    text->join_timeout = duration(printer, node->join_timeout_ns);
    text->leave_timeout = duration(printer, node->leave_timeout_ns);
    text->forget_after = node->forget_after_ns ? duration(printer, node->forget_after_ns) : word(printer, "off");
    text->table.keys = number(printer, node->table_keys);
    text->table.listed_spends = number(printer, node->events_max);
    text->table.populate = word(printer, settings->table_populate ? "true" : "false");
    text->rules =
        (struct rules_text){number(printer, node->rules.services_max), number(printer, node->rules.rules_max),
                            number(printer, node->rules.service_rules_max),
                            number(printer, settings->service_keys_max),
                            node->reservations_max ? number(printer, node->service_reservations_max) : NULL};
    text->unknown_service = word(printer, node->unknown_service_open ? "open" : "error");
    text->reservations = number(printer, node->reservations_max);
    if (node->reservations_max)
        text->reservation_ttl_max = duration(printer, settings->reservation_ttl_max_ns);
    text->unlisted_peers = number(printer, node->unlisted_max);
    text->gossip_pace = number(printer, node->tell_pace);
    text->log_keys = number(printer, node->log_keys_max);
    text->message_max = size_text(printer, node->message_max_bytes);
    text->max_connections = number(printer, settings->max_connections);
    text->clients =
        (struct clients_text){duration(printer, settings->request_timeout_ns),
                              settings->password[0] ? duration(printer, settings->auth_timeout_ns) : NULL,
                              settings->idle_timeout_ns ? duration(printer, settings->idle_timeout_ns)
                                                        : word(printer, "off")};
    text->threads = number(printer, settings->threads);
    text->state_dir = settings->state_dir[0] ? settings->state_dir : NULL;
    text->state_sync = word(printer, settings->state_sync == STORE_SYNC_FULL ? "full" : "normal");
    text->secret = settings->secret[0] ? settings->secret : settings->secret_is_none ? word(printer, "none") : NULL;
    text->password = settings->password[0] ? settings->password : NULL;
    text->log_level = word(printer, log_level_name(settings->log_level));
    text->debug = word(printer, settings->debug ? "true" : "false");
}

bool settings_print(const struct settings *settings, FILE *out)
{
    struct printer *printer = calloc(1, sizeof *printer);
    if (!printer)
        return false;
    printer->settings = *settings;
    print_values(printer);
    print_lists(printer);
    bool printed = settings_text_write(&printer->text, out);
    free(printer);
    return printed;
}

/* ---- the digest ---- */

/* Lists that may stand in another order in another file are summed up in an order-free way: by adding hashes. */
uint64_t settings_digest(const struct settings *settings)
{
    const struct hash_key *key = &settings->node.hash_key;
    char line[2 * LIMIT_NAME_BYTES + 200];
    uint64_t sum = 0;
    int size = snprintf(line, sizeof line, "interval %llu ns", (unsigned long long)settings->node.interval_ns);
    sum += hash_64(key, line, (size_t)size);
    for (uint32_t i = 0; i < settings->node.region_count; i++) {
        const struct region_weight *region = &settings->node.regions[i];
        size = snprintf(line, sizeof line, "region %s weight %llu", region->region,
                        (unsigned long long)region->weight);
        sum += hash_64(key, line, (size_t)size);
    }
    for (uint32_t i = 0; i < settings->limits.count; i++) {
        const struct named_limit *named = &settings->limits.limit[i];
        struct limit limit;
        struct error error;
        bool sound = limit_init(&limit, &named->terms, &error);
        assert(sound);
        /* 100/s and 6000/m are the same; the derived units are equal for equal rates. */
        size =
            snprintf(line, sizeof line, "limit %s capacity %llu units %lld tick %lld per %llu ns overshoot %llu%s",
                     named->name, (unsigned long long)limit.capacity, (long long)limit.units_per_token,
                     (long long)limit.units_per_tick, (unsigned long long)limit.tick_ns,
                     (unsigned long long)limit.overshoot, i == settings->limits.by_default ? " default" : "");
        sum += hash_64(key, line, (size_t)size);
    }
    return sum;
}
