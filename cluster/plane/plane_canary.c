/*
 * plane_canary watches canaries. A canary is rolled back if its rate of denials exceeds the rate of
 * the version in force by more than its threshold. A canary that was watched for its time becomes
 * general. Both are new versions of the rule. Several peers may make such a version at once; the
 * order of versions settles that. This file does not count decisions: rules/ruleset.h does.
 */
#include "cluster/plane/plane_canary.h"

#include "cluster/codec/effects.h"
#include "cluster/plane/plane_change.h"
#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"

#include <stdio.h>
#include <string.h>

enum { JUMP_WAIT_INTERVALS = 3 };

void plane_watch(struct node *node, const struct rule_version *version)
{
    struct plane *plane = node->plane;
    const struct rule_record *record = &version->record;
    if (plane->canary_count == PLANE_CANARIES_MAX) {
        node->stats.limit_drops++; /* other peers may have room */
        return;
    }
    struct plane_canary *canary = &plane->canary[plane->canary_count++];
    memset(canary, 0, sizeof *canary);
    memcpy(canary->service, record->service.data, record->service.size);
    memcpy(canary->id, record->id.data, record->id.size);
    canary->stamp = record->stamp;
    canary->since_ns = node->now_ns;
    if (record->stamp.author != plane->author)
        canary->patience_ns = PLANE_OTHERS_WAIT_INTERVALS * node->options.interval_ns +
                              random_below(&node->random, PLANE_OTHERS_WAIT_INTERVALS * node->options.interval_ns);
}

static uint64_t millionths(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (uint64_t)((double)part / (double)whole * RULE_SHARE_ONE);
}

/*
 * True if the canary denies more often than the version in force, by more than `threshold`. The two
 * rates are in millionths.
 */
static bool denials_jumped(const struct ruled *ruled, uint32_t threshold, uint64_t *ours, uint64_t *theirs)
{
    const struct rule_counts counts = ruled_counts(ruled);
    uint64_t decisions = counts.canary_allowed + counts.canary_denied;
    *ours = millionths(counts.canary_denied, decisions);
    *theirs = millionths(counts.stable_denied, counts.stable_allowed + counts.stable_denied);
    return decisions >= PLANE_CANARY_DECISIONS && *ours > *theirs + threshold;
}

/*
 * One stamp above the version that makes a rule general: if one peer sees a jump while the time of
 * watching ends for another peer, the rollback wins.
 */
static void roll_back(struct node *node, const struct rulebook_rule *rule, uint64_t ours, uint64_t theirs,
                      struct effects *effects)
{
    char note[RULE_NOTE_MAX_BYTES + 1];
    (void)snprintf(note, sizeof note,
                   "rolled back: %.1f%% of the canary's decisions were denials, %.1f%% of the others'",
                   (double)ours * 100 / RULE_SHARE_ONE, (double)theirs * 100 / RULE_SHARE_ONE);
    effects_notice(effects, NOTICE_WARNING, "rule %s/%s %s", rule->service.data, rule->id.data, note);
    plane_amend(node, rule, rulebook_stable(rule), 2, note);
}

static void make_general(struct node *node, const struct rulebook_rule *rule, struct effects *effects)
{
    effects_notice(effects, NOTICE_INFO, "rule %s/%s became general", rule->service.data, rule->id.data);
    plane_amend(node, rule, rulebook_candidate(rule), 1, "became general");
}

/* False: this canary is over and needs no more watching. */
static bool watch(struct node *node, struct plane_canary *canary, struct effects *effects)
{
    struct plane *plane = node->plane;
    const struct rulebook_rule *rule = rulebook_find(plane->book, bytes_of(canary->service), bytes_of(canary->id));
    const struct rule_version *candidate = rule ? rulebook_candidate(rule) : NULL;
    if (!candidate || candidate->record.stamp.lamport != canary->stamp.lamport ||
        candidate->record.stamp.author != canary->stamp.author)
        return false;
    const struct rule_record *record = &candidate->record;
    const struct ruled *ruled = ruleset_find(plane->rules, record->service, record->id);
    uint64_t ours, theirs;
    if (ruled && ruled->candidate && denials_jumped(ruled, record->threshold_millionths, &ours, &theirs)) {
        uint64_t wait_ns = canary->patience_ns > 0 ? JUMP_WAIT_INTERVALS * node->options.interval_ns : 0;
        if (canary->jump_ns == 0)
            canary->jump_ns = node->now_ns;
        if (node->now_ns - canary->jump_ns < wait_ns)
            return true;
        roll_back(node, rule, ours, theirs, effects);
        return false;
    }
    canary->jump_ns = 0;
    uint64_t watched_ms = (node->now_ns - canary->since_ns) / 1000000;
    if (record->watch_ms == 0 || watched_ms < record->watch_ms + canary->patience_ns / 1000000)
        return true;
    make_general(node, rule, effects);
    return false;
}

void plane_canary_step(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    for (uint32_t i = 0; i < plane->canary_count;) {
        if (watch(node, &plane->canary[i], effects))
            i++;
        else
            plane->canary[i] = plane->canary[--plane->canary_count];
    }
}
