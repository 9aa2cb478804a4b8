/* The section of INFO about rules. */
#include "commands/info.h"
#include "rules/ruleset.h"

#include <inttypes.h>

enum {
    RULES_SHOWN_MAX = 100, /* RULE LIST shows all rules */
    RULES_FOR_A_WORK = 64, /* so many that are not shown are passed in the time of a unit of work */
};

struct rules_report {
    struct call *call;
    uint32_t shown, left_out;
};

static void print_rule_counts(void *context, const struct ruled *rule)
{
    struct rules_report *report = context;
    if (ruled_is_sheet(rule))
        return;
    if (report->shown == RULES_SHOWN_MAX) {
        report->left_out++;
        return;
    }
    const struct rule_counts counts = ruled_counts(rule);
    report->shown++;
    output_print(report->call->answer.output,
                 "rule_%.*s/%.*s:allowed=%" PRIu64 ",denied=%" PRIu64 ",shadow_denied=%" PRIu64
                 ",over_limit=%" PRIu64 "\r\n",
                 (int)rule->service.size, rule->service.data, (int)rule->id.size, rule->id.data, counts.allowed,
                 counts.denied, counts.shadow_denied, counts.over_limit);
}

static void print_service_rules(void *context, const struct ruled_service *service)
{
    struct rules_report *report = context;
    if (report->shown == RULES_SHOWN_MAX) {
        report->left_out += service->rule_count;
        return;
    }
    ruleset_visit_rules(node_rules(report->call->commands->node), service->name, print_rule_counts, report);
}

void info_rules(struct call *call)
{
    struct output *output = call->answer.output;
    const struct ruleset *rules = node_rules(call->commands->node);
    const struct rulebook *book = node_rulebook(call->commands->node);
    struct ruleset_stats stats;
    struct rules_report rules_report = {.call = call};
    ruleset_stats(rules, &stats);
    info_number(output, "services", stats.services);
    info_number(output, "rules", stats.rules);
    info_number(output, "rule_windows", stats.windows);
    info_number(output, "rules_bytes", stats.bytes);
    info_number(output, "rule_versions", rulebook_versions(book));
    output_print(output, "rules_digest:%016" PRIx64 "\r\n", rulebook_digest(book));
    info_number(output, "rules_lamport", rulebook_lamport(book));
    ruleset_visit_services(rules, print_service_rules, &rules_report);
    call->work += (stats.services + rules_report.left_out) / RULES_FOR_A_WORK;
    info_number(output, "rules_not_shown", rules_report.left_out);
}
