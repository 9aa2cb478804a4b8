/*
 * Runs of CAN_ACCESS, CHECK, PEEK and the two THROTTLEs in any mixture: the rules of each are found and the tags of
 * their keys asked of memory first, then all are decided.
 */
#include "commands/call.h"

#include <assert.h>

_Static_assert((int)COMMAND_ID_COUNT <= UINT8_MAX, "a grouped command says which one it is");
_Static_assert(4 + (VERDICT_FIELDS - 1) * 23 + 5 + RULE_NAME_MAX_BYTES + 2 <= GROUPED_ANSWER_BYTES &&
                   (int)LIMIT_NAME_BYTES - 1 <= (int)RULE_NAME_MAX_BYTES,
               "numbers of 64 bits and the name of a rule or a limit");
_Static_assert((int)COMMANDS_GROUP_MAX <= (int)NODE_EACH_MAX, "they are decided in one go");

static bool match_access(struct commands *commands, const struct resp_command *words, struct turn turn,
                         struct match *match)
{
    struct request *request = &commands->group_request;
    char error[COMMAND_ERROR_BYTES];
    if (!command_parse_can_access(words, &request->id[0].value, &request->cost, error))
        return false;
    (void)ruleset_match(node_rules(commands->node), request, turn.now_ns, turn.wall_ns, match);
    return true;
}

/* False as well where the answer is of another shape, or an error. */
static bool match_check(struct commands *commands, const struct resp_command *words, struct turn turn,
                        struct match *match)
{
    struct command_query query;
    struct request request;
    char error[COMMAND_ERROR_BYTES];
    if (!command_parse_query(words, QUERY_COST | QUERY_WAIT | QUERY_VERBOSE, &query, error) || query.wait ||
        query.verbose)
        return false;
    call_fill_request(&request, &query, commands->lane);
    (void)ruleset_match(node_rules(commands->node), &request, turn.now_ns, turn.wall_ns, match);
    return match->status == MATCH_CHARGES || match->status == MATCH_DENIED;
}

/* The charges of what joins; NULL: it is to be executed alone. */
static const struct charge *prepare(struct commands *commands, const struct resp_command *words, struct turn turn,
                                    uint32_t index, uint32_t *count)
{
    enum command_id command = command_find(words->args[0]);
    union grouped_alone *alone = &commands->group_alone[index];
    struct match *match = &alone->match;
    if (command == COMMAND_ID_COUNT || !command_arity_fits(command_table[command].arity, words->count))
        return NULL;
    commands->group[index] = (struct grouped){.command = (uint8_t)command, .kind = ALIKE_KINDS_MAX};
    if (command == COMMAND_CL_THROTTLE || command == COMMAND_THROTTLE) {
        enum throttle_door door = command == COMMAND_THROTTLE ? THROTTLE_CRAB : THROTTLE_CELL;
        *count = 1;
        return throttle_prepare(commands, door, words, &alone->throttle) ? &alone->throttle.charge : NULL;
    }
    bool matches = command == COMMAND_CAN_ACCESS ? match_access(commands, words, turn, match)
                                                 : (command == COMMAND_CHECK || command == COMMAND_PEEK) &&
                                                       match_check(commands, words, turn, match);
    if (!matches)
        return NULL;
    *count = match->count;
    return match->charge;
}

/* Of so many keys, whose ids are the next in the commands' group_id. */
static inline void add(struct group *group, struct commands *commands, uint32_t count)
{
    const struct key_id *ids = commands->group_id + group->key_count;
    for (uint32_t i = 0; i < count; i++)
        node_prefetch_tags(commands->node, ids[i]);
    group->count++;
    group->key_count += count;
}

bool group_join(struct group *group, struct commands *commands, const struct session *session,
                const struct resp_command *words, struct bytes frame, struct turn turn)
{
    assert(group->count < COMMANDS_GROUP_MAX);
    const uint32_t index = group->count;
    uint32_t count;
    if (!session->authenticated || session->transaction.open)
        return false;
    const struct charge *charges = prepare(commands, words, turn, index, &count);
    if (!charges)
        return false;
    for (uint32_t i = 0; i < count; i++)
        commands->group_id[group->key_count + i] = charges[i].id;
    add(group, commands, count);
    const enum command_id command = (enum command_id)commands->group[index].command;
    if (command == COMMAND_CHECK || command == COMMAND_PEEK)
        alike_learn(commands, frame, words, command, &commands->group_alone[index].match, group->kinds);
    return true;
}

size_t group_join_alike(struct group *group, struct commands *commands, const struct session *session,
                        struct bytes input)
{
    assert(group->count < COMMANDS_GROUP_MAX);
    uint32_t kind;
    size_t size =
        session->authenticated ? alike_find(commands, input, &kind, commands->group_id + group->key_count) : 0;
    if (size == 0)
        return 0;
    const struct alike_kind *like = &commands->kinds.kind[kind];
    commands->group[group->count] = (struct grouped){.command = like->command, .kind = (uint8_t)kind};
    group->kinds |= 1u << kind;
    add(group, commands, like->alike.match.count);
    return size;
}

/* ---- what a group comes to ---- */

/* A group's decisions, run for run. The members of a run stand side by side in the group, and so do its keys. */
struct plan {
    uint32_t run_count;
    struct run run[COMMANDS_GROUP_MAX];
    struct verdict verdict[COMMANDS_GROUP_MAX * CHARGES_MAX];
};

static const struct match *match_of(const struct commands *commands, uint32_t index)
{
    const struct grouped grouped = commands->group[index];
    return grouped.kind == ALIKE_KINDS_MAX ? &commands->group_alone[index].match
                                           : &commands->kinds.kind[grouped.kind].alike.match;
}

static bool is_throttle(const struct commands *commands, uint32_t index)
{
    const enum command_id command = (enum command_id)commands->group[index].command;
    return command == COMMAND_CL_THROTTLE || command == COMMAND_THROTTLE;
}

/* Answers of CAN_ACCESS have no figures, and one that is no shadow's needs none to be counted. */
static bool needs_figures(const struct commands *commands, uint32_t index, const struct run *run)
{
    return commands->group[index].command != COMMAND_CAN_ACCESS || run->charge_count != 1 || run->charge->shadow;
}

/* The run of member number `index` alone. What no key counts is decided already. */
static struct run run_of(struct commands *commands, uint32_t index)
{
    struct run run = {.request_count = 1, .take = commands->group[index].command != COMMAND_PEEK};
    if (is_throttle(commands, index)) {
        struct throttle *throttle = &commands->group_alone[index].throttle;
        run.take = throttle_takes(throttle);
        run.charge = &throttle->charge;
        run.charge_count = 1;
        return run;
    }
    const struct match *match = match_of(commands, index);
    run.charge = match->charge;
    run.charge_count = match->status == MATCH_CHARGES ? match->count : 0;
    run.allowed = match->status == MATCH_CHARGES;
    return run;
}

/* The member is like the one before it, but for the values of its ids. */
static bool is_like_last(const struct commands *commands, uint32_t index)
{
    const struct grouped *grouped = &commands->group[index];
    return index > 0 && grouped->kind != ALIKE_KINDS_MAX && grouped->kind == grouped[-1].kind;
}

/* Members that are like the one before belong to its run. */
static void make_plan(struct commands *commands, uint32_t count, struct plan *plan)
{
    struct verdict *verdicts = plan->verdict;
    plan->run_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_like_last(commands, i)) {
            struct run *last = &plan->run[plan->run_count - 1];
            last->request_count++;
            verdicts += last->charge_count;
            continue;
        }
        struct run *run = &plan->run[plan->run_count++];
        *run = run_of(commands, i);
        run->verdicts = needs_figures(commands, i, run) ? verdicts : NULL;
        verdicts += run->charge_count;
    }
}

/* Counts what was decided over requests that came to that match; those without figures have a single charge. */
static void note_run(struct commands *commands, const struct match *match, const struct run *run)
{
    struct ruleset *rules = node_rules(commands->node);
    bool has_shadow = false;
    for (uint32_t i = 0; i < run->charge_count; i++)
        has_shadow |= match->charge[i].shadow;
    /* Where every request is allowed, every charge is: only a shadow's may not be. */
    if (!has_shadow && run->allowed == UINT64_MAX >> (64 - run->request_count)) {
        ruleset_note_allowed(rules, match, run->request_count);
        return;
    }
    for (uint32_t i = 0; i < run->request_count; i++) {
        const struct verdict only = {.allowed = run->allowed >> i & 1};
        ruleset_note(rules, match, run->verdicts ? run->verdicts + (size_t)i * run->charge_count : &only);
    }
}

static void answer_run(struct commands *commands, uint32_t index, const struct run *run, struct answer *answer)
{
    const enum command_id command = (enum command_id)commands->group[index].command;
    if (is_throttle(commands, index)) {
        throttle_answer(&commands->group_alone[index].throttle, run->allowed != 0, run->verdicts, answer);
        return;
    }
    const struct match *match = match_of(commands, index);
    if (run->take)
        note_run(commands, match, run);
    if (command == COMMAND_CAN_ACCESS) {
        answer_decisions(answer->output, run->allowed, run->request_count);
        return;
    }
    for (uint32_t i = 0; i < run->request_count; i++)
        call_answer_verdict(answer, 0, match, run->allowed >> i & 1, run->verdicts + (size_t)i * run->charge_count);
}

void group_decide(struct group *group, struct commands *commands, const struct session *session,
                  struct output *output, struct turn turn)
{
    struct answer answer = {.output = output, .protocol = session->protocol};
    struct plan plan;
    make_plan(commands, group->count, &plan);
    node_decide(commands->node, plan.run, plan.run_count, commands->group_id, turn.now_ns);
    for (uint32_t i = 0, member = 0; i < plan.run_count; i++) {
        answer_run(commands, member, &plan.run[i], &answer);
        member += plan.run[i].request_count;
    }
    commands->stats.total_commands_processed += group->count;
    commands->stats.grouped_decisions += group->count;
    *group = (struct group){0};
}
