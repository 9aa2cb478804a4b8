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

static bool decide_access(struct commands *commands, const struct match *match, const uint64_t *guesses,
                          uint64_t now_ns)
{
    struct decision decision;
    if (match->count != 1 || match->charge[0].shadow) {
        call_decide(commands, match, guesses, true, now_ns, &decision);
        return decision.allowed;
    }
    decision.verdict[0].allowed = node_takes(commands->node, &match->charge[0], now_ns);
    ruleset_note(node_rules(commands->node), match, decision.verdict);
    return decision.verdict[0].allowed;
}

/* What the kind comes to, with these ids. */
static inline const struct match *match_of(struct alike_kind *kind, const struct key_id *ids)
{
    struct match *match = &kind->alike.match;
    for (uint32_t i = 0; i < match->count; i++)
        match->charge[i].id = ids[i];
    return match;
}

/* Number `index` of the group, whose keys have these ids. Returns how many that are. `guesses`: see call_decide. */
static uint32_t decide(struct commands *commands, uint32_t index, const struct key_id *ids, const uint64_t *guesses,
                       struct answer *answer, uint64_t now_ns)
{
    const struct grouped grouped = commands->group[index];
    union grouped_alone *alone = &commands->group_alone[index];
    const struct match *match = &alone->match;
    struct decision decision;
    if (grouped.command == COMMAND_CL_THROTTLE || grouped.command == COMMAND_THROTTLE) {
        throttle_answer(commands->node, &alone->throttle, guesses, answer, now_ns);
        return 1;
    }
    if (grouped.command == COMMAND_CAN_ACCESS) {
        answer_decisions(answer->output, decide_access(commands, match, guesses, now_ns), 1);
        return match->count;
    }
    if (grouped.kind != ALIKE_KINDS_MAX)
        match = match_of(&commands->kinds.kind[grouped.kind], ids);
    call_decide(commands, match, guesses, grouped.command == COMMAND_CHECK, now_ns, &decision);
    call_answer_verdict(answer, 0, match, decision.allowed, decision.verdict);
    return match->count;
}

/* How many of the group are CHECKs of one kind, from number `index` on. */
static uint32_t alike_from(const struct commands *commands, uint32_t index, uint32_t end)
{
    const struct grouped first = commands->group[index];
    uint32_t count = 0;
    if (first.command != COMMAND_CHECK || first.kind == ALIKE_KINDS_MAX)
        return 0;
    while (index + count < end && commands->group[index + count].kind == first.kind)
        count++;
    return count;
}

static bool has_shadow(const struct match *match)
{
    bool has = false;
    for (uint32_t i = 0; i < match->count; i++)
        has |= match->charge[i].shadow;
    return has;
}

/* So many CHECKs of that kind, whose keys have these ids, one after the other. `guesses`: see node_check_each. */
static void decide_alike(struct commands *commands, const struct alike_kind *kind, uint32_t count,
                         const struct key_id *ids, const uint64_t *guesses, struct answer *answer, uint64_t now_ns)
{
    const struct match *match = &kind->alike.match;
    struct verdict verdicts[COMMANDS_GROUP_MAX * ALIKE_CHARGES_MAX];
    const uint64_t allowed =
        node_check_each(commands->node, match->charge, match->count, ids, guesses, count, now_ns, verdicts);
    /* Every charge was: only one of a shadow may not be where the request is allowed. */
    const bool all = allowed == UINT64_MAX >> (64 - count) && !has_shadow(match);
    if (all)
        ruleset_note_allowed(node_rules(commands->node), match, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct verdict *own = verdicts + (size_t)i * match->count;
        if (!all)
            ruleset_note(node_rules(commands->node), match, own);
        call_answer_verdict(answer, 0, match, allowed >> i & 1, own);
    }
}

/* One alone; or some that are not all alike: memory is asked for the keys of all before any is decided. */
static void decide_mixed(const struct group *group, struct commands *commands, struct answer *answer,
                         uint64_t now_ns)
{
    bool near = group->count > 1; /* one alone is asked of memory when it is decided */
    uint64_t guesses[COMMANDS_GROUP_MAX * CHARGES_MAX];
    if (near)
        node_prefetch_each(commands->node, commands->group_id, group->key_count, guesses);
    for (uint32_t i = 0, key = 0; i < group->count;) {
        const struct key_id *ids = commands->group_id + key;
        const uint32_t alike = near ? alike_from(commands, i, group->count) : 0;
        if (alike > 0) {
            const struct alike_kind *kind = &commands->kinds.kind[commands->group[i].kind];
            decide_alike(commands, kind, alike, ids, guesses + key, answer, now_ns);
            key += alike * kind->alike.match.count;
            i += alike;
        } else {
            key += decide(commands, i++, ids, near ? guesses + key : NULL, answer, now_ns);
        }
    }
}

void group_decide(struct group *group, struct commands *commands, const struct session *session,
                  struct output *output, struct turn turn)
{
    struct answer answer = {.output = output, .protocol = session->protocol};
    if (group->count > 1 && alike_from(commands, 0, group->count) == group->count)
        decide_alike(commands, &commands->kinds.kind[commands->group[0].kind], group->count, commands->group_id,
                     NULL, &answer, turn.now_ns);
    else
        decide_mixed(group, commands, &answer, turn.now_ns);
    commands->stats.total_commands_processed += group->count;
    commands->stats.grouped_decisions += group->count;
    *group = (struct group){0};
}
