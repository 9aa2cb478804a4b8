/*
 * Runs of CAN_ACCESS: the rules of each are found and their keys asked of memory first, then all are decided. Clients
 * that send one at a time bring no runs: what several of them sent at about the same time is put off and decided together.
 */
#include "commands/call.h"

#include <assert.h>

enum { GROUP_SMALL = 4 }; /* more than that wait for memory side by side without those of other clients */
_Static_assert(GROUP_SMALL *DECISION_BYTES <= LISTENER_LATE_BYTES, "what is put off has room to be answered");

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
    struct match *match = &commands->group[group->first + group->count++];
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

/* By now the first tags have come; they tell where the entries are, which arrive side by side as well. */
static void prefetch(const struct commands *commands, uint32_t first, uint32_t count)
{
    for (const struct match *match = &commands->group[first]; match < &commands->group[first + count]; match++)
        for (uint32_t i = 0; i < match->count; i++)
            node_prefetch(commands->node, match->charge[i].id);
}

static void answer(struct commands *commands, uint32_t first, uint32_t count, struct output *output,
                   struct turn turn)
{
    for (uint32_t i = first; i < first + count; i++) {
        bool allowed = decide(commands, &commands->group[i], turn.now_ns);
        output_append(output, allowed ? ":1\r\n" : ":0\r\n", DECISION_BYTES);
    }
    commands->stats.total_commands_processed += count;
    commands->stats.grouped_decisions += count;
}

void group_decide(struct group *group, struct commands *commands, struct output *output, struct turn turn)
{
    prefetch(commands, group->first, group->count);
    answer(commands, group->first, group->count, output, turn);
    group->count = 0;
}

bool group_put_off(struct group *group, struct commands *commands, struct session *session)
{
    if (!commands->puts_off || group->count == 0 || group->count > GROUP_SMALL ||
        group->first != commands->late_count || group->first + group->count > COMMANDS_LATE_MAX)
        return false;
    assert(session->late_count == 0 && commands->late_answered == 0);
    session->late_count = group->count;
    commands->late_count += group->count;
    return true;
}

void commands_answer(struct commands *commands, struct session *session, struct output *output, struct turn turn)
{
    uint32_t first = commands->late_answered, count = session->late_count;
    assert(count > 0 && first + count <= commands->late_count);
    if (first == 0)
        prefetch(commands, 0, commands->late_count);
    answer(commands, first, count, output, turn);
    session->late_count = 0;
    commands->late_answered += count;
    if (commands->late_answered == commands->late_count)
        commands->late_answered = commands->late_count = 0;
}
