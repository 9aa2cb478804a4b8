/*
 * Opens the store, restores the node from it, and passes the effects of steps to it.
 */
#include "persist.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNTERS_WAITING_MAX = 1 << 22,
    VERSIONS_WAITING_MAX_BYTES = 1 << 30,
};

bool persist_find(struct persist *persist, const struct settings *settings, struct error *error)
{
    struct state_dir_options place = {
        .wanted = settings->state_dir,
        .systemd = getenv("STATE_DIRECTORY"),
        .parent = "/var/lib/headgate",
        .node = settings->node.name,
    };
    struct notice *notice = &persist->place;
    memset(persist, 0, sizeof *persist);
    *notice = (struct notice){.level = NOTICE_INFO, .text = "nothing is kept over a restart: state_dir is none"};
    switch (state_dir_find(&place, persist->directory, error)) {
    case STATE_DIR_OFF:
        return true;
    case STATE_DIR_NONE:
        persist->directory[0] = '\0';
        notice->level = NOTICE_WARNING;
        (void)snprintf(notice->text, sizeof notice->text, "nothing is kept over a restart: %.190s", error->text);
        return true;
    case STATE_DIR_WRONG:
        return false;
    case STATE_DIR_READY:
        break;
    }
    (void)snprintf(notice->text, sizeof notice->text, "state is kept in %.150s%s%.70s", persist->directory,
                   error->text[0] ? ": " : "", error->text);
    if (error->text[0])
        notice->level = NOTICE_WARNING;
    error->text[0] = '\0';
    return true;
}

static void keep_files(struct persist *persist, const struct settings *settings)
{
    persist_keep_seed(persist, settings);
    persist_keep_key(persist, settings);
}

bool persist_open(struct persist *persist, const struct settings *settings, void (*wake)(void *context),
                  void *context, struct error *error)
{
    static const char counted_with[] = "\377counters"; /* no key of a client has this text */
    uint64_t keys = settings->node.table_keys;
    struct store_options options = {
        .directory = persist->directory,
        .counters_max = keys < COUNTERS_WAITING_MAX ? keys : COUNTERS_WAITING_MAX,
        .versions_max_bytes = VERSIONS_WAITING_MAX_BYTES,
        .sync = settings->state_sync,
        .is_expected = persist->keeps_seed,
        .secret = hash_64(&settings->node.hash_key, counted_with, sizeof counted_with - 1),
        .wake = wake,
        .context = context,
    };
    if (!persist->directory[0])
        return true;
    persist->store = store_open(&options, error);
    if (persist->store != NULL)
        keep_files(persist, settings);
    return persist->store != NULL;
}

bool persist_finish(struct persist *persist)
{
    return !persist->store || store_finish(persist->store);
}

void persist_close(struct persist *persist)
{
    (void)store_close(&persist->store);
    free(persist->record);
    free(persist->counter);
    free(persist->part);
    persist->record = NULL;
    persist->counter = NULL;
    persist->part = NULL;
    persist->record_room = persist->counter_room = persist->part_room = 0;
}

/* ---- weights, keys of members and limits, as versions of no rule ---- */

/* No service can have these names: they have blanks. */
static const char weights_service[] = "weights of regions", keys_service[] = "keys of members",
                  limits_service[] = "limits of the config", all_id[] = "all";

static bool is_weights(const struct rule_record *record)
{
    return bytes_equal(record->service, bytes_of(weights_service));
}

static bool is_keys(const struct rule_record *record)
{
    return bytes_equal(record->service, bytes_of(keys_service));
}

static bool is_limits(const struct rule_record *record)
{
    return bytes_equal(record->service, bytes_of(limits_service));
}

static bool is_rule(const struct rule_record *record)
{
    return !is_weights(record) && !is_keys(record) && !is_limits(record);
}

static void put_text(struct persist *persist, const char *service, uint64_t number, struct bytes text)
{
    const struct rule_record record = {.stamp = {.lamport = number},
                                       .service = bytes_of(service),
                                       .id = bytes_of(all_id),
                                       .text = text};
    store_put_versions(persist->store, &record, 1);
}

static void put_weights(struct persist *persist, const struct effects *effects)
{
    put_text(persist, weights_service, effects->weights_number, effects->weights_text);
    persist->weights_number = effects->weights_number;
    persist->weights_put = store_versions_put(persist->store);
}

void persist_weights_kept(struct persist *persist, const struct persist_stepper *stepper)
{
    char why[NODE_NOTICE_BYTES];
    if (!persist->store || persist->weights_kept == persist->weights_number ||
        store_versions_kept(persist->store, persist->weights_put, why) != STORE_KEPT)
        return;
    persist->weights_kept = persist->weights_number;
    struct event event = {.kind = EVENT_WEIGHTS_KEPT, .weights_number = persist->weights_kept};
    stepper->step(stepper->context, &event);
}

/* ---- from the store to the node ---- */

struct restore {
    struct persist *persist;
    const struct persist_stepper *stepper;
    uint64_t wall_ns;
};

static void restore_weights(const struct restore *restore, const struct rule_record *record)
{
    struct event event = {.kind = EVENT_RESTORE,
                          .weights_text = record->text,
                          .weights_number = record->stamp.lamport};
    restore->stepper->step(restore->stepper->context, &event);
}

static void restore_keys(const struct restore *restore, const struct rule_record *record)
{
    struct event event = {.kind = EVENT_RESTORE, .keys_text = record->text, .keys_number = record->stamp.lamport};
    restore->stepper->step(restore->stepper->context, &event);
}

static void restore_limits(const struct restore *restore, const struct rule_record *record)
{
    struct event event = {.kind = EVENT_RESTORE,
                          .limits_text = record->text,
                          .limits_number = record->stamp.lamport};
    restore->stepper->step(restore->stepper->context, &event);
}

/* Weights, keys and limits stand among versions of rules, all states together, oldest first: the newest one counts. */
static void restore_versions(void *context, const struct rule_record *version, size_t count)
{
    struct restore *restore = context;
    for (size_t i = 0; i < count;) {
        size_t rules = 0;
        while (i + rules < count && is_rule(&version[i + rules]))
            rules++;
        struct event event = {.kind = EVENT_RESTORE, .versions = version + i, .version_count = rules};
        if (rules > 0)
            restore->stepper->step(restore->stepper->context, &event);
        restore->persist->read_versions += rules;
        for (i += rules; i < count && is_weights(&version[i]); i++)
            restore_weights(restore, &version[i]);
        for (; i < count && is_keys(&version[i]); i++)
            restore_keys(restore, &version[i]);
        for (; i < count && is_limits(&version[i]); i++)
            restore_limits(restore, &version[i]);
    }
}

static void restore_counters(void *context, const struct store_counter *kept, size_t count)
{
    struct restore *restore = context;
    uint64_t now_ns = restore->stepper->now_ns;
    size_t valid = 0, parts = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        parts += kept[i].part_count;
    struct counter *counter = calloc(count, sizeof *counter);
    struct counter_part *part = calloc(parts + 1, sizeof *part);
    parts = 0;
    for (size_t i = 0; counter && part && i < count; i++) {
        if (!persist_counter_back(&kept[i], now_ns, restore->wall_ns, &counter[valid]))
            continue;
        counter[valid].first_part = parts;
        counter[valid++].part_count = kept[i].part_count;
        for (uint32_t p = 0; p < kept[i].part_count; p++)
            part[parts++] = persist_part_back(&kept[i].part[p], now_ns, restore->wall_ns);
    }
    struct event event = {.kind = EVENT_RESTORE,
                          .counters = counter,
                          .counter_count = valid,
                          .counter_parts = part};
    if (valid > 0)
        restore->stepper->step(restore->stepper->context, &event);
    restore->persist->read_counters += valid;
    free(counter);
    free(part);
}

bool persist_restore(struct persist *persist, const struct persist_stepper *stepper, struct error *error)
{
    struct restore restore = {.persist = persist,
                              .stepper = stepper,
                              .wall_ns = steady_wall_ns(&persist->steady_wall)};
    return !persist->store ||
           store_read(persist->store, &(struct store_reader){&restore, restore_versions, restore_counters}, error);
}

/* ---- from the node to the store ---- */

void persist_counters(struct persist *persist, const struct effects *effects, uint64_t now_ns)
{
    if (!persist->store || effects->counter_count == 0 ||
        !ARRAY_RESERVE(persist->counter, persist->counter_room, effects->counter_count) ||
        !ARRAY_RESERVE(persist->part, persist->part_room, effects->counter_part_count))
        return;
    uint64_t wall_ns = steady_wall_ns(&persist->steady_wall);
    for (size_t i = 0; i < effects->counter_part_count; i++)
        persist->part[i] = persist_part(&effects->counter_part[i], now_ns, wall_ns);
    for (size_t i = 0; i < effects->counter_count; i++) {
        const struct counter *counter = &effects->counter[i];
        persist->counter[i] = persist_counter(counter, now_ns, wall_ns);
        persist->counter[i].part_count = counter->part_count;
        persist->counter[i].part = counter->part_count > 0 ? persist->part + counter->first_part : NULL;
    }
    store_put_counters(persist->store, persist->counter, effects->counter_count);
}

void persist_versions(struct persist *persist, const struct effects *effects)
{
    if (persist->store && effects->weights_text.size > 0)
        put_weights(persist, effects);
    if (persist->store && effects->keys_text.size > 0)
        put_text(persist, keys_service, effects->keys_number, effects->keys_text);
    if (persist->store && effects->limits_text.size > 0)
        put_text(persist, limits_service, effects->limits_number, effects->limits_text);
    if (!persist->store || effects->version_count == 0 ||
        !ARRAY_RESERVE(persist->record, persist->record_room, effects->version_count))
        return;
    for (size_t i = 0; i < effects->version_count; i++)
        persist->record[i] = effects->version[i]->record;
    store_put_versions(persist->store, persist->record, effects->version_count);
}

void persist_all(struct persist *persist, const struct node *node, const struct persist_stepper *stepper)
{
    if (!persist->store || !store_wants_all(persist->store))
        return;
    stepper->step(stepper->context, &(struct event){.kind = EVENT_RETELL});
    const struct rulebook *book = node_rulebook(node);
    size_t count = rulebook_versions(book);
    if (count == 0 || !ARRAY_RESERVE(persist->record, persist->record_room, count))
        return;
    for (size_t i = 0; i < count; i++)
        persist->record[i] = rulebook_version_at(book, i)->record;
    store_put_versions(persist->store, persist->record, count);
}
