/*
 * Recognises requests by how they are written. Most programs send the same request again and again
 * with other values. A CHECK or a PEEK that differs from an earlier one only in the values of its
 * ids is recognised as a whole. It comes to the same charges of other keys, as long as the rules
 * have not changed. CAN_ACCESS of a key is known without being learned.
 *
 * Few shapes are known at a time. Now and then a request that is not recognised replaces the oldest
 * shape (learning.h).
 */
#include "commands/call.h"
#include "commands/patient.h"

#include <assert.h>

enum {
    LEARNED = SHAPE_ACCESS + 1, /* the first learned shape */
    LEARNED_MAX = SHAPES_MAX - LEARNED,
};

_Static_assert((int)COMMAND_IDS_MAX == (int)REQUEST_IDS_MAX, "what clients may name fits a request");

uint32_t shape_work(uint32_t key_count)
{
    return command_table[COMMAND_CHECK].work + ask_work_of_keys(key_count);
}

/* ---- of the rules in force ---- */

/* noinline: keeps its large frame off the fast path. Requests that are put off are decided before rules change. */
__attribute__((noinline)) static void begin_anew(struct commands *commands, struct turn turn, uint64_t edition)
{
    struct match match;
    struct shapes *shapes = &commands->shapes;
    struct known_shape *access = &shapes->known[SHAPE_ACCESS];
    struct request request = commands->access_request;
    assert(commands->late.count == 0 && commands->pending.request_count == 0);
    shapes->edition = edition;
    learning_begin(&shapes->learning);
    for (uint32_t i = LEARNED; i < SHAPES_MAX; i++)
        shapes->known[i].form.id_count = 0;
    request.id[0].value = bytes_of("any");
    request.cost = 1;
    (void)ruleset_match(node_rules(commands->node), &request, turn.now_ns, turn.wall_ns, &match);
    access->command = COMMAND_CAN_ACCESS;
    shapes->access_is_known = shape_match_of(node_rules(commands->node), &request, &match, &access->match);
    access->patient = patient_is(&match);
    access->work = shape_work(match.count);
    shapes->access_is_single = shapes->access_is_known && access->match.distinct && match.count == 1 &&
                               !match.charge[0].shadow && !access->patient;
}

void shapes_renew(struct commands *commands, struct turn turn)
{
    const uint64_t edition = ruleset_edition(node_rules(commands->node));
    if (commands->shapes.edition != edition)
        begin_anew(commands, turn, edition);
}

/* ---- finding ---- */

size_t shapes_read(const struct shapes *shapes, uint32_t shape, struct bytes input, struct key_id *ids)
{
    struct bytes values[COMMAND_IDS_MAX];
    const struct known_shape *known = &shapes->known[shape];
    const size_t size =
        shape == SHAPE_ACCESS ? shape_read_access(input, values) : shape_read(&known->form, input, values);
    if (size > 0)
        shape_match_ids(&known->match, values, ids);
    return size;
}

size_t shapes_find(struct shapes *shapes, struct bytes input, uint32_t *shape, struct key_id *ids)
{
    size_t size;
    *shape = SHAPE_ACCESS;
    if (shapes->access_is_known && (size = shapes_read(shapes, SHAPE_ACCESS, input, ids)) > 0)
        return size;
    if (!learning_tries(&shapes->learning))
        return 0;
    for (uint32_t i = 0; i < LEARNED_MAX; i++) {
        *shape = LEARNED + (shapes->learning.last + i) % LEARNED_MAX;
        if ((size = shapes_read(shapes, *shape, input, ids)) > 0)
            return size;
    }
    learning_note_unknown(&shapes->learning);
    return 0;
}

void shapes_note(struct shapes *shapes, uint32_t shape, uint32_t count)
{
    if (shape >= LEARNED)
        learning_note_known(&shapes->learning, shape - LEARNED, count);
}

/* ---- learning ---- */

/*
 * The oldest shape that may be replaced. `used` has a bit for each shape that may not. SHAPES_MAX:
 * no shape may be replaced.
 */
static uint32_t oldest_of(const struct shapes *shapes, uint32_t used)
{
    for (uint32_t i = 0; i < LEARNED_MAX; i++) {
        uint32_t at = LEARNED + (shapes->learning.next + i) % LEARNED_MAX;
        if ((used >> at & 1) == 0)
            return at;
    }
    return SHAPES_MAX;
}

void shapes_learn(struct commands *commands, struct bytes frame, const struct resp_command *words,
                  enum command_id command, const struct match *match)
{
    struct shapes *shapes = &commands->shapes;
    const uint32_t at = oldest_of(shapes, commands->pending.shapes);
    struct known_shape *known = &shapes->known[at];
    struct command_query query;
    struct request request;
    char error[COMMAND_ERROR_BYTES];
    if (at == SHAPES_MAX || !learning_is_turn(&shapes->learning) ||
        !command_parse_query(words, QUERY_COST, &query, error) || !shape_of(frame, words, &query, &known->form))
        return;
    call_fill_request(&request, &query, commands->thread);
    if (shape_match_of(node_rules(commands->node), &request, match, &known->match)) {
        known->command = (uint8_t)command;
        known->patient = command != COMMAND_PEEK && patient_is(match);
        known->work = shape_work(match->count);
        shapes->learning.next = at - LEARNED + 1;
    } else {
        known->form.id_count = 0;
    }
}
