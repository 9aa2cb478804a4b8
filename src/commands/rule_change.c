/*
 * Changes of rules for any protocol: hands them to the node, and says what became of them once that is on the disk.
 */
#include "commands/ask.h"

#include <stdio.h>
#include <sysexits.h>

void ask_rules_warning(const struct commands *commands, const struct rules_wait *wait,
                       char warning[RULES_WARNING_BYTES])
{
    struct rules_result result;
    warning[0] = '\0';
    if (wait->warned_of == 0 || !node_rules_result(commands->node, wait->warned_of, &result))
        return;
    if (result.warnings == 1)
        (void)snprintf(warning, RULES_WARNING_BYTES, "%s", result.warning.text);
    else if (result.warnings > 1)
        (void)snprintf(warning, RULES_WARNING_BYTES, "%s (and so on for %zu more)", result.warning.text,
                       result.warnings - 1);
}

static enum rules_status settle_if_kept(struct commands *commands, struct rules_wait *wait, struct error *error)
{
    char why[NODE_NOTICE_BYTES] = "";
    enum store_kept kept = STORE_KEPT;
    if (commands->store != NULL)
        kept = store_versions_kept(commands->store, wait->kept, why);
    if (kept == STORE_KEEPS)
        return RULES_WAIT;
    wait->kept = 0;
    if (kept == STORE_KEPT)
        return RULES_DONE;
    (void)error_set(error, EX_IOERR,
                    "the change is in force and told to peers, but it is not on this node's disk (%s): it is "
                    "written as soon as that works",
                    why);
    return RULES_NOT_KEPT;
}

/* A refusal is known at once, everything else when it is kept. */
static enum rules_status settle(struct commands *commands, const struct rules_result *result,
                                struct rules_wait *wait, struct error *error)
{
    *wait = (struct rules_wait){.unmet = result->unmet};
    if (!result->asked) {
        (void)error_set(error, EX_TEMPFAIL, "this node is ending: ask another one");
        return RULES_REFUSED;
    }
    if (result->refused) {
        *error = result->error;
        return RULES_REFUSED;
    }
    wait->changed_rules = result->changed_rules;
    wait->created_rules = result->created_rules;
    wait->removed_rules = result->removed_rules;
    wait->unchanged_rules = result->unchanged_rules;
    wait->newest = result->newest;
    wait->warned_of = result->warnings > 0 ? result->ticket : 0;
    wait->kept = commands->store != NULL ? store_versions_put(commands->store) : 0;
    return settle_if_kept(commands, wait, error);
}

enum rules_status ask_rules(struct commands *commands, const struct rule_changes *changes, uint64_t now_ns,
                            struct rules_wait *wait, struct error *error)
{
    struct event event = {.kind = EVENT_RULES, .now_ns = now_ns, .rules = changes};
    struct rules_result result = {0};
    commands->submit(commands->context, &event, &result);
    if (!result.in_work)
        return settle(commands, &result, wait, error);
    *wait = (struct rules_wait){.ticket = result.ticket};
    return RULES_WAIT;
}

enum rules_status ask_rules_none(struct commands *commands, struct rules_wait *wait, struct error *error)
{
    const struct rules_result none = {.asked = true};
    return settle(commands, &none, wait, error);
}

enum rules_status ask_rules_again(struct commands *commands, struct rules_wait *wait, struct error *error)
{
    struct rules_result result;
    if (wait->ticket == 0)
        return settle_if_kept(commands, wait, error);
    if (!node_rules_result(commands->node, wait->ticket, &result))
        return RULES_WAIT;
    return settle(commands, &result, wait, error);
}

bool ask_knew_rule(const struct commands *commands, struct bytes service, struct bytes id)
{
    return rulebook_find(node_rulebook(commands->node), service, id) != NULL;
}

const struct rule_version *ask_rule(const struct commands *commands, struct bytes service, struct bytes id)
{
    const struct rulebook_rule *rule = rulebook_find(node_rulebook(commands->node), service, id);
    return rule != NULL && (rulebook_stable(rule) != NULL || rulebook_candidate(rule) != NULL) ? rule->version[0]
                                                                                               : NULL;
}
