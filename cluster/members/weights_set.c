/*
 * weights_set checks what an operator asks for against the config, the members and the whole, and
 * makes the next version. It says in one sentence what is wrong.
 */
#include "cluster/members/weights_set.h"

#include "base/error.h"
#include "cluster/codec/effects.h"
#include "cluster/members/version.h"
#include "cluster/members/weights.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

/* ---- what may be asked for ---- */

static bool node_may(const struct node *node, struct error *error)
{
    if (node->life.superseded || node->life.stopping || node->life.state != PEER_ACTIVE)
        return error_set(error, EX_TEMPFAIL, "%s is %s: ask a daemon that is active", node->options.name,
                         peer_state_name(node->life.superseded ? PEER_LEFT : node->life.state));
    if (node->options.takeover_after_ns > 0)
        return error_set(error, EX_CONFIG,
                         "weights cannot be set while takeover_after is set: change them in all configs");
    if (!node->options.keeps_weights)
        return error_set(error, EX_CONFIG, "%s would not know the weights after a restart: its state_dir is none",
                         node->options.name);
    if (node->accord.told_out)
        return error_set(error, EX_TEMPFAIL, "the config of %s is not in use: ask a daemon whose config is",
                         node->options.name);
    return true;
}

static bool members_may(const struct node *node, struct error *error)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_may_share(member) || weights_are_kept_by(member))
            continue;
        if (member->incarnation == 0)
            return error_set(
                error, EX_TEMPFAIL,
                "%s has never been heard, and would begin with its config's weights: start it, or forget "
                "it if there is no such daemon any more",
                member->name);
        if (member->state == PEER_LEFT || member->weights.message == 0)
            return error_set(
                error, EX_TEMPFAIL,
                "%s has not said whether it keeps weights: wait until it is heard, or forget it if it will "
                "not come back",
                member->name);
        return error_set(error, EX_CONFIG, "%s keeps no weights over a restart: upgrade it, or give it a state_dir",
                         member->name);
    }
    return true;
}

static int row_of(const struct node *node, const char *region)
{
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (strcmp(node->options.regions[i].region, region) == 0)
            return (int)i;
    return -1;
}

uint64_t weights_before(const struct node *node, uint32_t row)
{
    const struct weights_version *newest = weights_newest(node);
    return newest->stamp.number == 0 ? weights_billionths(node->options.regions[row].weight)
                                     : weights_of_region(newest, node->options.regions[row].region);
}

static bool fill(const struct node *node, const struct weights_change *change, struct weights_version *version,
                 struct error *error)
{
    bool named[NODE_REGIONS_MAX] = {false};
    uint64_t sum = 0;
    version->count = node->options.region_count;
    for (uint32_t i = 0; i < version->count; i++) {
        memcpy(version->part[i].region, node->options.regions[i].region, NODE_NAME_BYTES);
        version->part[i].billionths = weights_before(node, i);
    }
    for (uint32_t i = 0; i < change->count; i++) {
        const struct weights_part *part = &change->part[i];
        const int row = row_of(node, part->region);
        if (row < 0)
            return error_set(error, EX_USAGE, "no region is called %s: expected one of the config's regions",
                             part->region);
        if (named[row])
            return error_set(error, EX_USAGE, "%s has two weights: expected one", part->region);
        if (part->billionths == 0 || part->billionths > WEIGHT_ONE_BILLIONTHS)
            return error_set(error, EX_USAGE, "%s has no weight: expected one above 0 and at most 1", part->region);
        named[row] = true;
        version->part[row].billionths = part->billionths;
    }
    for (uint32_t i = 0; i < version->count; i++)
        sum += version->part[i].billionths;
    if (sum > WEIGHT_ONE_BILLIONTHS)
        return error_set(error, EX_USAGE,
                         "the weights of all regions would sum to %" PRIu64 ".%09" PRIu64
                         ": expected at most 1 (a region that is not named keeps its weight)",
                         sum / WEIGHT_ONE_BILLIONTHS, sum % WEIGHT_ONE_BILLIONTHS);
    return true;
}

/* ---- the version ---- */

/* A word: what the text of versions has no room for becomes a line below. */
static void copy_author(char author[NODE_NAME_BYTES], struct bytes from)
{
    const size_t size = from.size < NODE_NAME_BYTES - 1 ? from.size : NODE_NAME_BYTES - 1;
    for (size_t i = 0; i < size; i++)
        author[i] = from.data[i] > ' ' && from.data[i] <= '~' ? from.data[i] : '_';
    author[size] = '\0';
}

static bool is_as_before(const struct node *node, const struct weights_version *version)
{
    for (uint32_t i = 0; i < version->count; i++)
        if (version->part[i].billionths != weights_before(node, i))
            return false;
    return true;
}

/* False: it is refused, or nothing would change. */
bool weights_make(struct node *node, const struct weights_change *change, uint64_t wall_ms,
                  struct weights_result *result)
{
    struct weights_version version = {.wall_ms = wall_ms};
    result->number = weights_newest(node)->stamp.number;
    result->refused = !node_may(node, &result->error) || !fill(node, change, &version, &result->error) ||
                      !members_may(node, &result->error);
    result->unchanged = !result->refused && is_as_before(node, &version);
    if (result->refused || result->unchanged)
        return false;
    if (result->number >= WEIGHTS_NUMBER_MAX) {
        result->refused = !error_set(&result->error, EX_DATAERR, "no version can follow %" PRIu64, result->number);
        return false;
    }
    version.stamp = (struct version_stamp){++result->number, version_maker(node)};
    copy_author(version.author, change->author.size > 0 ? change->author : bytes_of(node->options.name));
    weights_take(node, &version);
    return true;
}

/* Nobody is called as those versions are that no operator has made. */
static struct bytes author_of(const struct node *node, struct bytes author)
{
    author = author.size > 0 ? author : bytes_of(node->options.name);
    return bytes_equal(author, bytes_of(WEIGHTS_AUTO_AUTHOR)) ? bytes_of("_" WEIGHTS_AUTO_AUTHOR) : author;
}

void weights_set(struct node *node, const struct weights_change *change, uint64_t wall_ms, struct effects *effects)
{
    struct weights_result *result = &node->weights.result;
    struct weights_change *operators = &node->weights.proposed;
    *result = (struct weights_result){.asked = result->asked + 1};
    *operators = *change;
    operators->author = author_of(node, change->author);
    if (weights_make(node, operators, wall_ms, result))
        effects_notice(effects, NOTICE_INFO,
                       "weights %" PRIu64 " were made by %s: larger ones wait for all daemons", result->number,
                       weights_newest(node)->author);
}
