/*
 * The lists and overrides of one version as hash tables, and its conditions (`when`) as others: single
 * values by their hash, prefixes and networks by their bytes and length.
 */
#include "base/bits.h"
#include "limit/key.h"
#include "rules/ruleset_state.h"

#include <assert.h>

/* ---- construction ---- */

struct roster_maker {
    const struct service *service;
    struct roster *roster;
    struct roster_patterns *patterns; /* the roster's patterns while they are writable; NULL: none */
};

static unsigned dimension_of(const struct roster_maker *maker, struct bytes name)
{
    int bit = word_find(maker->service->dimension, maker->service->dimension_count, name);
    assert(bit >= 0);
    return (unsigned)bit;
}

/* Adds an entry unless the value has one: entries come in order of strength (deny, allow,
 * overrides). */
static void add_value(struct roster_maker *maker, unsigned dimension, struct bytes value, struct roster_entry entry)
{
    struct roster *roster = maker->roster;
    entry.part = key_part(&maker->service->dimension_key[dimension], value);
    uint32_t at = (uint32_t)entry.part.low & roster->mask;
    for (; roster->entry[at].kind != ROSTER_EMPTY; at = (at + 1) & roster->mask)
        if (key_id_equal(roster->entry[at].part, entry.part))
            return;
    roster->entry[at] = entry;
}

static uint32_t pattern_hash(struct bytes head, unsigned dimension, unsigned form, unsigned length)
{
    return (uint32_t)text_hash(head, (uint64_t)dimension << 24 | form << 16 | length);
}

/* The entry of the pattern, or the free entry where it belongs. */
static struct roster_pattern *place_of(const struct roster_patterns *patterns, struct bytes head,
                                       unsigned dimension, unsigned form, unsigned length)
{
    const uint32_t hash = pattern_hash(head, dimension, form, length);
    for (uint32_t at = hash & patterns->mask;; at = (at + 1) & patterns->mask) {
        struct roster_pattern *there = &patterns->pattern[at];
        if (!there->head.data || (there->hash == hash && there->dimension == dimension && there->form == form &&
                                  there->length == length && bytes_equal(there->head, head)))
            return there;
    }
}

static struct roster_lengths *lengths_of(const struct roster_patterns *patterns, unsigned dimension)
{
    return &patterns->lengths[bits_count(patterns->dimensions & (((uint32_t)1 << dimension) - 1))];
}

/* False: there are too many lengths. */
static bool add_length(struct roster_lengths *lengths, unsigned form, uint8_t length)
{
    uint8_t *row = lengths->length[form], count = lengths->count[form], at = 0;
    while (at < count && row[at] > length)
        at++;
    if (at < count && row[at] == length)
        return true;
    if (count == ROSTER_LENGTHS_MAX)
        return false;
    memmove(row + at + 1, row + at, (size_t)(count - at));
    row[at] = length;
    lengths->count[form]++;
    return true;
}

static bool add_pattern(struct roster_maker *maker, struct arena *arena, unsigned dimension,
                        enum rule_form rule_form, struct bytes value, struct roster_entry entry,
                        struct error *error)
{
    struct roster_patterns *patterns = maker->patterns;
    struct network network = {.bits = 0};
    struct bytes head = value;
    unsigned form = ROSTER_PREFIX, length = (unsigned)value.size;
    if (rule_form == RULE_NETWORK) {
        enum network_status status = network_parse(value, &network);
        assert(status == NETWORK_GOOD);
        head = (struct bytes){(const char *)network.first.byte, sizeof network.first.byte};
        form = network.first.ipv6 ? ROSTER_IPV6 : ROSTER_IPV4;
        length = network.bits;
    }
    struct roster_pattern *place = place_of(patterns, head, dimension, form, length);
    if (place->head.data)
        return true;
    *place = (struct roster_pattern){.head = head.size > 0 ? arena_copy(arena, head) : bytes_of(""),
                                     .hash = pattern_hash(head, dimension, form, length),
                                     .dimension = (uint8_t)dimension,
                                     .form = (uint8_t)form,
                                     .length = (uint8_t)length,
                                     .entry = entry};
    if (!place->head.data)
        return error_set(error, 71, "not enough memory");
    return add_length(lengths_of(patterns, dimension), form, (uint8_t)length) ||
           error_set(error, 65, "its lists and overrides have %s of more than %d different lengths for %.*s",
                     form == ROSTER_PREFIX ? "beginnings" : "networks", ROSTER_LENGTHS_MAX,
                     (int)maker->service->dimension[dimension].text.size,
                     maker->service->dimension[dimension].text.data);
}

/* One entry of a list or an override. Among entries for one value the first in this order counts. */
struct named {
    struct bytes dimension, value;
    enum rule_form form;
    struct roster_entry entry;
};

static struct named condition_at(const struct variant *variant, const struct rule *rule, uint32_t index)
{
    (void)variant;
    return (struct named){rule->when[index].dimension,
                          rule->when[index].value,
                          (enum rule_form)rule->when[index].form,
                          {.kind = ROSTER_WHEN}};
}

static struct named named_at(const struct variant *variant, const struct rule *rule, uint32_t index)
{
    if (index < rule->deny_count)
        return (struct named){rule->deny[index].dimension,
                              rule->deny[index].value,
                              (enum rule_form)rule->deny[index].form,
                              {.kind = ROSTER_DENY}};
    index -= rule->deny_count;
    if (index < rule->allow_count)
        return (struct named){rule->allow[index].dimension,
                              rule->allow[index].value,
                              (enum rule_form)rule->allow[index].form,
                              {.kind = ROSTER_ALLOW}};
    index -= rule->allow_count;
    const struct rule_override *override = &rule->overrides[index];
    return (struct named){rule->by[override->dimension],
                          override->value,
                          (enum rule_form) override->form,
                          {.kind = ROSTER_OVERRIDE,
                           .until_s = override->until_s > 0 ? override->until_s : UINT64_MAX,
                           .amount = &variant->overrides[index]}};
}

static uint32_t slots_for(uint32_t count)
{
    uint32_t slots = 4;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

/* Makes room for `count` patterns about these dimensions. */
static bool make_patterns(struct roster_maker *maker, struct arena *arena, uint32_t count, uint32_t dimensions)
{
    struct roster_patterns *patterns = arena_take(arena, 1, sizeof *patterns);
    if (!patterns)
        return false;
    patterns->dimensions = dimensions;
    patterns->mask = slots_for(count) - 1;
    patterns->pattern = arena_take(arena, patterns->mask + 1, sizeof *patterns->pattern);
    patterns->lengths = arena_take(arena, bits_count(dimensions), sizeof *patterns->lengths);
    maker->patterns = patterns;
    maker->roster->patterns = patterns;
    return patterns->pattern && patterns->lengths;
}

/* Makes the roster of these entries: *made, or NULL if there are none. */
static bool make_roster(struct service *service, const struct variant *variant, const struct rule *rule,
                        struct named (*entry_at)(const struct variant *, const struct rule *, uint32_t),
                        uint32_t count, const struct roster **made, struct error *error)
{
    uint32_t patterns = 0, pattern_dimensions = 0;
    if (count == 0)
        return true;
    struct roster *roster = arena_take(&service->arena, 1, sizeof *roster);
    struct roster_maker maker = {.service = service, .roster = roster};
    for (uint32_t i = 0; i < count; i++) {
        const struct named named = entry_at(variant, rule, i);
        if (named.form != RULE_EXACT)
            pattern_dimensions |= (uint32_t)1 << dimension_of(&maker, named.dimension);
        patterns += named.form != RULE_EXACT;
    }
    if (roster)
        roster->entry = arena_take(&service->arena, slots_for(count - patterns), sizeof *roster->entry);
    if (!roster || !roster->entry ||
        (patterns > 0 && !make_patterns(&maker, &service->arena, patterns, pattern_dimensions)))
        return error_set(error, 71, "not enough memory");
    roster->mask = slots_for(count - patterns) - 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct named named = entry_at(variant, rule, i);
        unsigned dimension = dimension_of(&maker, named.dimension);
        roster->dimensions |= (uint32_t)1 << dimension;
        if (named.form == RULE_EXACT)
            add_value(&maker, dimension, named.value, named.entry);
        else if (!add_pattern(&maker, &service->arena, dimension, named.form, named.value, named.entry, error))
            return false;
    }
    *made = roster;
    return true;
}

bool roster_compile(struct service *service, struct variant *variant, const struct rule *rule, struct error *error)
{
    const uint32_t count = (uint32_t)rule->deny_count + rule->allow_count + rule->override_count;
    return make_roster(service, variant, rule, named_at, count, &variant->roster, error) &&
           make_roster(service, variant, rule, condition_at, rule->when_count, &variant->when, error);
}

/* ---- look-up ---- */

void roster_walk_begin(struct roster_walk *walk, const struct roster_patterns *patterns, unsigned dimension,
                       struct bytes value)
{
    walk->patterns = patterns;
    walk->lengths = lengths_of(patterns, dimension);
    walk->value = value;
    walk->dimension = (uint8_t)dimension;
    walk->form = ROSTER_PREFIX;
    walk->index = 0;
}

/* Continues with networks of the value's address family, if the value is an address and networks
 * exist. */
static void go_to_networks(struct roster_walk *walk)
{
    const uint8_t *count = walk->lengths->count;
    walk->index = 0;
    walk->form = ROSTER_FORMS;
    if (count[ROSTER_IPV4] + count[ROSTER_IPV6] > 0 && address_parse(walk->value, &walk->address))
        walk->form = walk->address.ipv6 ? ROSTER_IPV6 : ROSTER_IPV4;
}

const struct roster_entry *roster_walk_next(struct roster_walk *walk)
{
    while (walk->form != ROSTER_FORMS) {
        if (walk->index == walk->lengths->count[walk->form]) {
            if (walk->form != ROSTER_PREFIX)
                return NULL;
            go_to_networks(walk);
            continue;
        }
        const uint8_t length = walk->lengths->length[walk->form][walk->index++];
        struct bytes head = {walk->value.data, length};
        if (walk->form == ROSTER_PREFIX && length > walk->value.size)
            continue;
        if (walk->form != ROSTER_PREFIX) {
            address_mask(&walk->address, length); /* lengths fall, so bits that were masked stay masked */
            head = (struct bytes){(const char *)walk->address.byte, sizeof walk->address.byte};
        }
        const struct roster_pattern *there = place_of(walk->patterns, head, walk->dimension, walk->form, length);
        if (there->head.data)
            return &there->entry;
    }
    return NULL;
}
