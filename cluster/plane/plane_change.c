/*
 * plane_change turns an operator's change into versions in a copy of the book: it reads the text
 * rule by rule, checks each rule, and refuses the whole change at the first fault. It also makes
 * the versions that end a canary. It does not compile rules and does not bring them into force:
 * plane_work.c does.
 */
#include "cluster/plane/plane_change.h"

#include "cluster/codec/effects.h"
#include "cluster/plane/plane_compile.h"
#include "cluster/plane/plane_home.h"
#include "cluster/plane/plane_rule.h"
#include "cluster/plane/plane_work.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* ---- one rule ---- */

static struct rule_record new_record(const struct node *node, const struct plane_work *work, struct bytes service,
                                     struct bytes id)
{
    const struct rule_changes *changes = &work->changes;
    return (struct rule_record){
        .stamp = work->stamp,
        .service = service,
        .id = id,
        .author = changes->author.size > 0 ? changes->author : bytes_of(node->options.name),
        .note = changes->note,
        .wall_ms = plane_wall_ms(node->plane, node->now_ns),
    };
}

static bool is_in_force(const struct rulebook_rule *known)
{
    return known && (rulebook_stable(known) || rulebook_candidate(known));
}

static bool says_the_same(const struct rule_version *version, struct bytes text)
{
    return version && bytes_equal(version->record.text, text);
}

static bool is_unchanged(const struct rulebook_rule *known, const struct rule_changes *changes, struct bytes text)
{
    const struct rule_record *newest = &known->version[0]->record;
    if (newest->deleted || !bytes_equal(newest->text, text))
        return false;
    if (newest->share_millionths == 0)
        return true; /* no canary runs either */
    return newest->share_millionths == changes->share_millionths && newest->watch_ms == changes->watch_ms &&
           newest->threshold_millionths == changes->threshold_millionths;
}

/*
 * Counters of one epoch go on from version to version. A rule that comes back, or whose text asks
 * for it, or whose tokens are no longer the same thing, begins a new epoch.
 */
static uint64_t epoch_of(const struct plane_work *work, const struct rulebook_rule *known, const struct rule *rule,
                         struct bytes text)
{
    if (!known)
        return 0; /* another peer that makes the same rule at this moment chooses the same epoch */
    const struct rule_version *stable = rulebook_stable(known), *candidate = rulebook_candidate(known);
    if (says_the_same(candidate, text))
        return candidate->record.epoch;
    if (says_the_same(stable, text))
        return stable->record.epoch;
    const struct rule_version *before = stable ? stable : candidate;
    if (!before || rule->inherit == RULE_RESET || !bytes_equal(before->rule->counts, rule->counts))
        return work->stamp.lamport;
    return before->record.epoch;
}

/*
 * A quarter of the book is left for versions of other peers that this node has not heard of.
 * Deleted rules stay in the book, so that no peer that was away brings them back.
 */
static bool book_has_room(struct plane_work *work, const struct rule_version *version, bool is_new)
{
    const struct rulebook *book = work->book;
    const struct rulebook_limits *limits = rulebook_limits(book);
    size_t of_service = 0;
    if (is_new)
        (void)rulebook_service(book, version->record.service, &of_service);
    size_t rules = rulebook_rules(book) + is_new, services = rulebook_services(book);
    services += is_new && of_service == 0;
    of_service += is_new;
    if (of_service > limits->service_rules_max / 4 * 3)
        return error_set(&work->result.error, EX_DATAERR,
                         "service '%s' has had too many rules, deleted ones counted: expected at most %u",
                         version->record.service.data, limits->service_rules_max / 4 * 3);
    if ((is_new && (rules > limits->rules_max / 4 * 3 || services > limits->services_max / 4 * 3)) ||
        rulebook_text_bytes(book) + rule_version_bytes(version) > limits->text_max_bytes / 4 * 3)
        return error_set(
            &work->result.error, EX_DATAERR,
            "there have been too many rules, deleted ones counted: expected at most %u in %u services, "
            "and %llu MiB of text with all versions",
            limits->rules_max / 4 * 3, limits->services_max / 4 * 3,
            (unsigned long long)(limits->text_max_bytes / 4 * 3 >> 20));
    return true;
}

/* Makes the version, which takes *rule over (NULL: the rule ends). */
static bool put(struct node *node, struct plane_work *work, const struct rule_record *record, struct rule **rule)
{
    struct error *error = &work->result.error;
    const struct rulebook_rule *there = rulebook_find(work->book, record->service, record->id);
    if (there && there->version[0]->record.stamp.lamport == work->stamp.lamport &&
        there->version[0]->record.stamp.author == work->stamp.author)
        return error_set(error, EX_DATAERR, "rule %s/%s stands twice in one change", there->service.data,
                         there->id.data);
    struct rule_version *version = rule_version_of(record, rule, &node->options.hash_key, error);
    if (!version)
        return false;
    plane_work_take(work, version);
    if (!book_has_room(work, version, !there))
        return false;
    enum rulebook_result result = rulebook_add(work->book, version);
    assert(result == RULEBOOK_ADDED && "out of memory");
    work->added++;
    work->result.newest = work->stamp;
    plane_work_touches(work, version);
    return true;
}

static bool set(struct node *node, struct plane_work *work, struct rule **rule)
{
    const struct rule_changes *changes = &work->changes;
    const struct bytes text = plane_home_settle(node, work->book, rule, work->text);
    const struct bytes service = (*rule)->service, id = (*rule)->id;
    const struct rulebook_rule *known = rulebook_find(node->plane->book, service, id);
    if (known && is_unchanged(known, changes, text)) {
        work->result.unchanged_rules++;
        work->result.newest = known->version[0]->record.stamp;
        return true;
    }
    if (!plane_rule_is_right(node, work, *rule))
        return false;
    work->result.created_rules += !is_in_force(known);
    struct rule_record record = new_record(node, work, service, id);
    record.text = text;
    record.epoch = epoch_of(work, known, *rule, text);
    record.share_millionths = changes->share_millionths;
    if (record.share_millionths > 0) {
        record.watch_ms = changes->watch_ms;
        record.threshold_millionths = changes->threshold_millionths;
    }
    const struct rule_version *stable = known ? rulebook_stable(known) : NULL;
    if (record.share_millionths > 0 && stable && !rule_same_dimensions(*rule, stable->rule))
        return error_set(&work->result.error, EX_DATAERR,
                         "rule %s/%s: a canary counts by the same dimensions as the version in force", service.data,
                         id.data);
    return put(node, work, &record, rule);
}

static bool end_rule(struct node *node, struct plane_work *work, const struct rule_name *name)
{
    const struct rulebook_rule *known = rulebook_find(node->plane->book, name->service, name->id);
    struct rule *none = NULL;
    if (!is_in_force(known))
        return error_set(&work->result.error, EX_NOINPUT, "there is no rule %.*s/%.*s", (int)name->service.size,
                         name->service.data, (int)name->id.size, name->id.data);
    struct rule_record record = new_record(node, work, name->service, name->id);
    record.deleted = true;
    work->result.removed_rules++;
    return put(node, work, &record, &none);
}

/* Ends all rules of the service that the text does not name. Names in the book end with zeroes. */
static bool prune_service(struct node *node, struct plane_work *work, struct bytes service)
{
    const struct rulebook *book = node->plane->book;
    size_t count, first = rulebook_service(book, service, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rulebook_rule *known = rulebook_at(book, first + i);
        const struct rule_name name = {known->service, known->id};
        if (is_in_force(known) && !rules_reading_has(&work->reading, name) && !end_rule(node, work, &name))
            return false;
    }
    return true;
}

static bool prune(struct node *node, struct plane_work *work)
{
    struct bytes before = {0};
    for (size_t i = 0; i < rules_reading_count(&work->reading); i++) {
        const struct bytes service = rules_reading_name(&work->reading, i).service;
        if ((i == 0 || !bytes_equal(service, before)) && !prune_service(node, work, service))
            return false;
        before = service;
    }
    return true;
}

/* ---- a change, one unit at a time ---- */

static bool is_met(const struct node *node, const struct rules_expectation *expects)
{
    const struct rulebook *book = node->plane->book;
    const struct rulebook_rule *known = rulebook_find(book, expects->name.service, expects->name.id);
    switch (expects->condition) {
    case RULES_IF_ANY:
        return true;
    case RULES_IF_ABSENT:
        return !is_in_force(known);
    case RULES_IF_PRESENT:
        return is_in_force(known);
    case RULES_IF_VERSION:
        return is_in_force(known) && known->version[0]->record.stamp.lamport == expects->stamp.lamport &&
               known->version[0]->record.stamp.author == expects->stamp.author;
    case RULES_IF_BOOK:
        return rulebook_digest(book) == expects->digest;
    }
    return false;
}

/* No other change touches the book before this one ends, so what is met now is met then. */
static bool check_expectation(const struct node *node, struct plane_work *work)
{
    const struct rules_expectation *expects = &work->changes.expects;
    if (is_met(node, expects))
        return true;
    work->result.unmet = true;
    if (expects->condition == RULES_IF_BOOK)
        return error_set(&work->result.error, EX_TEMPFAIL, "rules have changed since they were read");
    return error_set(&work->result.error, EX_TEMPFAIL, "rule %.*s/%.*s %s", (int)expects->name.service.size,
                     expects->name.service.data, (int)expects->name.id.size, expects->name.id.data,
                     expects->condition == RULES_IF_ABSENT    ? "is there already"
                     : expects->condition == RULES_IF_PRESENT ? "is not there"
                                                              : "has changed since it was read, or is not there");
}

bool plane_change_begin(struct node *node, struct plane_work *work)
{
    if (!check_expectation(node, work))
        return false;
    work->stamp = (struct rule_stamp){++node->plane->lamport, node->plane->author};
    work->text = malloc(RULE_TEXT_MAX_BYTES + 1);
    assert(work->text && "out of memory");
    work->reading_open = work->changes.text.size > 0;
    return !work->reading_open ||
           rules_reading_open(&work->reading, work->changes.text, work->changes.file, &work->result.error);
}

bool plane_change_read(struct node *node, struct plane_work *work, bool *ended)
{
    struct rule *rule = NULL;
    bool read = !work->reading_open, good = true;
    if (!read)
        good = rules_reading_go_on(&work->reading, WORK_EVENTS, &rule, &read, &work->result.error);
    if (rule)
        good = set(node, work, &rule);
    rule_destroy(&rule); /* unless a version has taken it over */
    for (size_t i = 0; read && good && i < work->changes.deleted_count; i++)
        good = end_rule(node, work, &work->changes.deleted[i]);
    if (read && good && work->changes.prune && work->reading_open)
        good = prune(node, work);
    *ended = read;
    return good;
}

void plane_change_end(struct node *node, struct plane_work *work, struct effects *effects)
{
    work->result.changed_rules = work->added;
    if (work->added == 0 || work->changes.dry_run)
        return;
    work->result.stamp = work->stamp;
    node->stats.rule_changes++;
    if (work->result.warnings > 0)
        effects_notice(effects, NOTICE_WARNING, "%s", work->result.warning.text);
    const struct rule_record *first = &work->version[0]->record;
    effects_notice(effects, NOTICE_INFO, "rules changed by %s: %s/%s%s%s%s", first->author.data,
                   first->service.data, first->id.data, work->added > 1 ? " and others" : "",
                   first->note.size > 0 ? ": " : "", first->note.data);
}

/* ---- changes by operators, and changes that the plane makes ---- */

static struct bytes keep(char **room, struct bytes text)
{
    char *kept = *room;
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    kept[text.size] = '\0';
    *room += text.size + 1;
    return (struct bytes){kept, text.size};
}

/* Copies the change and all that it points to into one allocation. */
static void copy_changes(struct plane_work *work, const struct rule_changes *from)
{
    struct bytes file = bytes_of(from->file);
    size_t names = from->deleted_count * sizeof *from->deleted;
    const struct rule_name *expected = &from->expects.name;
    size_t bytes = names + from->text.size + file.size + from->author.size + from->note.size +
                   expected->service.size + expected->id.size + 6;
    for (size_t i = 0; i < from->deleted_count; i++)
        bytes += from->deleted[i].service.size + from->deleted[i].id.size + 2;
    struct rule_name *deleted = malloc(bytes);
    assert(deleted && "out of memory");
    char *room = (char *)deleted + names;
    work->changes = *from;
    work->changes.deleted = work->copied = deleted;
    work->changes.text = keep(&room, from->text);
    work->changes.file = keep(&room, file).data;
    work->changes.author = keep(&room, from->author);
    work->changes.note = keep(&room, from->note);
    work->changes.expects.name = (struct rule_name){keep(&room, expected->service), keep(&room, expected->id)};
    for (size_t i = 0; i < from->deleted_count; i++) {
        deleted[i].service = keep(&room, from->deleted[i].service);
        deleted[i].id = keep(&room, from->deleted[i].id);
    }
}

void plane_change(struct node *node, const struct rule_changes *changes, struct effects *effects)
{
    struct plane *plane = node->plane;
    uint64_t ticket = ++plane->tickets;
    effects->rules = (struct rules_result){.asked = true};
    if (plane->work_count >= PLANE_WORKS_MAX) {
        effects->rules.refused = true;
        (void)error_set(&effects->rules.error, EX_TEMPFAIL, "%u changes are in work: try again in a while",
                        plane->work_count);
        return;
    }
    if (plane->restored)
        plane_compile_all(node, effects);
    struct plane_work *work = plane_work_create(plane);
    work->asked = work->result.asked = true;
    work->ticket = ticket;
    copy_changes(work, changes);
    if (node->last_uid == 0 || node->life.superseded) /* no later step goes on with it */
        plane_work_finish(node, effects);
    else
        plane_work_step(node, effects);
    if (!plane_result(plane, ticket, &effects->rules))
        effects->rules = (struct rules_result){.asked = true, .in_work = true, .ticket = ticket};
}

void plane_amend(struct node *node, const struct rulebook_rule *rule, const struct rule_version *like,
                 uint64_t lamport_step, const char *note)
{
    struct error error;
    struct plane *plane = node->plane;
    struct rule_record record = {
        .stamp = {plane->lamport + lamport_step, plane->author},
        .service = rule->service,
        .id = rule->id,
        .author = bytes_of(node->options.name),
        .note = bytes_of(note),
        .wall_ms = plane_wall_ms(node->plane, node->now_ns),
        .deleted = like == NULL,
        .epoch = like ? like->record.epoch : 0,
        .text = like ? like->record.text : (struct bytes){0},
    };
    struct rule_version *version = rule_version_create(&record, &node->options.hash_key, &error);
    assert(version && "out of memory");
    plane->lamport = record.stamp.lamport;
    plane_work_take(plane_work_create(plane), version);
    node->stats.rule_changes++;
}
