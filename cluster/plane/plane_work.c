/*
 * plane_work moves queued changes through their stages: read, add, stage, commit, clear. Only the
 * first change in the queue moves; each step gives it one slice of work. Results of operators'
 * changes are kept for a while under their tickets. This file does not read rules (plane_change.c)
 * and does not fetch them (plane_scan.c).
 */
#include "cluster/plane/plane_work.h"

#include "base/array.h"
#include "cluster/codec/effects.h"
#include "cluster/plane/plane_canary.h"
#include "cluster/plane/plane_change.h"
#include "cluster/plane/plane_compile.h"
#include "cluster/plane/plane_health.h"
#include "cluster/plane/plane_scan.h"
#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    UNIT_KEYS = 32,    /* this part of step_keys takes as long as one unit */
    UNIT_VERSIONS = 4, /* versions that are added in one unit */
    UNIT_RULES = 2,    /* rules that are compiled in one unit */
    COMMIT_ALONE = 64, /* a change of more versions comes into force in a step of its own */
};

struct work_slice plane_slice(const struct node *node)
{
    uint32_t units = node->step.keys / UNIT_KEYS + 1;
    return (struct work_slice){units, units};
}

/* ---- the queue ---- */

struct plane_work *plane_work_create(struct plane *plane)
{
    struct plane_work **end = &plane->work, *work = calloc(1, sizeof *work);
    assert(work && "out of memory");
    while (*end)
        end = &(*end)->next;
    *end = work;
    plane->work_count++;
    return work;
}

void plane_work_take(struct plane_work *work, struct rule_version *version)
{
    ARRAY_REQUIRE(work->version, work->version_room, work->version_count + 1);
    work->version[work->version_count++] = version;
}

void plane_work_touches(struct plane_work *work, const struct rule_version *version)
{
    struct bytes name = version->record.service;
    size_t low = 0, high = work->service_count;
    if (high > 0 && bytes_compare(work->service[high - 1], name) < 0)
        low = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(work->service[middle], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < work->service_count && bytes_compare(work->service[low], name) == 0)
        return;
    ARRAY_REQUIRE(work->service, work->service_room, work->service_count + 1);
    memmove(&work->service[low + 1], &work->service[low], (work->service_count - low) * sizeof *work->service);
    work->service[low] = name;
    work->service_count++;
}

static void destroy(struct plane_work *work)
{
    for (size_t i = 0; i < work->version_count; i++)
        rule_version_release(&work->version[i]);
    if (work->reading_open)
        rules_reading_close(&work->reading);
    rulebook_destroy(&work->book);
    free(work->version);
    free(work->service);
    free(work->text);
    free(work->copied);
    free(work);
}

static void remove_first(struct plane *plane)
{
    struct plane_work *work = plane->work;
    plane->work = work->next;
    plane->work_count--;
    destroy(work);
}

void plane_works_abandon(struct plane *plane)
{
    while (plane->work)
        remove_first(plane);
}

/* ---- results ---- */

static void keep_result(struct plane *plane, const struct plane_work *work)
{
    plane->answer[work->ticket % PLANE_RESULTS_MAX] =
        (struct plane_answer){.ticket = work->ticket, .result = work->result};
}

bool plane_result(const struct plane *plane, uint64_t ticket, struct rules_result *result)
{
    const struct plane_answer *answer = &plane->answer[ticket % PLANE_RESULTS_MAX];
    if (answer->ticket == ticket) {
        *result = answer->result;
        result->ticket = ticket;
        return true;
    }
    for (const struct plane_work *work = plane->work; work; work = work->next)
        if (work->asked && work->ticket == ticket)
            return false;
    *result = (struct rules_result){.asked = true, .refused = true};
    (void)error_set(&result->error, EX_TEMPFAIL, "it is no more known what became of this change");
    return true;
}

/* ---- stages ---- */

static void refuse(struct plane *plane, struct plane_work *work)
{
    ruleset_abandon(plane->rules);
    work->result.refused = true;
    work->stage = WORK_CLEARS;
    keep_result(plane, work);
}

static void begin(struct node *node, struct plane_work *work)
{
    work->book = rulebook_copy(node->plane->book);
    assert(work->book && "out of memory");
    work->stage = work->asked ? WORK_READS : WORK_ADDS;
    if (work->asked && !plane_change_begin(node, work))
        refuse(node->plane, work);
}

static void read_some(struct node *node, struct plane_work *work, struct work_slice *slice)
{
    bool ended = false;
    slice_spend(slice, 1);
    if (!plane_change_read(node, work, &ended))
        refuse(node->plane, work);
    else if (ended)
        work->stage = WORK_STAGES;
}

/*
 * New versions move to the front and keep their order. The place that a version leaves becomes
 * empty: a change that is abandoned halfway releases each version once.
 */
static void add_some(struct node *node, struct plane_work *work, struct work_slice *slice)
{
    slice_spend(slice, 1);
    for (unsigned n = 0; n < UNIT_VERSIONS && work->looked < work->version_count; n++) {
        struct rule_version *version = work->version[work->looked];
        work->version[work->looked++] = NULL;
        switch (rulebook_add(work->book, version)) {
        case RULEBOOK_ADDED:
            plane_work_touches(work, version);
            work->version[work->added++] = version;
            continue;
        case RULEBOOK_FULL:
            node->stats.limit_drops++;
            break;
        case RULEBOOK_KNOWN:
            break;
        }
        rule_version_release(&version);
    }
    if (work->looked == work->version_count) {
        work->version_count = work->added;
        work->stage = WORK_STAGES;
    }
}

static void stage_some(struct node *node, struct plane_work *work, struct work_slice *slice,
                       struct effects *effects)
{
    uint32_t rules = 0;
    if (work->staged == work->service_count)
        work->stage = WORK_COMMITS;
    else if (!plane_stage(node, work->book, work->service[work->staged++], work->asked, &rules, &work->result.error,
                          effects))
        refuse(node->plane, work);
    slice_spend(slice, 1 + rules / UNIT_RULES);
}

static void take_place(struct node *node, struct plane_work *work, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct rulebook *before = plane->book;
    plane->book = work->book;
    work->book = before;
    ruleset_commit(plane->rules);
    plane_bound_keys(node);
    for (size_t i = 0; i < work->added; i++) {
        struct rule_version *version = work->version[i];
        effects_add_version(effects, version);
        if (version->record.stamp.lamport > plane->lamport)
            plane->lamport = version->record.stamp.lamport;
        if (version->record.share_millionths > 0)
            plane_watch(node, version);
    }
    plane->advert_wanted = true;
    plane_health_apply(node);
}

static void commit(struct node *node, struct plane_work *work, struct work_slice *slice, struct effects *effects)
{
    if (work->added > COMMIT_ALONE && slice->left < slice->units) {
        slice->left = 0;
        return;
    }
    if (work->changes.dry_run)
        ruleset_abandon(node->plane->rules);
    else if (work->added > 0)
        take_place(node, work, effects);
    if (work->asked) {
        plane_change_end(node, work, effects);
        keep_result(node->plane, work);
    }
    if (work->fetched)
        plane_scan_end(node, work, effects);
    work->stage = WORK_CLEARS;
    if (work->added > COMMIT_ALONE)
        slice->left = 0;
}

/* ---- slices ---- */

static void go_on(struct node *node, struct work_slice *slice, struct effects *effects)
{
    struct plane_work *work = node->plane->work;
    switch (work->stage) {
    case WORK_BEGINS:
        begin(node, work);
        break;
    case WORK_READS:
        read_some(node, work, slice);
        break;
    case WORK_ADDS:
        add_some(node, work, slice);
        break;
    case WORK_STAGES:
        stage_some(node, work, slice, effects);
        break;
    case WORK_COMMITS:
        commit(node, work, slice, effects);
        break;
    case WORK_CLEARS:
        remove_first(node->plane);
        break;
    }
}

void plane_work_step(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct work_slice slice = plane_slice(node);
    if (plane->worked)
        return;
    plane->worked = plane->work != NULL;
    while (plane->work && slice.left > 0)
        go_on(node, &slice, effects);
}

void plane_work_finish(struct node *node, struct effects *effects)
{
    while (node->plane->work) {
        struct work_slice slice = plane_slice(node);
        go_on(node, &slice, effects);
    }
}

void plane_work_check(const struct node *node)
{
    uint32_t count = 0;
    for (const struct plane_work *work = node->plane->work; work; work = work->next, count++) {
        assert(count == 0 || work->stage == WORK_BEGINS);
        assert(work->added <= work->version_count && work->staged <= work->service_count);
        if (work->book)
            rulebook_check(work->book);
    }
    assert(count == node->plane->work_count);
}
