/*
 * Writes reservations as records, and reads them.
 */
#include "persist_reservations.h"

#include "base/array.h"
#include "base/number.h"
#include "limit/bucket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x0a32646c65686e48u /* changes with the form of records */
#define NEVER INT64_MIN           /* the span of a time that is 0 */

struct head {
    uint64_t magic, reservation_bytes, charge_bytes, count, wall_ns;
    uint64_t incarnation;
    char name[NODE_NAME_BYTES]; /* of the node; the rest is 0 */
};

struct reservation_record {
    struct reservation_id id;
    uint64_t holder, charge_count;
    int64_t ends;
};

struct charge_record {
    struct key_id id, previous;
    uint64_t cost, floor_tokens, window_ns, granted;
    int64_t expires, window_ends, spent;
    uint64_t capacity, rate, period_ns, overshoot, home, used;
    int64_t used_expires;
    uint32_t counts;
    uint16_t patience_ms;
    uint8_t kind, flags, inherit, on_isolation, central, sliding, lease, shadow, unused[2];
};
_Static_assert(sizeof(struct reservation_record) == 40 && sizeof(struct charge_record) == 160,
               "records have no gaps");

/* ---- times ---- */

static int64_t span_of(uint64_t time_ns, uint64_t now_ns)
{
    const uint64_t most = INT64_MAX;
    if (time_ns == 0)
        return NEVER;
    return time_ns >= now_ns ? (int64_t)number_least(time_ns - now_ns, most)
                             : -(int64_t)number_least(now_ns - time_ns, most);
}

/* `now_ns` less the time that has passed since the span was taken; a time before this clock began is its first one. */
static uint64_t time_of(int64_t span, uint64_t now_ns, uint64_t passed_ns)
{
    uint64_t time_ns;
    if (span == NEVER)
        return 0;
    if (span >= 0)
        time_ns = (uint64_t)span >= passed_ns ? number_sum(now_ns, (uint64_t)span - passed_ns)
                                              : now_ns - number_least(now_ns, passed_ns - (uint64_t)span);
    else
        time_ns = now_ns - number_least(now_ns, number_sum(passed_ns, (uint64_t)-span));
    return time_ns > 0 ? time_ns : NODE_FIRST_NS;
}

/* ---- writing ---- */

struct writer {
    char *data;
    size_t size, room;
};

/* False: memory is short. */
static bool put(struct writer *writer, const void *bytes, size_t size)
{
    if (!ARRAY_RESERVE(writer->data, writer->room, writer->size + size))
        return false;
    memcpy(writer->data + writer->size, bytes, size);
    writer->size += size;
    return true;
}

static struct charge_record charge_record(const struct charge *charge, const struct counter *key, uint64_t now_ns)
{
    const struct limit_terms *terms = &key->terms;
    return (struct charge_record){.id = charge->id,
                                  .previous = charge->previous,
                                  .cost = charge->cost,
                                  .floor_tokens = charge->floor_tokens,
                                  .window_ns = charge->window_ns,
                                  .granted = charge->granted,
                                  .expires = span_of(charge->expires_ns, now_ns),
                                  .window_ends = span_of(charge->window_end_ns, now_ns),
                                  .spent = span_of(charge->spent_ns, now_ns),
                                  .capacity = terms->capacity,
                                  .rate = terms->rate,
                                  .period_ns = terms->period_ns,
                                  .overshoot = terms->overshoot,
                                  .home = terms->home,
                                  .used = key->number,
                                  .used_expires = span_of(key->expires_ns, now_ns),
                                  .counts = charge->counts,
                                  .patience_ms = charge->patience_ms,
                                  .kind = terms->kind,
                                  .flags = terms->flags,
                                  .inherit = charge->inherit,
                                  .on_isolation = charge->on_isolation,
                                  .central = charge->central,
                                  .sliding = charge->sliding,
                                  .lease = charge->lease,
                                  .shadow = charge->shadow};
}

static bool put_reservation(struct writer *writer, const struct node_reservation *open, uint64_t now_ns)
{
    const struct reservation_kept *kept = &open->kept;
    const struct reservation_record record = {.id = kept->id,
                                              .holder = kept->owner.holder,
                                              .charge_count = kept->count,
                                              .ends = span_of(kept->expires_ns, now_ns)};
    bool good = put(writer, &record, sizeof record);
    for (size_t i = 0; i < kept->count && good; i++) {
        const struct charge_record charge = charge_record(&kept->charge[i], &open->key[i], now_ns);
        good = put(writer, &charge, sizeof charge);
    }
    return good;
}

bool persist_keep_reservations(struct node *node, const char *name, const struct hash_key *key,
                               const struct persist_moment *moment, char **bytes, size_t *size)
{
    struct head head = {.magic = MAGIC,
                        .reservation_bytes = sizeof(struct reservation_record),
                        .charge_bytes = sizeof(struct charge_record),
                        .wall_ns = moment->wall_ns};
    struct writer writer = {0};
    struct node_reservation open;
    uint32_t place = 0;
    (void)snprintf(head.name, sizeof head.name, "%s", name);
    bool good = put(&writer, &head, sizeof head);
    for (; good && node_keep_reservation(node, &place, moment->now_ns, &open); head.count++) {
        head.incarnation = open.incarnation;
        good = put_reservation(&writer, &open, moment->now_ns);
    }
    if (good && head.count > 0) {
        memcpy(writer.data, &head, sizeof head);
        const struct key_id seal = hash_128(key, writer.data, writer.size);
        good = put(&writer, &seal, sizeof seal);
    }
    if (!good || head.count == 0) {
        free(writer.data);
        writer = (struct writer){0};
    }
    *bytes = writer.data;
    *size = writer.size;
    return good;
}

/* ---- reading ---- */

struct reader {
    struct bytes rest;
    uint64_t now_ns, passed_ns;
};

static bool take(struct reader *reader, void *bytes, size_t size)
{
    if (reader->rest.size < size)
        return false;
    memcpy(bytes, reader->rest.data, size);
    reader->rest.data += size;
    reader->rest.size -= size;
    return true;
}

static uint64_t reader_time(const struct reader *reader, int64_t span)
{
    return time_of(span, reader->now_ns, reader->passed_ns);
}

static struct charge charge_of(const struct charge_record *record, const struct reader *reader)
{
    return (struct charge){.id = record->id,
                           .previous = record->previous,
                           .cost = record->cost,
                           .floor_tokens = record->floor_tokens,
                           .expires_ns = reader_time(reader, record->expires),
                           .window_end_ns = reader_time(reader, record->window_ends),
                           .spent_ns = reader_time(reader, record->spent),
                           .window_ns = record->window_ns,
                           .granted = number_least(record->granted, record->cost),
                           .inherit = record->inherit,
                           .on_isolation = record->on_isolation,
                           .central = record->central,
                           .sliding = record->sliding != 0,
                           .lease = record->lease != 0,
                           .shadow = record->shadow != 0,
                           .patience_ms = record->patience_ms,
                           .counts = record->counts};
}

static struct counter key_of(const struct charge_record *record, const struct reader *reader)
{
    struct counter key = {.terms = {.kind = record->kind,
                                    .flags = record->flags,
                                    .capacity = record->capacity,
                                    .rate = record->rate,
                                    .period_ns = record->period_ns,
                                    .overshoot = record->overshoot,
                                    .home = record->home},
                          .id = record->id,
                          .number = record->used,
                          .expires_ns = reader_time(reader, record->used_expires)};
    if (bucket_number_is_time(&key.terms)) /* so much of it has passed */
        key.number -= number_least(key.number, reader->passed_ns);
    return key;
}

static bool take_reservation(struct reader *reader, struct node_reservation *former)
{
    struct reservation_record record;
    if (!take(reader, &record, sizeof record) || record.charge_count > CHARGES_MAX)
        return false;
    former->kept = (struct reservation_kept){.id = record.id,
                                             .owner.holder = record.holder,
                                             .expires_ns = reader_time(reader, record.ends),
                                             .count = (size_t)record.charge_count};
    for (size_t i = 0; i < former->kept.count; i++) {
        struct charge_record charge;
        if (!take(reader, &charge, sizeof charge))
            return false;
        former->kept.charge[i] = charge_of(&charge, reader);
        former->key[i] = key_of(&charge, reader);
    }
    return true;
}

/* True: the seal says that this release has written the bytes, with this key. */
static bool is_whole(struct bytes kept, const struct hash_key *key, struct head *head)
{
    struct key_id seal;
    if (kept.size < sizeof *head + sizeof seal)
        return false;
    memcpy(head, kept.data, sizeof *head);
    memcpy(&seal, kept.data + kept.size - sizeof seal, sizeof seal);
    return head->magic == MAGIC && head->reservation_bytes == sizeof(struct reservation_record) &&
           head->charge_bytes == sizeof(struct charge_record) &&
           key_id_equal(seal, hash_128(key, kept.data, kept.size - sizeof seal));
}

bool persist_recall_reservations(struct node *node, const char *name, const struct hash_key *key,
                                 const struct persist_moment *moment, struct bytes kept,
                                 struct persist_recalled *recalled)
{
    struct head head;
    struct node_reservation former;
    *recalled = (struct persist_recalled){0};
    if (!is_whole(kept, key, &head))
        return false;
    memcpy(recalled->name, head.name, sizeof recalled->name);
    if (strcmp(head.name, name) != 0)
        return false;
    former.incarnation = head.incarnation;
    struct reader reader = {.rest = {kept.data + sizeof head, kept.size - sizeof head - sizeof(struct key_id)},
                            .now_ns = moment->now_ns,
                            .passed_ns = moment->wall_ns - number_least(moment->wall_ns, head.wall_ns)};
    for (uint64_t i = 0; i < head.count && take_reservation(&reader, &former); i++) {
        if (node_recall_reservation(node, &former, moment->now_ns))
            recalled->open++;
        else
            recalled->ended++;
    }
    return true;
}
