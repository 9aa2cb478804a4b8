/*
 * Opens the store, restores the node from it, and passes the effects of steps to it.
 */
#include "keep.h"

#include "edge/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNTERS_WAITING_MAX = 1 << 22,
    VERSIONS_WAITING_MAX_BYTES = 1 << 30,
};

bool keep_open(struct keep *keep, const struct settings *settings, void (*wake)(void *context), void *context,
               struct notice *said, struct error *error)
{
    struct state_dir_options place = {
        .wanted = settings->state_dir,
        .systemd = getenv("STATE_DIRECTORY"),
        .parent = "/var/lib/headgate",
        .node = settings->node.name,
    };
    memset(keep, 0, sizeof *keep);
    *said = (struct notice){.level = NOTICE_INFO, .text = "nothing is kept over a restart: state_dir is none"};
    switch (state_dir_find(&place, keep->directory, error)) {
    case STATE_DIR_OFF:
        return true;
    case STATE_DIR_NONE:
        said->level = NOTICE_WARNING;
        (void)snprintf(said->text, sizeof said->text, "nothing is kept over a restart: %.190s", error->text);
        return true;
    case STATE_DIR_WRONG:
        return false;
    case STATE_DIR_READY:
        break;
    }
    static const char counted_with[] = "\377counters"; /* no key of a client has this text */
    uint64_t keys = settings->node.table_keys;
    struct store_options options = {
        .directory = keep->directory,
        .counters_max = keys < COUNTERS_WAITING_MAX ? keys : COUNTERS_WAITING_MAX,
        .versions_max_bytes = VERSIONS_WAITING_MAX_BYTES,
        .sync = settings->state_sync,
        .secret = hash_64(&settings->node.hash_key, counted_with, sizeof counted_with - 1),
        .wake = wake,
        .context = context,
    };
    (void)snprintf(said->text, sizeof said->text, "state is kept in %.150s%s%.70s", keep->directory,
                   error->text[0] ? ": " : "", error->text);
    if (error->text[0])
        said->level = NOTICE_WARNING;
    error->text[0] = '\0';
    keep->store = store_open(&options, error);
    return keep->store != NULL;
}

bool keep_close(struct keep *keep)
{
    bool written = store_close(&keep->store);
    free(keep->record);
    free(keep->counter);
    keep->record = NULL;
    keep->counter = NULL;
    keep->record_room = keep->counter_room = 0;
    return written;
}

/* ---- from the store to the node ---- */

struct restore {
    struct keep *keep;
    const struct keep_node *node;
    uint64_t wall_ns;
};

static void restore_versions(void *context, const struct rule_record *version, size_t count)
{
    struct restore *restore = context;
    struct event event = {.kind = EVENT_RESTORE, .versions = version, .version_count = count};
    restore->node->step(restore->node->context, &event);
    restore->keep->read_versions += count;
}

static void restore_counters(void *context, const struct store_counter *kept, size_t count)
{
    struct restore *restore = context;
    uint64_t now_ns = restore->node->now_ns;
    size_t valid = 0;
    struct counter *counter = calloc(count, sizeof *counter);
    for (size_t i = 0; counter && i < count; i++)
        valid += keep_counter_back(&kept[i], now_ns, restore->wall_ns, &counter[valid]);
    struct event event = {.kind = EVENT_RESTORE, .counters = counter, .counter_count = valid};
    if (valid > 0)
        restore->node->step(restore->node->context, &event);
    restore->keep->read_counters += valid;
    free(counter);
}

void keep_restore(struct keep *keep, const struct keep_node *node)
{
    struct restore restore = {.keep = keep, .node = node, .wall_ns = clock_wall_ns()};
    if (keep->store)
        store_read(keep->store, &(struct store_reader){&restore, restore_versions, restore_counters});
}

/* ---- from the node to the store ---- */

/* Makes room for `count` elements in an array with `*room`. False: memory is short. */
static bool make_room(void **array, size_t *room, size_t count, size_t size)
{
    if (count <= *room)
        return true;
    void *larger = realloc(*array, count * size);
    if (!larger)
        return false;
    *array = larger;
    *room = count;
    return true;
}

static bool record_room(struct keep *keep, size_t count)
{
    void *array = keep->record;
    bool good = make_room(&array, &keep->record_room, count, sizeof *keep->record);
    keep->record = array;
    return good;
}

static bool counter_room(struct keep *keep, size_t count)
{
    void *array = keep->counter;
    bool good = make_room(&array, &keep->counter_room, count, sizeof *keep->counter);
    keep->counter = array;
    return good;
}

void keep_counters(struct keep *keep, const struct effects *effects, uint64_t now_ns)
{
    if (!keep->store || effects->counter_count == 0 || !counter_room(keep, effects->counter_count))
        return;
    uint64_t wall_ns = clock_wall_ns();
    for (size_t i = 0; i < effects->counter_count; i++)
        keep->counter[i] = keep_counter(&effects->counter[i], now_ns, wall_ns);
    store_put_counters(keep->store, keep->counter, effects->counter_count);
}

void keep_versions(struct keep *keep, const struct effects *effects)
{
    if (!keep->store || effects->version_count == 0 || !record_room(keep, effects->version_count))
        return;
    for (size_t i = 0; i < effects->version_count; i++)
        keep->record[i] = effects->version[i]->record;
    store_put_versions(keep->store, keep->record, effects->version_count);
}

void keep_all(struct keep *keep, const struct node *node, const struct keep_node *steps)
{
    if (!keep->store || !store_wants_all(keep->store))
        return;
    steps->step(steps->context, &(struct event){.kind = EVENT_RETELL});
    const struct rulebook *book = node_rulebook(node);
    size_t count = rulebook_versions(book);
    if (count == 0 || !record_room(keep, count))
        return;
    for (size_t i = 0; i < count; i++)
        keep->record[i] = rulebook_version_at(book, i)->record;
    store_put_versions(keep->store, keep->record, count);
}
