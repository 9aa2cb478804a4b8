#include "cluster/effects.h"
#include "cluster/plane_state.h"
#include "rules/rule_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* A change while it may still be refused. */
struct draft {
    struct node *node;
    const struct rule_changes *changes;
    struct rule_stamp stamp;
    size_t count, unchanged;
    struct rule_version **version; /* room for all; each once a rule */
    char *text;                    /* of one rule: scratch */
    struct error *error;
};

static uint64_t wall_ms(const struct node *node)
{
    const struct plane *plane = node->plane;
    return plane->wall_ms ? plane->wall_ms + (node->now_ns - plane->wall_at_ns) / 1000000 : 0;
}

/* ---- one rule ---- */

static bool draft_record(struct draft *draft, const struct rule_record *record)
{
    struct rule_version *version = rule_version_create(record, &draft->node->options.hash_key, draft->error);
    if (version)
        draft->version[draft->count++] = version;
    return version != NULL;
}

static struct rule_record new_record(const struct draft *draft, struct bytes service, struct bytes id)
{
    const struct rule_changes *changes = draft->changes;
    return (struct rule_record){
        .stamp = draft->stamp,
        .service = service,
        .id = id,
        .author = changes->author.size > 0 ? changes->author : bytes_of(draft->node->options.name),
        .note = changes->note,
        .wall_ms = wall_ms(draft->node),
    };
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
        return true; /* nor is there anything to try out */
    return newest->share_millionths == changes->share_millionths && newest->watch_ms == changes->watch_ms &&
           newest->threshold_millionths == changes->threshold_millionths;
}

/* Counters of one epoch go on from version to version; a rule that comes back, or asks for it, begins afresh. */
static uint64_t epoch_of(const struct draft *draft, const struct rulebook_rule *known, const struct rule *rule,
                         struct bytes text)
{
    if (!known)
        return 0; /* also where another peer makes the same rule at this moment */
    const struct rule_version *stable = rulebook_stable(known), *candidate = rulebook_candidate(known);
    if (says_the_same(candidate, text))
        return candidate->record.epoch;
    if (says_the_same(stable, text))
        return stable->record.epoch;
    if ((!stable && !candidate) || rule->inherit == RULE_RESET)
        return draft->stamp.lamport;
    return stable ? stable->record.epoch : candidate->record.epoch;
}

static bool draft_rule(struct draft *draft, const struct rule *rule)
{
    const struct rulebook_rule *known = rulebook_find(draft->node->plane->book, rule->service, rule->id);
    struct bytes text = {draft->text, rule_print(rule, draft->text, RULE_TEXT_MAX_BYTES + 1)};
    if (known && is_unchanged(known, draft->changes, text)) {
        draft->unchanged++;
        return true;
    }
    struct rule_record record = new_record(draft, rule->service, rule->id);
    record.text = text;
    record.epoch = epoch_of(draft, known, rule, text);
    record.share_millionths = draft->changes->share_millionths;
    if (record.share_millionths > 0) {
        record.watch_ms = draft->changes->watch_ms;
        record.threshold_millionths = draft->changes->threshold_millionths;
    }
    const struct rule_version *stable = known ? rulebook_stable(known) : NULL;
    if (record.share_millionths > 0 && stable && !plane_counts_by_the_same(rule, stable->rule))
        return error_set(draft->error, EX_DATAERR,
                         "rule %s/%s: a canary counts by the same dimensions as the version in force",
                         rule->service.data, rule->id.data);
    return draft_record(draft, &record);
}

static bool draft_deletion(struct draft *draft, const struct rule_name *name)
{
    const struct rulebook_rule *known = rulebook_find(draft->node->plane->book, name->service, name->id);
    if (!known || (!rulebook_stable(known) && !rulebook_candidate(known)))
        return error_set(draft->error, EX_DATAERR, "there is no rule %.*s/%.*s", (int)name->service.size,
                         name->service.data, (int)name->id.size, name->id.data);
    struct rule_record record = new_record(draft, name->service, name->id);
    record.deleted = true;
    return draft_record(draft, &record);
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
    const struct rule_record *x = &(*(struct rule_version *const *)a)->record;
    const struct rule_record *y = &(*(struct rule_version *const *)b)->record;
    int order = strcmp(x->service.data, y->service.data);
    return order != 0 ? order : strcmp(x->id.data, y->id.data);
}

static bool draft_all(struct draft *draft, const struct rule_list *list)
{
    const struct rule_changes *changes = draft->changes;
    for (size_t i = 0; i < list->count; i++)
        if (!draft_rule(draft, list->rule[i]))
            return false;
    for (size_t i = 0; i < changes->deleted_count; i++)
        if (!draft_deletion(draft, &changes->deleted[i]))
            return false;
    if (draft->count > 1)
        qsort(draft->version, draft->count, sizeof(struct rule_version *), by_name);
    for (size_t i = 1; i < draft->count; i++)
        if (by_name(&draft->version[i - 1], &draft->version[i]) == 0)
            return error_set(draft->error, EX_DATAERR, "rule %s/%s stands twice in one change",
                             draft->version[i]->record.service.data, draft->version[i]->record.id.data);
    return true;
}

static bool is_same_service(const struct rule_version *a, const struct rule_version *b)
{
    return bytes_equal(a->record.service, b->record.service);
}

/*
 * A quarter of the book is left to what peers add that this one has not heard of. Deleted rules stay in it, so that
 * nobody who was away brings them back.
 */
static bool book_has_room(const struct draft *draft)
{
    const struct rulebook *book = draft->node->plane->book;
    const struct rulebook_limits *limits = rulebook_limits(book);
    size_t rules = rulebook_rules(book), services = rulebook_services(book), of_service = 0;
    uint64_t bytes = rulebook_text_bytes(book);
    for (size_t i = 0; i < draft->count; i++) {
        const struct rule_version *version = draft->version[i];
        bool next_service = i == 0 || !is_same_service(draft->version[i - 1], version);
        if (next_service) {
            (void)rulebook_service(book, version->record.service, &of_service);
            services += of_service == 0;
        }
        bool is_new = rulebook_find(book, version->record.service, version->record.id) == NULL;
        rules += is_new;
        of_service += is_new;
        bytes += rule_version_bytes(version);
        if (is_new && of_service > limits->service_rules_max / 4 * 3)
            return error_set(draft->error, EX_DATAERR,
                             "service '%s' has had too many rules, deleted ones counted: expected at most %u",
                             version->record.service.data, limits->service_rules_max / 4 * 3);
    }
    if (rules > limits->rules_max / 4 * 3 || services > limits->services_max / 4 * 3 ||
        bytes > limits->text_max_bytes / 4 * 3)
        return error_set(
            draft->error, EX_DATAERR,
            "there have been too many rules, deleted ones counted: expected at most %u in %u services, "
            "and %llu MiB of text with all versions",
            limits->rules_max / 4 * 3, limits->services_max / 4 * 3,
            (unsigned long long)(limits->text_max_bytes / 4 * 3 >> 20));
    return true;
}

/* The service's rules as they will be: those of the book, those that change, and new ones, in order of their ids. */
static bool stage_service(const struct draft *draft, struct rule_version *const *version, size_t count)
{
    const struct plane *plane = draft->node->plane;
    struct bytes service = version[0]->record.service;
    size_t known, used = 0, v = 0, first = rulebook_service(plane->book, service, &known);
    struct rule_use *uses = calloc(known + count, sizeof *uses);
    assert(uses && "out of memory");
    for (size_t i = 0; i < known || v < count;) {
        const struct rulebook_rule *rule = i < known ? rulebook_at(plane->book, first + i) : NULL;
        const struct rule_version *changed = v < count ? version[v] : NULL;
        int order = !rule ? 1 : !changed ? -1 : strcmp(rule->id.data, changed->record.id.data);
        used += plane_use(order <= 0 ? rule : NULL, order >= 0 ? changed : NULL, &uses[used]);
        i += order <= 0;
        v += order >= 0;
    }
    bool staged = ruleset_stage(plane->rules, service, uses, used, draft->error);
    free(uses);
    return staged;
}

static bool stage_all(const struct draft *draft)
{
    for (size_t i = 0, end; i < draft->count; i = end) {
        for (end = i + 1; end < draft->count && is_same_service(draft->version[i], draft->version[end]);)
            end++;
        if (!stage_service(draft, draft->version + i, end - i))
            return false;
    }
    return true;
}

static void carry_out(const struct draft *draft, struct effects *effects)
{
    struct node *node = draft->node;
    struct plane *plane = node->plane;
    ruleset_commit(plane->rules);
    for (size_t i = 0; i < draft->count; i++) {
        bool added = plane_add(node, draft->version[i], effects);
        assert(added && "out of memory");
    }
    plane_health_apply(node);
    plane->dirty_count = 0; /* compiled already */
    node->stats.rule_changes++;
    const struct rule_record *first = &draft->version[0]->record;
    effects_notice(effects, NOTICE_INFO, "rules changed by %s: %s/%s%s%s%s", first->author.data,
                   first->service.data, first->id.data, draft->count > 1 ? " and others" : "",
                   first->note.size > 0 ? ": " : "", first->note.data);
}

void plane_change(struct node *node, const struct rule_changes *changes, struct effects *effects)
{
    struct rules_result *result = &effects->rules;
    struct rule_list list = {0};
    struct draft draft = {.node = node, .changes = changes, .error = &result->error};
    draft.stamp = (struct rule_stamp){node->plane->lamport + 1, node->plane->author};
    result->asked = true;
    if (node->plane->dirty_count > 0) /* what the store kept, before the start */
        plane_compile(node, effects);
    bool good = changes->text.size == 0 || rules_parse(changes->text, changes->file, &list, &result->error);
    draft.version = calloc(list.count + changes->deleted_count + 1, sizeof(struct rule_version *));
    draft.text = malloc(RULE_TEXT_MAX_BYTES + 1);
    assert(draft.version && draft.text && "out of memory");
    good = good && draft_all(&draft, &list) && book_has_room(&draft) && stage_all(&draft);
    if (!good)
        ruleset_abandon(node->plane->rules);
    else if (draft.count > 0)
        carry_out(&draft, effects);
    result->refused = !good;
    result->changed_rules = good ? draft.count : 0;
    result->unchanged_rules = good ? draft.unchanged : 0;
    if (good && draft.count > 0)
        result->stamp = draft.stamp;
    for (size_t i = 0; i < draft.count; i++)
        rule_version_release(&draft.version[i]);
    free(draft.version);
    free(draft.text);
    rules_close(&list);
}

/* ---- what changes by itself, and what peers changed ---- */

bool plane_add(struct node *node, struct rule_version *version, struct effects *effects)
{
    struct plane *plane = node->plane;
    if (version->record.stamp.lamport > plane->lamport)
        plane->lamport = version->record.stamp.lamport;
    switch (rulebook_add(plane->book, version)) {
    case RULEBOOK_KNOWN:
        return false;
    case RULEBOOK_FULL:
        node->stats.limit_drops++;
        return false;
    case RULEBOOK_ADDED:
        break;
    }
    if (effects)
        effects_add_version(effects, version);
    plane_mark_dirty(plane, version->record.service);
    if (version->record.share_millionths > 0)
        plane_watch(node, version);
    plane->advert_wanted = true;
    return true;
}

void plane_amend(struct node *node, const struct rulebook_rule *rule, const struct rule_version *like,
                 uint64_t lamport_step, const char *note, struct effects *effects)
{
    struct error error;
    struct rule_record record = {
        .stamp = {node->plane->lamport + lamport_step, node->plane->author},
        .service = rule->service,
        .id = rule->id,
        .author = bytes_of(node->options.name),
        .note = bytes_of(note),
        .wall_ms = wall_ms(node),
        .deleted = like == NULL,
        .epoch = like ? like->record.epoch : 0,
        .text = like ? like->record.text : (struct bytes){0},
    };
    struct rule_version *version = rule_version_create(&record, &node->options.hash_key, &error);
    assert(version && "out of memory");
    (void)plane_add(node, version, effects);
    rule_version_release(&version);
    node->stats.rule_changes++;
}
