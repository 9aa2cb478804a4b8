/*
 * plane owns the rulebook and the ruleset of a node and drives the other plane files. It makes both
 * from the options, takes versions from the store, routes events, and in each step scans, works,
 * watches, compiles and advertises as is due. It does not read or write messages (plane_message.c),
 * and requests never wait for it.
 */
#include "cluster/plane/plane.h"

#include "cluster/codec/effects.h"
#include "cluster/members/limit_list.h"
#include "cluster/members/spared_ticks.h"
#include "cluster/plane/plane_canary.h"
#include "cluster/plane/plane_change.h"
#include "cluster/plane/plane_compile.h"
#include "cluster/plane/plane_health.h"
#include "cluster/plane/plane_home.h"
#include "cluster/plane/plane_limits.h"
#include "cluster/plane/plane_message.h"
#include "cluster/plane/plane_scan.h"
#include "cluster/plane/plane_work.h"
#include "cluster/spend/limits.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct ruleset *node_rules(struct node *node)
{
    return node->plane->rules;
}

struct bytes node_rule_as_set(const struct node *node, struct rule **rule, char *room)
{
    return plane_home_settle(node, node->plane->book, rule, room);
}

const struct rulebook *node_rulebook(const struct node *node)
{
    return node->plane->book;
}

static uint32_t or_default(uint32_t option, uint32_t standard)
{
    return option > 0 ? option : standard;
}

static int intern(void *context, const struct limit_terms *terms, struct error *error)
{
    return node_intern_limit(context, terms, error);
}

static void note_span(void *context, uint16_t limit, const struct limit_span *span)
{
    struct node *node = context;
    limit_span_note(span, &node->limits.limit[limit]);
}

static void note_inherit(void *context, uint16_t limit, uint8_t inherit)
{
    limits_note_named(context, limit, (enum bucket_inherit)inherit);
}

static bool note_weights(void *context, const struct limit_weight *weights, uint32_t count, struct error *error)
{
    return node_note_weights(context, weights, count, error);
}

/* By the weights of the config, which is the same at all who decide: those in force differ between peers for a time. */
static void init_homes(const struct node_options *options, struct homes *homes)
{
    struct home_weight weights[NODE_REGIONS_MAX];
    for (uint32_t i = 0; i < options->region_count; i++)
        weights[i] = (struct home_weight){bytes_of(options->regions[i].region), options->regions[i].weight};
    homes_init(homes, weights, options->region_count);
}

static struct ruleset *create_rules(struct node *node, struct error *error)
{
    struct ruleset_named named[NAMED_LIMITS_MAX];
    const struct named_limits *limits = node->options.limits;
    const struct rule_caps *caps = &node->options.rules;
    if (!plane_limits_intern(node, limits, named, error))
        return NULL;
    init_homes(&node->options, &node->plane->homes);
    struct ruleset *rules = ruleset_create(&(struct ruleset_options){
        .hash_key = &node->options.hash_key,
        .services_max = or_default(caps->services_max, PLANE_SERVICES_DEFAULT),
        .rules_max = or_default(caps->rules_max, PLANE_RULES_DEFAULT),
        .service_rules_max = or_default(caps->service_rules_max, PLANE_SERVICE_RULES_DEFAULT),
        .named = named,
        .named_count = limits->count,
        .named_by_default = limits->by_default,
        .unknown_service_open = node->options.unknown_service_open,
        .homes = &node->plane->homes,
        .threads = node->options.threads,
        .intern = intern,
        .note_span = note_span,
        .note_inherit = note_inherit,
        .note_weights = note_weights,
        .context = node,
    });
    if (!rules)
        (void)error_set(error, EX_OSERR, "not enough memory for the rules");
    return rules;
}

static struct rulebook *create_book(const struct node *node, struct error *error)
{
    const struct rule_caps *caps = &node->options.rules;
    struct rulebook_limits limits = {
        .services_max = PLANE_HISTORY * or_default(caps->services_max, PLANE_SERVICES_DEFAULT),
        .rules_max = PLANE_HISTORY * or_default(caps->rules_max, PLANE_RULES_DEFAULT),
        .service_rules_max = PLANE_HISTORY * or_default(caps->service_rules_max, PLANE_SERVICE_RULES_DEFAULT),
    };
    struct rulebook *book = rulebook_create(&limits, &node->options.hash_key);
    if (!book)
        (void)error_set(error, EX_OSERR, "not enough memory for the rulebook");
    return book;
}

/*
 * Each life of a node is another author: a later life may have forgotten versions that the earlier
 * one made.
 */
static uint64_t author_of(const struct node *node)
{
    char text[NODE_NAME_BYTES + sizeof(uint64_t)] = {0};
    memcpy(text, node->options.name, strlen(node->options.name));
    memcpy(text + NODE_NAME_BYTES, &node->options.incarnation, sizeof(uint64_t));
    return hash_64(&node->options.hash_key, text, sizeof text);
}

bool plane_create(struct node *node, struct error *error)
{
    struct plane *plane = calloc(1, sizeof *plane);
    if (!plane)
        return error_set(error, EX_OSERR, "not enough memory for the rules");
    node->plane = plane;
    plane->author = author_of(node);
    plane->scans = node->options.incarnation; /* no request of a former life has the same number */
    plane->book = create_book(node, error);
    plane->rules = plane->book ? create_rules(node, error) : NULL;
    if (!plane->rules)
        plane_destroy(&node->plane);
    return node->plane != NULL;
}

void plane_destroy(struct plane **plane)
{
    if (!*plane)
        return;
    struct plane *dying = *plane;
    plane_scan_abandon(dying);
    plane_works_abandon(dying);
    ruleset_destroy(&dying->rules);
    rulebook_destroy(&dying->book);
    for (uint32_t i = 0; i < dying->service_count; i++)
        free(dying->service[i]);
    free(dying);
    *plane = NULL;
}

static void add_stored(struct node *node, struct rule_version *version)
{
    struct plane *plane = node->plane;
    if (version->record.stamp.lamport > plane->lamport)
        plane->lamport = version->record.stamp.lamport;
    enum rulebook_result result = rulebook_add(plane->book, version);
    node->stats.limit_drops += result == RULEBOOK_FULL;
    if (result == RULEBOOK_ADDED && version->record.share_millionths > 0)
        plane_watch(node, version);
    plane->advert_wanted |= result == RULEBOOK_ADDED;
}

static void restore(struct node *node, const struct event *event, struct effects *effects)
{
    struct error error;
    for (size_t i = 0; i < event->version_count; i++) {
        struct rule_version *version = rule_version_create(&event->versions[i], &node->options.hash_key, &error);
        if (!version) {
            node->stats.rule_versions_invalid++;
            effects_notice(effects, NOTICE_WARNING, "a stored version of a rule is left out: %s", error.text);
            continue;
        }
        add_stored(node, version);
        rule_version_release(&version);
    }
    node->plane->restored = true;
}

bool plane_event(struct node *node, const struct event *event, struct effects *effects)
{
    struct plane *plane = node->plane;
    if (event->wall_ms > 0) {
        plane->wall_ms = event->wall_ms;
        plane->wall_at_ns = node->now_ns;
    }
    switch (event->kind) {
    case EVENT_START:
        plane->started = true;
        return false;
    case EVENT_RESTORE:
        if (event->limits_text.size > 0)
            limit_list_restore(node, event->limits_text, event->limits_number, effects);
        else
            restore(node, event, effects);
        return false;
    case EVENT_LIMITS:
        plane_limits_change(node, event->limits, event->wall_ms, effects);
        return true;
    case EVENT_RETELL:
        limit_list_retell(node);
        return false;
    case EVENT_RULES:
        plane_change(node, event->rules, effects);
        return true;
    case EVENT_HEALTH:
        plane_health(node, event->health, effects);
        return true;
    case EVENT_WAKE:
    case EVENT_MESSAGE:
    case EVENT_REQUEST:
    case EVENT_RESPONSE:
    case EVENT_FORGET:
    case EVENT_MUTE:
    case EVENT_STOP:
    case EVENT_WEIGHTS:
    case EVENT_WEIGHTS_KEPT:
    case EVENT_KEY:
    case EVENT_ROTATE:
        break;
    }
    return false;
}

/* A node without rules need not be asked: other peers have what it lacks. */
static bool has_something_to_say(const struct plane *plane)
{
    return rulebook_versions(plane->book) > 0 || plane->service_count > 0;
}

void plane_step(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    if (!plane->started)
        return; /* versions from the store are compiled once, when all of them are here */
    bool tick = node->now_ns >= node->publishing.tick_ns;
    plane_limits_step(node, effects);
    if (plane->restored)
        plane_compile_all(node, effects);
    plane_scan_step(node, effects);
    if (tick && plane_is_idle(node))
        plane_canary_step(node, effects);
    plane_work_step(node, effects);
    if (tick)
        plane_health_step(node);
    bool due = plane->advert_wanted || (tick && !tick_is_spared(node, plane->advertised_ns));
    if (due && has_something_to_say(plane))
        plane_advertise(node, effects);
    plane->advert_wanted = false;
    plane->worked = plane->has_read = false;
    todo_add_if(&node->todo, DO_STEP, plane->scan.reading.running || !plane_is_idle(node));
}

void plane_end(struct node *node, struct effects *effects)
{
    plane_work_finish(node, effects);
}

bool plane_is_passed_on(const struct node *node)
{
    const struct plane *plane = node->plane;
    uint64_t ours = rulebook_digest(plane->book);
    bool somebody = false;
    if (node->life.state == PEER_JOINING && !plane->asked)
        return true;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || member->heard_direct_ns == 0)
            continue;
        if (plane->peer[i].digest == ours)
            return true;
        somebody = true;
    }
    return !somebody;
}

bool node_rules_result(const struct node *node, uint64_t ticket, struct rules_result *result)
{
    return plane_result(node->plane, ticket, result);
}

bool plane_knows_the_rules(const struct node *node)
{
    const struct plane *plane = node->plane;
    uint64_t patience_ns = PLANE_JOIN_INTERVALS * node->options.interval_ns;
    if (node->options.join_timeout_ns > patience_ns)
        patience_ns = node->options.join_timeout_ns;
    if (node->now_ns - node->life.started_ns >= patience_ns)
        return true;
    if (plane->scan.running || !plane->asked)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (plane_differs(node, i) && node->member[i].state == PEER_ACTIVE)
            return false;
    return true;
}

bool node_rules_may_lack(const struct node *node)
{
    if (node->life.state == PEER_JOINING || node->plane->scan.running || !plane_is_idle(node))
        return true;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (plane_differs(node, i))
            return true;
    return false;
}

void plane_check(const struct node *node)
{
    const struct plane *plane = node->plane;
    rulebook_check(plane->book);
    assert(plane->lamport >= rulebook_lamport(plane->book));
    assert(plane->scan.running == (plane->scan.book != NULL));
    plane_work_check(node);
    if (plane->scan.running)
        rulebook_check(plane->scan.book);
}
