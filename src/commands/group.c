/*
 * Runs of CAN_ACCESS: the rules of each are found and their keys asked of memory first, then all are decided.
 */
#include "commands/call.h"

#include <assert.h>

bool group_join(struct group *group, struct commands *commands, const struct session *session,
                const struct resp_command *words, struct turn turn)
{
    struct request *request = &commands->group_request;
    char error[COMMAND_ERROR_BYTES];
    if (words->count < 2 || !session->authenticated || command_find(words->args[0]) != COMMAND_CAN_ACCESS)
        return false;
    if (!command_parse_can_access(words, &request->id[0].value, &request->cost, error))
        return false;
    assert(group->count < COMMANDS_GROUP_MAX);
    struct match *match = &commands->group[group->count++];
    if (ruleset_match(node_rules(commands->node), request, turn.now_ns, turn.wall_ns, match))
        for (uint32_t i = 0; i < match->count; i++)
            node_prefetch_tags(commands->node, match->charge[i].id);
    return true;
}

static bool decide(struct commands *commands, const struct match *match, uint64_t now_ns)
{
    struct verdict verdicts[CHARGES_MAX];
    bool allowed = match->status == MATCH_CHARGES;
    if (allowed && match->count == 1 && !match->charge[0].shadow) {
        verdicts[0].allowed = node_takes(commands->node, &match->charge[0], now_ns);
        allowed = verdicts[0].allowed;
    } else if (allowed && match->count > 0) {
        allowed = node_check(commands->node, match->charge, match->count, true, now_ns, verdicts);
    }
    ruleset_note(node_rules(commands->node), match, verdicts);
    return allowed;
}

void group_decide(struct group *group, struct commands *commands, struct output *output, struct turn turn)
{
    uint64_t allowed = 0;
    /* By now the first tags have come; they tell where the entries are, which arrive side by side as well. */
    for (uint32_t i = 0; i < group->count; i++)
        for (uint32_t k = 0; k < commands->group[i].count; k++)
            node_prefetch(commands->node, commands->group[i].charge[k].id);
    for (uint32_t i = 0; i < group->count; i++)
        allowed |= (uint64_t)decide(commands, &commands->group[i], turn.now_ns) << i;
    answer_decisions(output, allowed, group->count);
    commands->stats.total_commands_processed += group->count;
    commands->stats.grouped_decisions += group->count;
    group->count = 0;
}
