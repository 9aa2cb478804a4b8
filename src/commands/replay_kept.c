/*
 * replay_kept: answers of idempotency keys as bytes, for a file.
 *
 * The one idea: a head, records of one size, and a seal of all that under the key of the hashes. A file of another
 * machine's byte order, of another form of records or of other hashes does not fit, and is of no use. Times are those
 * of the wall clock; where that was set back meanwhile, nothing is remembered for longer than from now on.
 */
#include "base/spin.h"
#include "commands/replay_table.h"

#include <string.h>

#define MAGIC 0x0a32656372676e48u /* changes with the form of records */

struct head {
    uint64_t magic, record_bytes, count;
};

struct record {
    struct key_id id;
    uint64_t request, owner, until_wall_ns, number;
    int64_t limit, remaining, available, retry_after_ms, reset_after_ms, window_ms;
    uint64_t over_limit;
    char rule[LIMIT_NAME_BYTES], reservation[RESERVATION_TEXT_BYTES];
};
_Static_assert((LIMIT_NAME_BYTES + RESERVATION_TEXT_BYTES) % sizeof(uint64_t) == 0, "records have no gaps");

size_t replays_kept_most(void)
{
    return sizeof(struct head) + (size_t)REPLAY_ROWS * REPLAY_ROW_PLACES * sizeof(struct record) +
           sizeof(struct key_id);
}

static struct record record_of(const struct replay_place *place, uint64_t until_wall_ns)
{
    const struct replay_answer *answer = &place->answer;
    struct record record = {.id = place->id,
                            .request = place->request,
                            .owner = place->owner,
                            .until_wall_ns = until_wall_ns,
                            .number = answer->number,
                            .limit = answer->figures.limit,
                            .remaining = answer->figures.remaining,
                            .available = answer->figures.available,
                            .retry_after_ms = answer->figures.retry_after_ms,
                            .reset_after_ms = answer->figures.reset_after_ms,
                            .window_ms = answer->window_ms,
                            .over_limit = answer->over_limit};
    memcpy(record.rule, answer->rule, strnlen(answer->rule, sizeof record.rule - 1));
    memcpy(record.reservation, answer->reservation, sizeof record.reservation);
    return record;
}

static struct replay_place place_of(const struct record *record, uint64_t until_ns)
{
    struct replay_place place = {.id = record->id,
                                 .request = record->request,
                                 .until_ns = until_ns,
                                 .owner = record->owner,
                                 .answer = {.figures = {record->limit, record->remaining, record->available,
                                                        record->retry_after_ms, record->reset_after_ms},
                                            .window_ms = record->window_ms,
                                            .over_limit = record->over_limit != 0,
                                            .number = record->number}};
    memcpy(place.answer.rule, record->rule, sizeof place.answer.rule - 1);
    memcpy(place.answer.reservation, record->reservation, sizeof place.answer.reservation);
    return place;
}

size_t replays_keep(struct replays *replays, char *bytes, uint64_t now_ns, uint64_t wall_ns)
{
    struct head head = {.magic = MAGIC, .record_bytes = sizeof(struct record)};
    size_t size = sizeof head;
    if (!atomic_load_explicit(&replays->any, memory_order_relaxed))
        return 0;
    for (uint32_t i = 0; i < REPLAY_ROWS; i++) {
        struct replay_row *row = &replays->row[i];
        spin_lock(&row->locked);
        for (uint32_t k = 0; k < REPLAY_ROW_PLACES; k++) {
            const struct replay_place *place = &row->place[k];
            if (place->until_ns <= now_ns)
                continue;
            const struct record record = record_of(place, wall_ns + (place->until_ns - now_ns));
            memcpy(bytes + size, &record, sizeof record);
            size += sizeof record;
            head.count++;
        }
        spin_unlock(&row->locked);
    }
    if (head.count == 0)
        return 0;
    memcpy(bytes, &head, sizeof head);
    const struct key_id seal = hash_128(&replays->key, bytes, size);
    memcpy(bytes + size, &seal, sizeof seal);
    return size + sizeof seal;
}

static bool is_whole(const struct replays *replays, struct bytes bytes, struct head *head)
{
    struct key_id seal;
    if (bytes.size < sizeof *head + sizeof seal)
        return false;
    memcpy(head, bytes.data, sizeof *head);
    if (head->magic != MAGIC || head->record_bytes != sizeof(struct record) ||
        head->count > (uint64_t)REPLAY_ROWS * REPLAY_ROW_PLACES ||
        bytes.size != sizeof *head + (size_t)head->count * sizeof(struct record) + sizeof seal)
        return false;
    memcpy(&seal, bytes.data + bytes.size - sizeof seal, sizeof seal);
    return key_id_equal(seal, hash_128(&replays->key, bytes.data, bytes.size - sizeof seal));
}

/* False: its time is over, or its row is full. */
static bool recall(struct replays *replays, const struct record *record, uint64_t now_ns, uint64_t wall_ns)
{
    struct replay_row *row = &replays->row[record->id.low % REPLAY_ROWS];
    if (record->until_wall_ns <= wall_ns)
        return false;
    const uint64_t left_ns = record->until_wall_ns - wall_ns;
    atomic_store_explicit(&replays->any, true, memory_order_relaxed);
    uint32_t at = 0;
    spin_lock(&row->locked);
    while (at < REPLAY_ROW_PLACES && row->place[at].until_ns > now_ns)
        at++;
    if (at < REPLAY_ROW_PLACES)
        row->place[at] = place_of(record, now_ns + (left_ns < REPLAY_NS ? left_ns : REPLAY_NS));
    spin_unlock(&row->locked);
    return at < REPLAY_ROW_PLACES;
}

int64_t replays_recall(struct replays *replays, struct bytes bytes, bool reservations, uint64_t now_ns,
                       uint64_t wall_ns)
{
    struct head head;
    int64_t count = 0;
    if (!is_whole(replays, bytes, &head))
        return -1;
    for (uint64_t i = 0; i < head.count; i++) {
        struct record record;
        memcpy(&record, bytes.data + sizeof head + (size_t)i * sizeof record, sizeof record);
        if (reservations || record.reservation[0] == '\0')
            count += recall(replays, &record, now_ns, wall_ns);
    }
    return count;
}
