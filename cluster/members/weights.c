/*
 * weights keeps the versions that this node has heard of, finds out which weights are in force and
 * which version is complete, and says what the messages of this node say of that. weights_set.c makes
 * versions, weights_text.c writes and reads them, shares.c makes budgets of them.
 */
#include "cluster/members/weights.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/log/tell.h"
#include "cluster/members/version.h"
#include "cluster/members/weights_set.h"
#include "cluster/members/weights_text.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <inttypes.h>
#include <string.h>

/* ---- versions ---- */

static bool is_newer(const struct weights_version *version, const struct weights_version *than)
{
    return version_compare(&version->stamp, &than->stamp) > 0;
}

uint64_t weights_billionths(uint64_t share)
{
    return (share * WEIGHT_ONE_BILLIONTHS + SHARE_ONE - 1) >> 32;
}

const struct weights_version *weights_newest(const struct node *node)
{
    const struct weights_known *known = &node->weights.known;
    return known->newest.stamp.number > 0 ? &known->newest : &known->base;
}

static void lower(uint64_t *weight, const struct weights_version *version, const char *region)
{
    const uint64_t other = (weights_of_region(version, region) << 32) / WEIGHT_ONE_BILLIONTHS;
    if (version->stamp.number > 0 && other < *weight)
        *weight = other;
}

static uint64_t least_of(const struct node *node, const struct region_weight *config)
{
    const struct weights_known *known = &node->weights.known;
    /* where rights end, others hold back for who is gone by the weight of the config, so nobody may have more */
    const bool capped = known->base.stamp.number == 0 || node->options.takeover_after_ns > 0;
    uint64_t weight = capped ? config->weight : SHARE_ONE;
    lower(&weight, &known->base, config->region);
    lower(&weight, &known->newest, config->region);
    lower(&weight, &known->floor, config->region);
    return weight;
}

/*
 * What was spent by a larger weight may be more than the smaller one allows, until it has settled. All times of
 * requests before this step are at most its time.
 */
static void refresh(struct node *node)
{
    struct weights *weights = &node->weights;
    for (uint32_t i = 0; i < node->options.region_count; i++) {
        const struct region_weight *config = &node->options.regions[i];
        const uint64_t weight = least_of(node, config);
        if (weight < weights->in_force[i] && strcmp(config->region, node->options.region) == 0) {
            weights->lowered_ns = node->now_ns + 1;
            weights->settled = false;
        }
        weights->in_force[i] = weight;
    }
    weights->said_size = weights_print(&weights->known, false, weights->said);
}

static void remember(struct weights_known *known, const struct weights_version *version)
{
    for (uint32_t i = 0; i < known->past_count; i++)
        if (version_compare(&known->past[i].stamp, &version->stamp) == 0)
            return;
    if (version->stamp.number == 0 || (known->past_count == WEIGHTS_PAST_MAX && is_newer(&known->past[0], version)))
        return;
    if (known->past_count == WEIGHTS_PAST_MAX)
        memmove(known->past, known->past + 1, --known->past_count * sizeof known->past[0]);
    uint32_t place = known->past_count++;
    for (; place > 0 && is_newer(&known->past[place - 1], version); place--)
        known->past[place] = known->past[place - 1];
    known->past[place] = *version;
}

/* Leaves of the floor what the version allows as well. */
static void fold(struct weights_version *floor, const struct weights_version *version)
{
    uint32_t kept = 0;
    if (floor->stamp.number == 0) {
        *floor = *version;
        return;
    }
    for (uint32_t i = 0; i < floor->count; i++) {
        const uint64_t other = weights_of_region(version, floor->part[i].region);
        if (other == 0)
            continue;
        floor->part[kept] = floor->part[i];
        if (other < floor->part[kept].billionths)
            floor->part[kept].billionths = other;
        kept++;
    }
    floor->count = kept;
    if (is_newer(version, floor))
        floor->stamp = version->stamp;
}

static void take_base(struct weights_known *known, const struct weights_version *base)
{
    if (!is_newer(base, &known->base))
        return;
    remember(known, base);
    known->base = *base;
    if (!is_newer(&known->newest, &known->base))
        known->newest = (struct weights_version){0};
    if (!is_newer(&known->floor, &known->base))
        known->floor = (struct weights_version){0};
}

static void take_newer(struct weights_known *known, const struct weights_version *version)
{
    if (!is_newer(version, &known->base) || version_compare(&version->stamp, &known->newest.stamp) == 0)
        return;
    remember(known, version);
    if (!is_newer(version, &known->newest)) {
        fold(&known->floor, version);
        return;
    }
    if (known->newest.stamp.number > 0)
        fold(&known->floor, &known->newest);
    known->newest = *version;
}

/* The order does not matter: of whatever is older than the base in the end nothing stays. */
static void take_known(struct node *node, const struct weights_known *other)
{
    struct weights *weights = &node->weights;
    const uint64_t before = version_text_hash(weights->said, weights->said_size);
    take_base(&weights->known, &other->base);
    take_newer(&weights->known, &other->newest);
    if (is_newer(&other->floor, &weights->known.base))
        fold(&weights->known.floor, &other->floor);
    refresh(node);
    if (version_text_hash(weights->said, weights->said_size) == before)
        return;
    weights->unsaved = true;
    weights->heard = false;
    todo_add(&node->todo, DO_ANSWER);
}

void weights_take(struct node *node, const struct weights_version *version)
{
    node->weights.scratch = (struct weights_known){.newest = *version};
    take_known(node, &node->weights.scratch);
}

void weights_init(struct node *node)
{
    for (uint32_t i = 0; i < node->options.region_count; i++)
        node->weights.in_force[i] = node->options.regions[i].weight;
    node->weights.settled = true;
}

/* ---- what members say ---- */

static bool is_said(const struct member *member)
{
    return member->weights.message > 0 && member->weights.incarnation == member->incarnation;
}

bool weights_are_kept_by(const struct member *member)
{
    return is_said(member) && member->weights.keeps;
}

/* One that left and that the config names may start where nobody hears it, with what its store has. */
bool weights_wait_for(const struct node *node, const struct member *member)
{
    const struct weights_word *word = &member->weights;
    return member_may_share(member) && (!is_said(member) || !word->heard ||
                                        version_compare(&word->newest, &node->weights.known.newest.stamp) != 0);
}

void weights_hear(struct node *node, const struct message *message, uint32_t sender)
{
    struct weights *weights = &node->weights;
    struct member *member = &node->member[sender];
    struct weights_word *word = &member->weights;
    const struct member_record *record = &message->members[message->sender];
    if (is_said(member) && message->number <= word->message)
        return;
    *word = (struct weights_word){.incarnation = member->incarnation,
                                  .message = message->number,
                                  .keeps = record->weights.keeps,
                                  .base = record->weights.base,
                                  .newest = record->weights.newest,
                                  .heard = record->weights.heard};
    const struct bytes said = {weights->said, weights->said_size};
    if (record->weights.text.size == 0 || bytes_equal(record->weights.text, said))
        return;
    if (weights_read(record->weights.text, &weights->scratch))
        take_known(node, &weights->scratch);
    else
        node->stats.messages_invalid++;
}

/* True: nobody may lack what this node knows. */
static bool all_have_the_base(const struct node *node)
{
    const struct weights_known *known = &node->weights.known;
    if (known->newest.stamp.number > 0 || known->floor.stamp.number > 0)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) &&
            (!is_said(member) || version_compare(&member->weights.base, &known->base.stamp) != 0))
            return false;
    }
    return true;
}

struct weights_record weights_say(const struct node *node)
{
    const struct weights *weights = &node->weights;
    struct weights_record record = {.said = node->options.keeps_weights || weights->said_size > 0,
                                    .keeps = node->options.keeps_weights,
                                    .base = weights->known.base.stamp,
                                    .newest = weights->known.newest.stamp,
                                    .heard = weights->heard};
    if (weights->said_size > 0 && !all_have_the_base(node))
        record.text = (struct bytes){weights->said, weights->said_size};
    return record;
}

bool weights_are_at_rest(const struct node *node)
{
    return node->weights.said_size == 0 || all_have_the_base(node);
}

static bool is_kept(const struct weights *weights)
{
    return !weights->unsaved && weights->kept_number == weights->saved_number;
}

int weights_await(const struct node *node)
{
    const struct weights *weights = &node->weights;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && is_said(member) && !member->silent &&
            version_compare(&member->weights.base, &weights->known.base.stamp) > 0)
            return (int)i;
    }
    return !node->options.keeps_weights || is_kept(weights) ? -1 : (int)node->me;
}

/* ---- steps ---- */

/* What a former process of this name spent is on its way to some member. */
static bool has_former_spends(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && origin->member == node->me && !origin->mine && origin->log_count > 0)
            return true;
    }
    return false;
}

static bool is_heard(const struct node *node)
{
    const struct weights *weights = &node->weights;
    return node->options.keeps_weights && weights->known.newest.stamp.number > 0 && weights->settled &&
           is_kept(weights) && !has_former_spends(node);
}

static bool is_complete(const struct node *node)
{
    if (!node->weights.heard || node->life.state != PEER_ACTIVE)
        return false; /* who joins may not know all members */
    for (uint32_t i = 0; i < node->member_end; i++)
        if (weights_wait_for(node, &node->member[i]))
            return false;
    return true;
}

static void save(struct node *node, struct effects *effects)
{
    struct weights *weights = &node->weights;
    if (!weights->unsaved || !node->options.keeps_weights)
        return;
    effects->weights_text = (struct bytes){weights->saved, weights_print(&weights->known, true, weights->saved)};
    effects->weights_number = ++weights->saved_number;
    weights->unsaved = false;
}

void weights_step(struct node *node, struct effects *effects)
{
    struct weights *weights = &node->weights;
    if (weights->said_size == 0)
        return;
    if (!weights->settled)
        weights->settled = spent_is_settled(node, weights->lowered_ns);
    const bool heard = is_heard(node);
    todo_add_if(&node->todo, DO_ANSWER, heard && !weights->heard);
    weights->heard = heard;
    if (is_complete(node)) {
        weights->scratch = (struct weights_known){.base = weights->known.newest};
        take_known(node, &weights->scratch);
        effects_notice(effects, NOTICE_INFO, "weights %" PRIu64 " are in force: all daemons have heard them",
                       weights->known.base.stamp.number);
    }
    save(node, effects);
}

void weights_tell_former(struct node *node)
{
    const struct weights *weights = &node->weights;
    if (weights->settled || node->now_ns - outbox_age_ns(node) >= weights->lowered_ns)
        return;
    if (!tell_some(node))
        todo_add(&node->todo, DO_STEP);
}

static void restore(struct node *node, const struct event *event, struct effects *effects)
{
    struct weights *weights = &node->weights;
    if (!weights_read(event->weights_text, &weights->scratch)) {
        effects_notice(effects, NOTICE_WARNING, "the store has weights that cannot be read: they are left out");
        return;
    }
    weights->known = weights->scratch;
    weights->saved_number = weights->kept_number = event->weights_number;
    refresh(node);
    weights->settled = true; /* nothing is spent before the start */
}

bool weights_event(struct node *node, const struct event *event, struct effects *effects)
{
    if (event->kind == EVENT_RESTORE && event->weights_text.size > 0) {
        restore(node, event, effects);
    } else if (event->kind == EVENT_RETELL) {
        node->weights.unsaved = node->weights.said_size > 0;
    } else if (event->kind == EVENT_WEIGHTS_KEPT) {
        if (event->weights_number > node->weights.kept_number)
            node->weights.kept_number = event->weights_number;
        return true;
    } else if (event->kind == EVENT_WEIGHTS) {
        weights_set(node, event->weights, event->wall_ms, effects);
        return true;
    }
    return false;
}
