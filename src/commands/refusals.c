#include "commands/refusals.h"

#include "base/spin.h"
#include "commands/hot.h"
#include "edge/process/log.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, SETS = REFUSALS_KEYS / WAYS };

/* A key under a rule. */
struct remembered {
    uint64_t hash;     /* 0: free */
    uint64_t until_ns; /* the end of its window */
    uint64_t repeats;
};

struct set {
    atomic_bool lock;
    struct remembered key[WAYS];
};

struct refusals {
    struct journal *journal;
    atomic_uint_least64_t repeated;
    struct set set[SETS];
};

struct refusals *refusals_create(struct journal *journal)
{
    struct refusals *refusals = calloc(1, sizeof *refusals);
    if (refusals != NULL)
        refusals->journal = journal;
    return refusals;
}

void refusals_destroy(struct refusals **refusals)
{
    free(*refusals);
    *refusals = NULL;
}

/* ---- once in each window ---- */

/* The place of the key, or else of the one whose window ends first. */
static struct remembered *place_of(struct set *set, uint64_t hash)
{
    struct remembered *first = &set->key[0];
    for (uint32_t i = 0; i < WAYS; i++) {
        if (set->key[i].hash == hash)
            return &set->key[i];
        if (set->key[i].until_ns < first->until_ns)
            first = &set->key[i];
    }
    return first;
}

static uint64_t window_of(const struct refusal *refusal)
{
    const uint64_t window_ns = refusal->window_ns == UINT64_MAX ? 0 : refusal->window_ns;
    return window_ns > REFUSALS_WINDOW_MIN_NS ? window_ns : REFUSALS_WINDOW_MIN_NS;
}

bool refusals_wants(struct refusals *refusals, const struct refusal *refusal, uint64_t now_ns, uint64_t *repeats)
{
    const uint64_t hash =
        (hash_fnv_name(hash_fnv_name(hash_fnv_name(refusal->fingerprint, refusal->service), refusal->rule),
                       refusal->tier)) |
        1;
    struct set *set = &refusals->set[(hash >> 32) & (SETS - 1)];
    spin_lock(&set->lock);
    struct remembered *key = place_of(set, hash);
    const bool is_known = key->hash == hash, wants = !is_known || now_ns >= key->until_ns;
    *repeats = is_known ? key->repeats : 0;
    if (wants)
        *key = (struct remembered){.hash = hash, .until_ns = now_ns + window_of(refusal)};
    else
        key->repeats++;
    spin_unlock(&set->lock);
    if (!wants)
        atomic_fetch_add_explicit(&refusals->repeated, 1, memory_order_relaxed);
    return wants;
}

/* ---- lines ---- */

struct line {
    size_t size;
    char text[JOURNAL_LINE_MAX_BYTES];
};

static void put(struct line *line, const char *text, size_t size)
{
    if (size > 0 && size < sizeof line->text - line->size) {
        memcpy(line->text + line->size, text, size);
        line->size += size;
    }
}

/* ,"name":"text", or null. No text has control characters: names have them encoded. */
static void put_member(struct line *line, const char *name, struct bytes text)
{
    put(line, line->size > 1 ? ",\"" : "\"", line->size > 1 ? 2 : 1);
    put(line, name, strlen(name));
    put(line, text.size > 0 ? "\":\"" : "\":null", text.size > 0 ? 3 : 6);
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        put(line, "\\", c == '"' || c == '\\');
        put(line, c < ' ' || c == 0x7f ? "?" : &text.data[i], 1);
    }
    put(line, "\"", text.size > 0);
}

static struct bytes text_of(const char *text)
{
    return bytes_of(text != NULL ? text : "");
}

void refusals_write(struct refusals *refusals, const struct refusal *refusal, const struct refusal_about *about)
{
    struct line line = {.size = 0};
    char text[HOT_FINGERPRINT_BYTES + LOG_TIME_BYTES];
    put(&line, "{", 1);
    put_member(&line, "time", (struct bytes){text, log_time(text, sizeof text)});
    put_member(&line, "region", text_of(about->region));
    put_member(&line, "node", text_of(about->node));
    put_member(&line, "service", refusal->service);
    put_member(&line, "rule", refusal->rule);
    put_member(&line, "tier", refusal->tier);
    put_member(&line, "mode", bytes_of(refusal->soft ? "soft" : "enforce"));
    put_member(&line, "reason", text_of(about->reason));
    hot_print_fingerprint(refusal->fingerprint, text);
    put_member(&line, "fingerprint", bytes_of(text));
    put_member(&line, "name", text_of(about->name));
    put_member(&line, "traceparent", about->trace);
    const int size = snprintf(text, sizeof text, ",\"repeats\":%" PRIu64 "}\n", about->repeats);
    put(&line, text, (size_t)size);
    (void)journal_put(refusals->journal, line.text, line.size);
}

void refusals_stats(struct refusals *refusals, struct refusals_stats *stats)
{
    journal_stats(refusals->journal, &stats->journal);
    stats->repeated = atomic_load_explicit(&refusals->repeated, memory_order_relaxed);
}
