#include "tests/lib/plane_world.h"

#include <stdio.h>
#include <string.h>

void name_regions(void)
{
    static const char *const names[] = {"us-east", "eu-west", "ap-south"};
    for (unsigned i = 0; i < 3; i++) {
        struct node_options *options = &world.host[i].options;
        (void)snprintf(options->region, sizeof options->region, "%s", names[i]);
        for (unsigned r = 0; r < 3; r++)
            (void)snprintf(options->regions[r].region, sizeof options->regions[r].region, "%s", names[r]);
        for (unsigned p = 0; p < options->peer_count; p++)
            for (unsigned other = 0; other < 3; other++)
                if (strcmp(options->peers[p].name, host_names[other]) == 0)
                    (void)snprintf(options->peers[p].region, sizeof options->peers[p].region, "%s", names[other]);
    }
}

struct rules_result apply(unsigned i, struct rule_changes changes)
{
    changes.file = "rules.yaml";
    step(i, (struct event){.kind = EVENT_RULES, .wall_ms = 1700000000000, .rules = &changes}, i);
    return world.effects.rules;
}

/* What comes of it in the end. */
static struct rules_result apply_all(unsigned i, struct rule_changes changes)
{
    struct rules_result result = apply(i, changes);
    for (uint64_t ticket = result.ticket;
         result.in_work && !node_rules_result(world.host[i].node, ticket, &result);)
        step(i, (struct event){.kind = EVENT_WAKE}, i);
    return result;
}

struct rules_result set(unsigned i, const char *text)
{
    return apply_all(i, (struct rule_changes){.text = bytes_of(text)});
}

struct rules_result try_out(unsigned i, const char *text, uint64_t watch_ms)
{
    return apply(i, (struct rule_changes){.text = bytes_of(text),
                                          .share_millionths = 500000,
                                          .watch_ms = watch_ms,
                                          .threshold_millionths = 50000});
}

struct rules_result end_rule(unsigned i, const char *service, const char *id)
{
    struct rule_name name = {bytes_of(service), bytes_of(id)};
    return apply(i, (struct rule_changes){.deleted = &name, .deleted_count = 1});
}

const struct rulebook_rule *history(unsigned i, const char *service, const char *id)
{
    return rulebook_find(node_rulebook(world.host[i].node), bytes_of(service), bytes_of(id));
}

uint64_t rate(unsigned i, const char *service, const char *id)
{
    const struct rulebook_rule *rule = history(i, service, id);
    const struct rule_version *stable = rule ? rulebook_stable(rule) : NULL;
    return stable ? stable->rule->amount.rate : 0;
}

uint64_t limit_met(unsigned i, const char *service, const char *user)
{
    struct request request = {.service = bytes_of(service), .cost = 1, .id_count = 1};
    struct match match;
    request.id[0] = (struct request_id){bytes_of("user"), bytes_of(user)};
    if (!ruleset_match(node_rules(world.host[i].node), &request, world.now_ns, world.now_ns, &match))
        return match.status == MATCH_UNKNOWN_SERVICE ? 0 : UINT64_MAX;
    return match.count > 0 ? match.rule[0].limit_tokens : 0;
}

bool all_agree(void)
{
    for (unsigned i = 1; i < world.count; i++)
        if (rulebook_digest(node_rulebook(world.host[i].node)) !=
            rulebook_digest(node_rulebook(world.host[0].node)))
            return false;
    return true;
}

unsigned nodes_with_rate(const char *service, const char *id, uint64_t expected)
{
    unsigned count = 0;
    for (unsigned i = 0; i < world.count; i++)
        count += world.host[i].node && rate(i, service, id) == expected && (limit_met(i, service, "u") == expected);
    return count;
}
