/*
 * The queue of the store: a list of versions, and an array of counters with a hash index (open
 * addressing).
 */
#include "edge/store/store_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COUNTERS_MAX ((uint64_t)1 << 30)

enum { COUNTERS_PER_LOG = 16 };

bool store_queue_init(struct store_queue *queue, uint64_t counters_max, uint64_t versions_max_bytes)
{
    memset(queue, 0, sizeof *queue);
    queue->last = &queue->first;
    queue->versions_max_bytes = versions_max_bytes;
    if (counters_max > COUNTERS_MAX)
        counters_max = COUNTERS_MAX;
    uint32_t places = 16;
    while (places < 2 * counters_max)
        places *= 2;
    queue->counters_max = (uint32_t)counters_max;
    queue->place_mask = places - 1;
    queue->parts_max = queue->counters_max / COUNTERS_PER_LOG + 1;
    queue->counter = calloc(counters_max > 0 ? counters_max : 1, sizeof *queue->counter);
    queue->parts = calloc(queue->parts_max, sizeof *queue->parts);
    queue->place = calloc(places, sizeof *queue->place);
    return queue->counter && queue->parts && queue->place;
}

void store_queue_close(struct store_queue *queue)
{
    if (queue->counter && queue->place)
        store_queue_clear(queue);
    free(queue->counter);
    free(queue->parts);
    free(queue->place);
    memset(queue, 0, sizeof *queue);
}

static void copy_text(char **room, struct bytes *text)
{
    if (text->size > 0)
        memcpy(*room, text->data, text->size);
    text->data = *room;
    *room += text->size;
}

bool store_queue_add_version(struct store_queue *queue, const struct rule_record *version)
{
    const struct bytes *texts[] = {&version->service, &version->id, &version->author, &version->note,
                                   &version->text};
    size_t bytes = sizeof(struct waiting_version);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert(texts[i]->size <= STORE_FIELD_MAX_BYTES);
        bytes += texts[i]->size;
    }
    if (bytes > queue->versions_max_bytes - queue->version_bytes)
        return false;
    struct waiting_version *waiting = malloc(bytes);
    if (!waiting)
        return false;
    char *room = waiting->text;
    waiting->next = NULL;
    waiting->bytes = bytes;
    waiting->version = *version;
    copy_text(&room, &waiting->version.service);
    copy_text(&room, &waiting->version.id);
    copy_text(&room, &waiting->version.author);
    copy_text(&room, &waiting->version.note);
    copy_text(&room, &waiting->version.text);
    *queue->last = waiting;
    queue->last = &waiting->next;
    queue->version_count++;
    queue->version_bytes += bytes;
    return true;
}

/* Finds the index entry of an id. Ids are hashes already, and at most half of the entries are used. */
static uint32_t *place_of(struct store_queue *queue, struct key_id id)
{
    uint32_t at = (uint32_t)id.low & queue->place_mask;
    while (queue->place[at] != 0 && !key_id_equal(queue->counter[queue->place[at] - 1].id, id))
        at = (at + 1) & queue->place_mask;
    return &queue->place[at];
}

/* Room for the parts of a counter: what `waiting`, an older value of it, has. NULL: there is none. */
static struct store_part *room_for_parts(struct store_queue *queue, const struct store_counter *waiting)
{
    if (waiting->part)
        return queue->parts[(size_t)(waiting->part - queue->parts[0]) / STORE_PARTS_MAX];
    return queue->parts_count < queue->parts_max ? queue->parts[queue->parts_count++] : NULL;
}

static void copy_counter(struct store_queue *queue, struct store_counter *waiting,
                         const struct store_counter *counter)
{
    const uint32_t count = counter->part_count <= STORE_PARTS_MAX ? counter->part_count : 0;
    struct store_part *parts = waiting->part || count > 0 ? room_for_parts(queue, waiting) : NULL;
    if (parts && count > 0)
        memcpy(parts, counter->part, count * sizeof *parts);
    *waiting = *counter;
    waiting->part = parts;
    waiting->part_count = parts ? count : 0;
}

bool store_queue_add_counter(struct store_queue *queue, const struct store_counter *counter)
{
    assert(!queue->sorted);
    uint32_t *place = place_of(queue, counter->id);
    if (*place == 0) {
        if (queue->counter_count == queue->counters_max)
            return false;
        queue->counter[queue->counter_count].part = NULL;
        *place = ++queue->counter_count;
    }
    copy_counter(queue, &queue->counter[*place - 1], counter);
    return true;
}

/* Clears the index: entry by entry while counters are few. The search for an entry walks on over
 * entries that are already cleared. */
static void clear_places(struct store_queue *queue)
{
    if (queue->counter_count > queue->place_mask / 64) {
        memset(queue->place, 0, ((size_t)queue->place_mask + 1) * sizeof *queue->place);
        return;
    }
    for (uint32_t i = 0; i < queue->counter_count; i++) {
        uint32_t at = (uint32_t)queue->counter[i].id.low & queue->place_mask;
        while (queue->place[at] != i + 1)
            at = (at + 1) & queue->place_mask;
        queue->place[at] = 0;
    }
}

static int by_id(const void *left, const void *right)
{
    return key_id_compare(((const struct store_counter *)left)->id, ((const struct store_counter *)right)->id);
}

void store_queue_sort(struct store_queue *queue)
{
    if (queue->sorted)
        return;
    clear_places(queue);
    qsort(queue->counter, queue->counter_count, sizeof *queue->counter, by_id);
    queue->sorted = true;
}

void store_queue_clear(struct store_queue *queue)
{
    while (queue->first) {
        struct waiting_version *waiting = queue->first;
        queue->first = waiting->next;
        free(waiting);
    }
    queue->last = &queue->first;
    queue->version_count = queue->version_bytes = 0;
    if (!queue->sorted)
        clear_places(queue);
    queue->counter_count = queue->parts_count = 0;
    queue->sorted = false;
}
