/*
 * Most programs ask the same again and again, about other values. A CHECK or a PEEK that is written as one before, but
 * for the values of its ids, is recognised as a whole, and comes to the same charges of other keys, where rules have
 * not changed since.
 *
 * What is remembered is a few kinds of requests. One in so many that are not recognised takes the place of the oldest:
 * where all requests are different, looking at them costs next to nothing.
 */
#include "commands/call.h"

_Static_assert((int)COMMAND_IDS_MAX == (int)REQUEST_IDS_MAX, "what clients may name fits a request");

size_t alike_join(struct commands *commands, struct bytes input, struct grouped *grouped)
{
    struct alike_kinds *kinds = &commands->kinds;
    struct bytes values[COMMAND_IDS_MAX];
    for (uint32_t i = 0; i < ALIKE_KINDS_MAX; i++) {
        uint32_t at = (kinds->last + i) % ALIKE_KINDS_MAX;
        struct alike_kind *kind = &kinds->kind[at];
        size_t size = command_alike(&kind->shape, input, values);
        if (size == 0)
            continue;
        if (kind->alike.edition != alike_edition(node_rules(commands->node)))
            return 0;
        alike_match(&kind->alike, values, &grouped->match);
        grouped->command = kind->command;
        kinds->last = at;
        kinds->recognised++;
        return size;
    }
    return 0;
}

/* Rules have changed: what is remembered of them is of no use. */
static void begin_anew(struct alike_kinds *kinds, uint64_t edition)
{
    kinds->edition = edition;
    kinds->unknown = 0;
    for (uint32_t i = 0; i < ALIKE_KINDS_MAX; i++)
        kinds->kind[i].shape.id_count = 0;
}

void alike_learn(struct commands *commands, struct bytes frame, const struct resp_command *words,
                 const struct grouped *grouped)
{
    const struct ruleset *rules = node_rules(commands->node);
    struct alike_kinds *kinds = &commands->kinds;
    struct alike_kind *kind = &kinds->kind[kinds->next];
    struct command_query query;
    struct request request;
    char error[COMMAND_ERROR_BYTES];
    if (kinds->edition != alike_edition(rules))
        begin_anew(kinds, alike_edition(rules));
    if (kinds->unknown++ % ALIKE_LOOK_EVERY != 0 || !command_parse_query(words, QUERY_COST, &query, error) ||
        !command_shape_of(frame, words, &query, &kind->shape))
        return;
    call_fill_request(&request, &query, commands->lane);
    if (alike_of(rules, &request, &grouped->match, &kind->alike)) {
        kind->command = grouped->command;
        kinds->next = (kinds->next + 1) % ALIKE_KINDS_MAX;
    } else {
        kind->shape.id_count = 0;
    }
}
