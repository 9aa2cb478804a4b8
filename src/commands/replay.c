#include "commands/replay_table.h"

#include "base/number.h"
#include "base/spin.h"
#include "limit/key.h"
#include "wire/output.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(REPLAY_KEY_MAX_BYTES == 128, "as REPLAY_KEY_EXPECTED says");

enum { NUMBERS = 4 }; /* of a request, beside its texts */

struct replays *replays_create(const struct hash_key *key)
{
    struct replays *replays = calloc(1, sizeof *replays); /* untouched rows take no memory */
    if (replays != NULL)
        replays->key = *key;
    return replays;
}

void replays_destroy(struct replays **replays)
{
    free(*replays);
    *replays = NULL;
}

/* The place of the id, or REPLAY_ROW_PLACES. */
static uint32_t find(const struct replay_row *row, struct key_id id, uint64_t now_ns)
{
    uint32_t place = 0;
    while (place < REPLAY_ROW_PLACES &&
           !(key_id_equal(row->place[place].id, id) && row->place[place].until_ns > now_ns))
        place++;
    return place;
}

static uint32_t places_of(const struct replay_row *row, uint64_t owner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < REPLAY_ROW_PLACES; i++)
        count += row->place[i].owner == owner;
    return count;
}

/*
 * A place that nothing is remembered in. Where the row is full, the oldest answer of whoever has most places in it
 * goes; that is the owner itself if nobody has more: a flood of keys of one user takes nothing from who has few.
 */
static uint32_t choose(const struct replay_row *row, uint64_t owner, uint64_t now_ns)
{
    uint32_t chosen = REPLAY_ROW_PLACES, most = 0;
    for (uint32_t i = 0; i < REPLAY_ROW_PLACES; i++) {
        const struct replay_place *place = &row->place[i];
        if (place->until_ns <= now_ns)
            return i;
        const uint32_t places = 2 * places_of(row, place->owner) + (place->owner == owner);
        if (places > most || (places == most && place->until_ns < row->place[chosen].until_ns)) {
            most = places;
            chosen = i;
        }
    }
    return chosen;
}

static uint64_t owner_of(const struct replays *replays, const struct user *user)
{
    return hash_64(&replays->key, user->name, strlen(user->name));
}

static struct key_id id_of(const struct replays *replays, const struct user *user, struct bytes key)
{
    char text[USER_NAME_BYTES + REPLAY_KEY_MAX_BYTES];
    const size_t size = strlen(user->name) + 1; /* no key begins in the name */
    assert(key.size <= REPLAY_KEY_MAX_BYTES);
    memcpy(text, user->name, size);
    memcpy(text + size, key.data, key.size);
    return hash_128(&replays->key, text, size + key.size);
}

enum replay_status replay_open(struct replay *replay, struct replays *replays, const struct user *user,
                               struct bytes key, uint64_t request, uint64_t now_ns, struct replay_answer *answer)
{
    const struct key_id id = id_of(replays, user, key);
    const uint32_t at = (uint32_t)(id.low % REPLAY_ROWS);
    struct replay_row *row = &replays->row[at];
    spin_lock(&row->locked);
    const uint32_t place = find(row, id, now_ns);
    if (place == REPLAY_ROW_PLACES) {
        const uint64_t owner = owner_of(replays, user);
        *replay = (struct replay){replays, id, request, owner, at, choose(row, owner, now_ns)};
        return REPLAY_NEW;
    }
    const bool same = row->place[place].request == request;
    if (same)
        *answer = row->place[place].answer;
    spin_unlock(&row->locked);
    return same ? REPLAY_KNOWN : REPLAY_OTHER;
}

bool replay_close(struct replay *replay, const struct replay_answer *answer, uint64_t now_ns)
{
    struct replay_row *row = &replay->replays->row[replay->row];
    struct replay_place *place = &row->place[replay->place];
    const bool forgets = answer != NULL && place->until_ns > now_ns;
    if (answer != NULL) {
        atomic_store_explicit(&replay->replays->any, true, memory_order_relaxed);
        *place = (struct replay_place){replay->id, replay->request, now_ns + REPLAY_NS, replay->owner, *answer};
    }
    spin_unlock(&row->locked);
    return forgets;
}

bool replay_is_other(struct replays *replays, const struct user *user, struct bytes key, uint64_t request,
                     uint64_t now_ns)
{
    struct replay replay;
    struct replay_answer answer;
    const enum replay_status status = replay_open(&replay, replays, user, key, request, now_ns, &answer);
    if (status == REPLAY_NEW)
        (void)replay_close(&replay, NULL, now_ns);
    return status == REPLAY_OTHER;
}

void replay_note(struct replay_answer *answer, const struct verdict_report *report)
{
    const size_t size = number_least(report->rule.size, sizeof answer->rule - 1);
    memcpy(answer->rule, report->rule.data, size);
    answer->rule[size] = '\0';
    answer->figures = report->figures;
    answer->window_ms = report->window_ms;
    answer->over_limit = report->over_limit;
}

struct verdict_report replay_report(const struct replay_answer *answer)
{
    return (struct verdict_report){.allowed = true,
                                   .over_limit = answer->over_limit,
                                   .decider = -1,
                                   .rule = bytes_of(answer->rule),
                                   .figures = answer->figures,
                                   .window_ms = answer->window_ms};
}

/* ---- what a key stands for ---- */

bool replay_is_key(struct bytes key)
{
    if (key.size == 0 || key.size > REPLAY_KEY_MAX_BYTES)
        return false;
    for (size_t i = 0; i < key.size; i++)
        if (key.data[i] < ' ' || key.data[i] > '~')
            return false;
    return key.data[0] != ' ' && key.data[key.size - 1] != ' ';
}

uint64_t replay_request(const struct hash_key *key, const char *operation, const struct command_query *query)
{
    const uint64_t numbers[NUMBERS] = {(uint64_t)query->priority, query->cost, query->ttl_ms, query->id_count};
    char room[2 * KEY_VALUE_MAX_BYTES + 4 * COMMAND_SELECTOR_MAX_BYTES + 256];
    struct output output = output_over(room, sizeof room);
    uint64_t ids = 0, costs = 0;
    for (uint32_t i = 0; i < query->id_count; i++) {
        output.size = 0;
        output_append_sized(&output, query->id[i].dimension);
        output_append_sized(&output, query->id[i].value);
        ids += hash_64(key, output.data, output.size); /* in any order */
    }
    for (uint32_t i = 0; i < query->cost_count; i++) {
        output.size = 0;
        output_append_sized(&output, query->named_cost[i].name);
        output_append(&output, &query->named_cost[i].tokens, sizeof query->named_cost[i].tokens);
        costs += hash_64(key, output.data, output.size); /* likewise */
    }
    output.size = 0;
    output_append(&output, &ids, sizeof ids);
    output_append(&output, numbers, sizeof numbers);
    output_append(&output, &costs, sizeof costs);
    output_append_sized(&output, bytes_of(operation));
    output_append_sized(&output, query->service);
    output_append_sized(&output, query->endpoint);
    output_append_sized(&output, query->tier);
    output_append_sized(&output, query->rule);
    return hash_64(key, output.data, output.size);
}
