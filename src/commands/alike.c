/*
 * Most programs ask the same again and again, about other values. A CHECK or a PEEK that is written as one before, but
 * for the values of its ids, is recognised as a whole, and comes to the same charges of other keys, where rules have
 * not changed since.
 *
 * What is remembered is a few kinds of requests; now and then one that is not recognised takes the place of the oldest.
 * Where requests are too different for that, little is spent on finding out: while less than half of them are
 * recognised, few are looked at, and what was remembered in vain is followed by others ever more seldom.
 */
#include "commands/call.h"

enum {
    TRUST_MAX = 64,
    TRUST_BEGUN = 16,
    TRY_EVERY = 32,      /* requests, without trust */
    LEARN_EVERY = 16,    /* unknown requests, at first, */
    LEARN_RARELY = 2048, /* and at last */
};

_Static_assert((int)COMMAND_IDS_MAX == (int)REQUEST_IDS_MAX, "what clients may name fits a request");

static bool is_worth_a_try(struct alike_kinds *kinds)
{
    return kinds->trust > 0 || ++kinds->passed % TRY_EVERY == 0;
}

static void note_known(struct alike_kinds *kinds, uint32_t kind)
{
    kinds->last = kind;
    kinds->recognised++;
    kinds->useful = true;
    if (kinds->trust < TRUST_MAX)
        kinds->trust += kinds->trust > 0 ? 1 : TRUST_BEGUN;
}

size_t alike_find(struct commands *commands, struct bytes input, uint32_t *found, struct key_id *ids)
{
    struct alike_kinds *kinds = &commands->kinds;
    struct bytes values[COMMAND_IDS_MAX];
    if (!is_worth_a_try(kinds) || kinds->edition != alike_edition(node_rules(commands->node)))
        return 0;
    for (uint32_t i = 0; i < ALIKE_KINDS_MAX; i++) {
        uint32_t at = (kinds->last + i) % ALIKE_KINDS_MAX;
        const struct alike_kind *kind = &kinds->kind[at];
        size_t size = command_alike(&kind->shape, input, values);
        if (size == 0)
            continue;
        alike_ids(&kind->alike, values, ids);
        note_known(kinds, at);
        *found = at;
        return size;
    }
    kinds->trust -= kinds->trust > 0;
    return 0;
}

/* Rules have changed: what is remembered of them is of no use. */
static void begin_anew(struct alike_kinds *kinds, uint64_t edition)
{
    kinds->edition = edition;
    kinds->unknown = 0;
    kinds->learn_every = LEARN_EVERY;
    kinds->trust = TRUST_BEGUN;
    for (uint32_t i = 0; i < ALIKE_KINDS_MAX; i++)
        kinds->kind[i].shape.id_count = 0;
}

/* Of those that are unknown, it is the turn of one to be remembered. */
static bool is_turn(struct alike_kinds *kinds)
{
    if (kinds->unknown > 0) {
        kinds->unknown--;
        return false;
    }
    kinds->unknown = kinds->learn_every - 1;
    if (kinds->useful)
        kinds->learn_every = LEARN_EVERY;
    else if (kinds->learn_every < LEARN_RARELY)
        kinds->learn_every *= 2;
    kinds->useful = false;
    return true;
}

/* The oldest that may be replaced; ALIKE_KINDS_MAX: none may. */
static uint32_t oldest_of(const struct alike_kinds *kinds, uint32_t used)
{
    for (uint32_t i = 0; i < ALIKE_KINDS_MAX; i++) {
        uint32_t at = (kinds->next + i) % ALIKE_KINDS_MAX;
        if ((used >> at & 1) == 0)
            return at;
    }
    return ALIKE_KINDS_MAX;
}

void alike_learn(struct commands *commands, struct bytes frame, const struct resp_command *words,
                 enum command_id command, const struct match *match, uint32_t used)
{
    const struct ruleset *rules = node_rules(commands->node);
    struct alike_kinds *kinds = &commands->kinds;
    const uint32_t at = oldest_of(kinds, used);
    struct alike_kind *kind = &kinds->kind[at];
    struct command_query query;
    struct request request;
    char error[COMMAND_ERROR_BYTES];
    if (kinds->edition != alike_edition(rules))
        begin_anew(kinds, alike_edition(rules));
    if (at == ALIKE_KINDS_MAX || !is_turn(kinds) || !command_parse_query(words, QUERY_COST, &query, error) ||
        !command_shape_of(frame, words, &query, &kind->shape))
        return;
    call_fill_request(&request, &query, commands->lane);
    if (alike_of(rules, &request, match, &kind->alike)) {
        kind->command = (uint8_t)command;
        kinds->next = (at + 1) % ALIKE_KINDS_MAX;
    } else {
        kind->shape.id_count = 0;
    }
}
