#include "commands/hot.h"

#include "base/spin.h"
#include "commands/hot_state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t pane_ns[HOT_OVERS] = {[HOT_MINUTES] = HOT_MINUTES_NS, [HOT_HOURS] = HOT_HOURS_NS};
_Static_assert(HOT_HOURS_NS % HOT_MINUTES_NS == 0, "a pane of minutes lies in one of hours");
_Static_assert((HOT_SETS & (HOT_SETS - 1)) == 0 && (HOT_CACHE & (HOT_CACHE - 1)) == 0, "masks");

struct hot *hot_create(bool names, uint64_t seed)
{
    struct hot *hot = calloc(1, sizeof *hot);
    if (hot == NULL)
        return NULL;
    random_seed(&hot->random, seed);
    if (names && (hot->named = calloc(HOT_NAMES_MAX, sizeof *hot->named)) == NULL) {
        free(hot);
        return NULL;
    }
    return hot;
}

void hot_destroy(struct hot **hot)
{
    if (*hot != NULL)
        free((*hot)->named);
    free(*hot);
    *hot = NULL;
}

/* ---- panes ---- */

/* The present pane becomes the past one, or is too old even for that. */
static void turn_panes(struct hot_rule *rule, enum hot_over over, uint64_t number)
{
    for (unsigned by = 0; by < HOT_BYS; by++) {
        struct hitters *pane = rule->pane[by][over];
        if (number == rule->pane_number[over] + 1)
            pane[1] = pane[0];
        else
            pane[1] = (struct hitters){0};
        pane[0] = (struct hitters){0};
    }
    rule->pane_number[over] = number;
}

void hot_turn(struct hot_rule *rule, uint64_t now_ns)
{
    const uint64_t minutes = now_ns / pane_ns[HOT_MINUTES], hours = now_ns / pane_ns[HOT_HOURS];
    if (rule->pane_number[HOT_MINUTES] == minutes)
        return;
    for (unsigned by = 0; by < HOT_BYS; by++)
        if (rule->pane[by][HOT_MINUTES][0].total > 0)
            hitters_merge(&rule->pane[by][HOT_HOURS][0], &rule->pane[by][HOT_MINUTES][0]);
    turn_panes(rule, HOT_MINUTES, minutes);
    if (rule->pane_number[HOT_HOURS] != hours)
        turn_panes(rule, HOT_HOURS, hours);
}

/* ---- rules ---- */

static void copy(char to[RULE_NAME_MAX_BYTES + 1], struct bytes text)
{
    const size_t size = text.size < RULE_NAME_MAX_BYTES ? text.size : RULE_NAME_MAX_BYTES;
    if (size > 0)
        memcpy(to, text.data, size);
    to[size] = '\0';
}

static bool is_named(const struct hot_rule *rule, const struct matched *matched, struct bytes tier)
{
    return bytes_equal(bytes_of(rule->service), matched->rule->service) &&
           bytes_equal(bytes_of(rule->rule), matched->rule->id) && bytes_equal(bytes_of(rule->tier), tier);
}

/* The rule's place: the one that it has, or a free one, or that of the rule which was noted longest ago. */
static struct hot_rule *find_rule(struct hot *hot, const struct matched *matched, struct bytes tier,
                                  uint64_t now_ns)
{
    const uint64_t names =
        hash_fnv_name(hash_fnv_name(hash_fnv_name(HASH_FNV_FIRST, matched->rule->service), matched->rule->id),
                      tier) |
        1;
    struct hot_rule *oldest = &hot->rule[0];
    for (uint32_t i = 0; i < HOT_RULES_MAX; i++) {
        struct hot_rule *rule = &hot->rule[i];
        if (rule->names == names && is_named(rule, matched, tier))
            return rule;
        if (rule->noted_ns < oldest->noted_ns)
            oldest = rule;
    }
    if (oldest->names != 0 && now_ns - oldest->noted_ns < HOT_MINUTES_NS)
        return NULL;
    memset(oldest, 0, sizeof *oldest);
    oldest->names = names;
    copy(oldest->service, matched->rule->service);
    copy(oldest->rule, matched->rule->id);
    copy(oldest->tier, tier);
    return oldest;
}

/* Remembers where a rule is until rules change, or its place is given to another one. */
static struct hot_rule *cached_rule(struct hot *hot, const struct ruleset *ruleset, uint64_t edition,
                                    const struct matched *matched, uint64_t now_ns)
{
    const uint8_t tier = matched->why == WHY_TIER ? (uint8_t)(matched->id + 1) : 0;
    struct hot_cached *cached = &hot->cached[(((uintptr_t)matched->counter >> 6) + tier * 7u) & (HOT_CACHE - 1)];
    if (hot->edition != edition) {
        memset(hot->cached, 0, sizeof hot->cached);
        hot->edition = edition;
    }
    if (cached->counter == matched->counter && cached->tier == tier)
        return &hot->rule[cached->rule];
    struct hot_rule *rule = find_rule(hot, matched, match_tier(ruleset, matched), now_ns);
    if (rule == NULL)
        return NULL;
    const uint16_t index = (uint16_t)(rule - hot->rule);
    for (uint32_t i = 0; i < HOT_CACHE; i++)
        if (hot->cached[i].rule == index)
            hot->cached[i] = (struct hot_cached){0};
    *cached = (struct hot_cached){matched->counter, tier, index};
    return rule;
}

bool hot_note(struct hot *hot, const struct ruleset *ruleset, uint64_t edition, enum hot_by by,
              const struct matched *matched, uint64_t fingerprint, uint64_t now_ns)
{
    spin_lock(&hot->lock);
    struct hot_rule *rule = cached_rule(hot, ruleset, edition, matched, now_ns);
    if (rule != NULL) {
        hot_turn(rule, now_ns);
        rule->noted_ns = now_ns;
        hitters_add(&rule->pane[by][HOT_MINUTES][0], fingerprint);
    }
    spin_unlock(&hot->lock);
    return rule != NULL;
}

/* Uniform, so that no pattern of requests keeps step with it. */
uint32_t hot_next_sample(struct hot *hot)
{
    return 1 + (uint32_t)random_below(&hot->random, 2 * HOT_SAMPLE - 1);
}

/* ---- names ---- */

void hot_print_fingerprint(uint64_t fingerprint, char text[HOT_FINGERPRINT_BYTES])
{
    (void)snprintf(text, HOT_FINGERPRINT_BYTES, "%016" PRIx64, fingerprint);
}

struct hot_named *hot_named(const struct hot *hot, uint64_t fingerprint)
{
    struct hot_named *set = &hot->named[(fingerprint & (HOT_SETS - 1)) * HOT_WAYS];
    for (uint32_t i = 0; i < HOT_WAYS; i++)
        if (set[i].used != 0 && set[i].fingerprint == fingerprint)
            return &set[i];
    return NULL;
}

bool hot_remembers(const struct hot *hot)
{
    return hot != NULL && hot->named != NULL;
}

bool hot_wants_name(struct hot *hot, uint64_t fingerprint)
{
    if (hot->named == NULL)
        return false;
    spin_lock(&hot->lock);
    struct hot_named *named = hot_named(hot, fingerprint);
    if (named != NULL)
        named->used = ++hot->used;
    spin_unlock(&hot->lock);
    return named == NULL;
}

/* In the place of the one of its set that was used longest ago. */
void hot_name(struct hot *hot, uint64_t fingerprint, const char *name)
{
    assert(hot->named != NULL);
    spin_lock(&hot->lock);
    struct hot_named *set = &hot->named[(fingerprint & (HOT_SETS - 1)) * HOT_WAYS], *oldest = set;
    for (uint32_t i = 1; i < HOT_WAYS; i++)
        oldest = set[i].used < oldest->used ? &set[i] : oldest;
    oldest->fingerprint = fingerprint;
    oldest->used = ++hot->used;
    const size_t size = strnlen(name, HOT_NAME_BYTES - 1);
    memcpy(oldest->name, name, size);
    oldest->name[size] = '\0';
    spin_unlock(&hot->lock);
}
