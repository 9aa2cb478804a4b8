/*
 * The usual request is CAN_ACCESS with a key and nothing else, written as client libraries write it, where a limit
 * of the config alone counts. By far the most may be such. It is recognised as a whole, becomes a key id, and then
 * all that came together are decided together, so that memory is waited for once and not for each.
 *
 * Clients that send one at a time bring no such runs: what several of them sent at about the same time is put off, and
 * decided together when the listener asks for it: at once where there are few, else when the loop has heard them all.
 */
#include "base/bits.h"
#include "commands/call.h"
#include "limit/key.h"

#include <assert.h>
#include <string.h>

enum { PUT_OFF_MAX = 4 }; /* of one client: more have each other to wait with */

_Static_assert(PUT_OFF_MAX *DECISION_BYTES <= LISTENER_LATE_BYTES, "what is put off has room to be answered");
_Static_assert((int)PUT_OFF_MAX *(int)LISTENER_LATE_MAX <= (int)COMMANDS_USUAL_MAX, "all that may wait have room");
_Static_assert((int)COMMANDS_USUAL_MAX <= (int)NODE_EACH_MAX, "they are decided in one go");

void answer_decisions(struct output *output, uint64_t allowed, uint32_t count)
{
    char answers[COMMANDS_USUAL_MAX][DECISION_BYTES];
    assert(count <= COMMANDS_USUAL_MAX);
    for (uint32_t i = 0; i < count; i++)
        memcpy(answers[i], allowed >> i & 1 ? ":1\r\n" : ":0\r\n", DECISION_BYTES);
    output_append(output, answers, count * sizeof *answers);
}

bool usual_possible(struct commands *commands, const struct session *session)
{
    struct usual *usual = &commands->usual;
    return session->authenticated && !session->transaction.open &&
           (usual->late_count > 0 || /* then it is as it was */
            ruleset_direct(node_rules(commands->node), commands->lane, &usual->direct));
}

size_t usual_join(struct commands *commands, struct bytes input, uint32_t count)
{
    struct usual *usual = &commands->usual;
    struct bytes key;
    size_t size = command_usual(input, &key);
    if (size == 0)
        return 0;
    assert(count < COMMANDS_USUAL_MAX);
    struct key_id *id = &usual->id[usual->late_count + count];
    *id = key_join(usual->direct.salt, key_part(&usual->direct.dimension_key, key));
    if (count == 0 || !key_id_equal(*id, id[-1]))
        node_prefetch_tags(commands->node, *id);
    return size;
}

/* `count` keys from number `first` on, at most COMMANDS_USUAL_MAX. */
static uint64_t decide(struct commands *commands, uint32_t first, uint32_t count, struct turn turn)
{
    struct usual *usual = &commands->usual;
    struct charge like = usual->direct.like;
    like.cost = 1;
    struct run run = {.charge = &like, .charge_count = 1, .request_count = count, .take = true};
    node_decide(commands->node, &run, 1, usual->id + first, turn.now_ns);
    uint32_t allowed_count = bits_count(run.allowed);
    usual->direct.counts->allowed += allowed_count;
    usual->direct.counts->denied += count - allowed_count;
    commands->stats.total_commands_processed += count;
    commands->stats.grouped_decisions += count;
    return run.allowed;
}

void usual_decide(struct commands *commands, uint32_t count, struct output *output, struct turn turn)
{
    if (count > 0)
        answer_decisions(output, decide(commands, commands->usual.late_count, count, turn), count);
}

bool usual_put_off(struct commands *commands, struct session *session, uint32_t count)
{
    struct usual *usual = &commands->usual;
    if (!commands->puts_off || count == 0 || count > PUT_OFF_MAX || usual->late_count + count > COMMANDS_USUAL_MAX)
        return false;
    assert(session->late_count == 0 && usual->late_answered == 0);
    session->late_count = count;
    usual->late_count += count;
    return true;
}

void commands_answer(struct commands *commands, struct session *session, struct output *output, struct turn turn)
{
    struct usual *usual = &commands->usual;
    uint32_t first = usual->late_answered, count = session->late_count;
    assert(count > 0 && first + count <= usual->late_count);
    if (first == 0)
        usual->late_allowed = decide(commands, 0, usual->late_count, turn);
    answer_decisions(output, usual->late_allowed >> first, count);
    session->late_count = 0;
    usual->late_answered += count;
    if (usual->late_answered == usual->late_count)
        usual->late_answered = usual->late_count = 0;
}
