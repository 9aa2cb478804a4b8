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
    uint64_t keys = settings->node.table_keys;
    struct store_options options = {
        .directory = keep->directory,
        .counters_max = keys < COUNTERS_WAITING_MAX ? keys : COUNTERS_WAITING_MAX,
        .versions_max_bytes = VERSIONS_WAITING_MAX_BYTES,
        .sync = settings->state_sync,
        .wake = wake,
        .context = context,
    };
    (void)snprintf(said->text, sizeof said->text, "state is kept in %.200s", keep->directory);
    keep->store = store_open(&options, error);
    return keep->store != NULL;
}

void keep_close(struct keep *keep)
{
    store_close(&keep->store);
    free(keep->record);
    keep->record = NULL;
    keep->record_room = 0;
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

void keep_restore(struct keep *keep, const struct keep_node *node)
{
    struct restore restore = {.keep = keep, .node = node, .wall_ns = clock_wall_ns()};
    if (keep->store)
        store_read(keep->store, &(struct store_reader){&restore, restore_versions, NULL});
}

/* ---- from the node to the store ---- */

static bool make_room(struct keep *keep, size_t count)
{
    if (count <= keep->record_room)
        return true;
    struct rule_record *larger = realloc(keep->record, count * sizeof *larger);
    if (!larger)
        return false;
    keep->record = larger;
    keep->record_room = count;
    return true;
}

void keep_effects(struct keep *keep, const struct effects *effects, uint64_t now_ns)
{
    (void)now_ns;
    if (!keep->store)
        return;
    if (effects->version_count > 0 && make_room(keep, effects->version_count)) {
        for (size_t i = 0; i < effects->version_count; i++)
            keep->record[i] = effects->version[i]->record;
        store_put_versions(keep->store, keep->record, effects->version_count);
    }
}

void keep_all(struct keep *keep, const struct node *node)
{
    if (!keep->store || !store_wants_all(keep->store))
        return;
    const struct rulebook *book = node_rulebook(node);
    size_t count = book ? rulebook_versions(book) : 0;
    if (count == 0 || !make_room(keep, count))
        return;
    for (size_t i = 0; i < count; i++)
        keep->record[i] = rulebook_version_at(book, i)->record;
    store_put_versions(keep->store, keep->record, count);
}
