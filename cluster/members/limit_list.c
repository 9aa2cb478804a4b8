/*
 * limit_list keeps the newest version of the limits that this node has heard of, and the lists of configs that belong
 * to the versions. Both grow only: of two versions the newer one is kept, and of two sets of lists all that the room
 * has, the newest first. So all peers come to the same, in whatever order they hear each other.
 */
#include "cluster/members/limit_list.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/members/limit_list_text.h"
#include "cluster/members/version.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <inttypes.h>
#include <string.h>

/* 0: of an empty text. */
static uint64_t sum_of(const char *text, size_t size)
{
    return size > 0 ? version_text_hash(text, size) : 0;
}

/* ---- lists of configs ---- */

static bool lists_config(const struct limit_list *list, uint64_t digest)
{
    for (uint32_t i = 0; i < list->config_count; i++)
        if (list->config[i].digest == digest)
            return true;
    return false;
}

static bool is_later(const struct limit_list_config *a, const struct limit_list_config *b)
{
    return a->number != b->number ? a->number > b->number : a->digest > b->digest;
}

/* Where there is no room, the oldest one goes. */
static void add_config(struct limit_list *list, uint64_t number, uint64_t digest)
{
    const struct limit_list_config config = {number, digest};
    uint32_t place = 0;
    while (place < list->config_count && list->config[place].digest != digest)
        place++;
    if (place < list->config_count && !is_later(&config, &list->config[place]))
        return;
    if (place == list->config_count && place == LIMIT_LIST_CONFIGS_MAX) {
        place--;
        if (!is_later(&config, &list->config[place]))
            return;
    } else if (place == list->config_count) {
        list->config_count++;
    }
    for (; place > 0 && is_later(&config, &list->config[place - 1]); place--)
        list->config[place] = list->config[place - 1];
    list->config[place] = config;
}

static void add_configs(struct limit_list *list, const struct limit_list *other)
{
    for (uint32_t i = 0; i < other->config_count; i++)
        add_config(list, other->config[i].number, other->config[i].digest);
}

/* An own list that becomes old among many is noted anew, so that it does not go while this node runs. */
static void keep_own(struct limit_lists *lists)
{
    struct limit_list *known = &lists->known;
    for (uint32_t i = 0; i < LIMIT_LIST_CONFIGS_MAX / 2 && i < known->config_count; i++)
        if (known->config[i].digest == lists->own)
            return;
    add_config(known, known->stamp.number, lists->own);
}

bool limit_list_knows(const struct node *node, uint64_t config)
{
    const struct limit_lists *lists = &node->limit_lists;
    const uint64_t rest = node->options.config_digest - lists->own;
    return lists->known.stamp.number > 0 && lists_config(&lists->known, config - rest);
}

/* ---- versions ---- */

void limit_list_init(struct node *node)
{
    struct limit_lists *lists = &node->limit_lists;
    lists->in_force = lists->known.limits = *node->options.limits;
    lists->own = named_limits_digest(node->options.limits, &node->options.hash_key);
    lists->file = lists->in_force_hash = limit_list_hash(node->options.limits);
}

/* The next version is above all that were seen or heard of. No version has a number above LIMITS_NUMBER_MAX. */
static void note_number(struct limit_lists *lists, uint64_t number)
{
    if (number <= LIMITS_NUMBER_MAX && lists->highest < number)
        lists->highest = number;
}

/* Notes what is to be said and stored, if the version has changed or the lists of configs have. */
static void refresh(struct node *node)
{
    struct limit_lists *lists = &node->limit_lists;
    const uint64_t before = lists->said_sum;
    keep_own(lists);
    lists->said_size = limit_list_print(&lists->known, false, lists->said);
    lists->said_sum = sum_of(lists->said, lists->said_size);
    if (lists->said_sum == before)
        return;
    if (version_compare(&lists->known.stamp, &lists->seen) >= 0) {
        lists->seen = lists->known.stamp;
        lists->sum = lists->said_sum;
    }
    note_number(lists, lists->seen.number);
    lists->unsaved = true;
    todo_add(&node->todo, DO_ANSWER);
}

void limit_list_note_file(struct node *node, const struct named_limits *limits)
{
    struct limit_lists *lists = &node->limit_lists;
    const uint64_t file = limit_list_hash(limits);
    lists->unsaved |= lists->file != file && lists->known.stamp.number > 0;
    lists->file = file;
}

void limit_list_make(struct node *node, const struct named_limits *limits, uint64_t wall_ms)
{
    struct limit_lists *lists = &node->limit_lists;
    struct limit_list *known = &lists->known;
    known->stamp = (struct version_stamp){lists->highest + 1, version_maker(node)};
    known->wall_ms = wall_ms;
    memcpy(known->author, node->options.name, sizeof known->author);
    known->limits = *limits;
    add_config(known, known->stamp.number, named_limits_digest(limits, &node->options.hash_key));
    limit_list_note_file(node, limits);
    refresh(node);
}

static void take(struct node *node, const struct limit_list *other)
{
    struct limit_lists *lists = &node->limit_lists;
    struct limit_list *known = &lists->known;
    if (version_compare(&other->stamp, &known->stamp) > 0) {
        known->stamp = other->stamp;
        known->wall_ms = other->wall_ms;
        memcpy(known->author, other->author, sizeof known->author);
        known->limits = other->limits;
        lists->unfit_told = false;
    }
    add_configs(known, other);
    refresh(node);
}

/* ---- what members say ---- */

static bool is_said(const struct member *member)
{
    return member->limits.message > 0 && member->limits.incarnation == member->incarnation;
}

bool limit_list_is_beyond(const struct member *member)
{
    return member_needed(member) && member->heard_direct_ns > 0 && !is_said(member);
}

/*
 * A newer version that does not know the list of this node is taken when it does. Whoever has it, and whose list the
 * version here knows, adds that list when it hears of this version.
 */
static bool could_be_joined(const struct node *node, const struct member *member)
{
    const struct limit_lists *lists = &node->limit_lists;
    return version_compare(&lists->seen, &lists->known.stamp) > 0 && limit_list_knows(node, member->config);
}

static bool lacks(const struct node *node, const struct member *member)
{
    const struct limit_lists *lists = &node->limit_lists;
    const int order = version_compare(&member->limits.seen, &lists->known.stamp);
    if (!member_needed(member) || !is_said(member))
        return false;
    return order == 0 ? member->limits.sum != lists->said_sum : order < 0 || could_be_joined(node, member);
}

/* The version stays where it is: this node decides by its config, if the accord lets it. An older one is no news. */
static void note_foreign(struct node *node, const struct limit_list *other, struct effects *effects)
{
    struct limit_lists *lists = &node->limit_lists;
    if (version_compare(&other->stamp, &lists->known.stamp) <= 0)
        return;
    if (!lists->foreign_told)
        effects_notice(effects, NOTICE_WARNING,
                       "limits %" PRIu64
                       " of %s are not taken: they do not know the limits of this daemon's config",
                       other->stamp.number, other->author);
    lists->foreign_told = true;
}

static void hear_text(struct node *node, const struct limits_record *record, struct effects *effects)
{
    struct limit_lists *lists = &node->limit_lists;
    struct limit_list *other = &lists->scratch;
    const struct bytes said = {lists->said, lists->said_size};
    if (record->text.size == 0 || bytes_equal(record->text, said))
        return;
    if (!limit_list_read(record->text, other)) {
        node->stats.messages_invalid++;
        return;
    }
    if (lists_config(other, lists->own)) {
        const struct version_stamp before = lists->known.stamp;
        lists->foreign_told = false;
        take(node, other);
        if (version_compare(&lists->known.stamp, &before) != 0)
            effects_notice(effects, NOTICE_INFO, "limits %" PRIu64 " of %s take the place of limits %" PRIu64,
                           lists->known.stamp.number, lists->known.author, before.number);
        return;
    }
    if (version_compare(&other->stamp, &lists->seen) >= 0) {
        lists->seen = other->stamp;
        lists->sum = sum_of(record->text.data, record->text.size);
        note_number(lists, other->stamp.number);
        todo_add(&node->todo, DO_ANSWER);
    }
    note_foreign(node, other, effects);
}

void limit_list_hear(struct node *node, const struct message *message, uint32_t sender, struct effects *effects)
{
    struct member *member = &node->member[sender];
    const struct limits_record *record = &message->members[message->sender].limits;
    if (!record->said || (is_said(member) && message->number <= member->limits.message))
        return;
    const bool said_before = is_said(member) && version_compare(&member->limits.seen, &record->seen) == 0;
    member->limits = (struct limit_list_word){.incarnation = member->incarnation,
                                              .message = message->number,
                                              .seen = record->seen,
                                              .since_ns = said_before ? member->limits.since_ns : node->now_ns,
                                              .sum = record->sum};
    note_number(&node->limit_lists, record->seen.number);
    hear_text(node, record, effects);
}

bool limit_list_is_at_rest(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end && node->limit_lists.said_size > 0; i++)
        if (lacks(node, &node->member[i]))
            return false;
    return true;
}

struct limits_record limit_list_say(const struct node *node)
{
    const struct limit_lists *lists = &node->limit_lists;
    struct limits_record record = {.said = true, .seen = lists->seen, .sum = lists->sum};
    if (!limit_list_is_at_rest(node))
        record.text = (struct bytes){lists->said, lists->said_size};
    return record;
}

/*
 * A member may have heard of a version without taking it, and whoever had that may be gone: it cannot say it. A member
 * that has it says it in each message, once it hears this node.
 */
static bool may_still_say(const struct node *node, const struct member *member)
{
    return node->now_ns - member->limits.since_ns <= node->options.silent_after_ns;
}

bool limit_list_is_known(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && is_said(member) && !member->silent &&
            version_compare(&member->limits.seen, &node->limit_lists.seen) > 0 && may_still_say(node, member))
            return false;
    }
    return true;
}

/* ---- the store ---- */

void limit_list_restore(struct node *node, struct bytes text, uint64_t number, struct effects *effects)
{
    struct limit_lists *lists = &node->limit_lists;
    struct limit_list *kept = &lists->scratch;
    lists->saved_number = number;
    lists->known = (struct limit_list){.limits = *node->options.limits};
    lists->said_size = 0;
    lists->said_sum = 0;
    if (!limit_list_read(text, kept)) {
        effects_notice(effects, NOTICE_WARNING, "the store has limits that cannot be read: they are left out");
        return;
    }
    note_number(lists, kept->stamp.number);
    if (kept->file != lists->file && limit_list_hash(&kept->limits) != lists->file) {
        effects_notice(effects, NOTICE_INFO,
                       "the limits of the config have changed while the daemon was down: limits %" PRIu64
                       ", which were in force, are left out",
                       kept->stamp.number);
        return;
    }
    take(node, kept);
    lists->unsaved |= kept->file != lists->file;
}

void limit_list_retell(struct node *node)
{
    node->limit_lists.unsaved = node->limit_lists.known.stamp.number > 0;
}

void limit_list_step(struct node *node, struct effects *effects)
{
    struct limit_lists *lists = &node->limit_lists;
    if (!lists->unsaved)
        return;
    lists->known.file = lists->file;
    effects->limits_text = (struct bytes){lists->saved, limit_list_print(&lists->known, true, lists->saved)};
    effects->limits_number = ++lists->saved_number;
    lists->unsaved = false;
}
