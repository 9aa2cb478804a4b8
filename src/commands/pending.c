/*
 * Turns each request into keys and asks memory for the tags of the keys. A request of a known shape
 * (shapes.c) needs only its values hashed. Any other request is parsed, and its rules are matched.
 * pending_decide.c decides the queue.
 *
 * The load bounds requests, keys and answers by one number: see load_of.
 */
#include "commands/call.h"
#include "commands/centrally.h"
#include "commands/patient.h"

#include <assert.h>

_Static_assert((int)COMMAND_ID_COUNT <= UINT8_MAX, "a run says which command it is of");
/* The longest answer is a map: a head, `allowed`, numbers of 64 bits, and two texts, each with a name. */
_Static_assert(8 + (VERDICT_FIELDS - 1) * 23 + VERDICT_NAMES_BYTES + 5 + RULE_NAME_MAX_BYTES + 2 + 18 + 5 +
                           RESERVATION_TEXT_BYTES + 2 <=
                       PENDING_ANSWER_BYTES &&
                   (int)LIMIT_NAME_BYTES - 1 <= (int)RULE_NAME_MAX_BYTES && 23 <= 5 + RESERVATION_TEXT_BYTES + 2,
               "room for the name of a rule or a limit, and of a reservation or the time of WAIT");
/* A refusal has a reason, but no reservation, and neither is it over a soft limit. */
_Static_assert((int)VERDICT_REASON_BYTES - (int)VERDICT_OVER_BYTES <= (int)RESERVATION_TEXT_BYTES,
               "room for the reason of a refusal");
_Static_assert((int)PENDING_LOAD_MAX <= (int)NODE_EACH_MAX && (int)LATE_REQUESTS_MAX <= (int)NODE_EACH_MAX,
               "they are decided in one run");
_Static_assert((int)TRANSACTION_ANSWER_MAX_BYTES + (int)PENDING_ANSWERS_BYTES <= (int)LISTENER_OUTPUT_BYTES &&
                   (int)OUTPUT_REPLY_MAX_BYTES <= (int)TRANSACTION_ANSWER_MAX_BYTES,
               "an output has room for all that is pending, and what comes behind it");
_Static_assert((int)PENDING_ANSWER_BYTES + 2 * (int)CHARGES_MAX * (int)RULE_ANSWER_BYTES <=
                   (int)OUTPUT_REPLY_MAX_BYTES,
               "an answer with VERBOSE is never too long");

/* What a request adds to the load: the larger of a number for its answer and a number for its keys. */
enum {
    LOAD_KEYS = NODE_KEYS_MAX / PENDING_LOAD_MAX,
    LOAD_OF_FIGURES = 2,
    LOAD_OF_ONE_MAX = CHARGES_MAX / LOAD_KEYS,
};
_Static_assert((int)DECISION_BYTES *(int)LOAD_OF_FIGURES <= (int)PENDING_ANSWER_BYTES &&
                   (int)PENDING_LOAD_MAX / (int)LOAD_OF_FIGURES * (int)PENDING_ANSWER_BYTES <=
                       (int)PENDING_ANSWERS_BYTES &&
                   (int)LOAD_OF_ONE_MAX >= (int)LOAD_OF_FIGURES,
               "the load bounds the bytes of the answers");

static uint32_t load_of(enum command_id command, uint32_t key_count)
{
    const uint32_t least = command == COMMAND_CAN_ACCESS ? 1 : LOAD_OF_FIGURES,
                   keys = (key_count + LOAD_KEYS - 1) / LOAD_KEYS;
    return keys > least ? keys : least;
}

void pending_clear(struct pending *pending)
{
    pending->run_count = pending->request_count = pending->key_count = pending->load = pending->shapes = 0;
}

bool pending_is_full(const struct pending *pending)
{
    return pending->run_count == PENDING_RUNS_MAX || pending->load > PENDING_LOAD_MAX - LOAD_OF_ONE_MAX;
}

/* ---- joining ---- */

/* Adds `count` requests to the queue. Their keys are the next `key_count` ids. */
static inline void add(struct pending *pending, enum command_id command, uint32_t shape, uint32_t count,
                       uint32_t key_count, uint32_t load, struct bytes frames)
{
    if (pending->run_count == 0 || shape == SHAPES_MAX || pending->run[pending->run_count - 1].shape != shape)
        pending->run[pending->run_count++] =
            (struct pending_run){.command = (uint8_t)command, .shape = (uint8_t)shape, .frames.data = frames.data};
    struct pending_run *last = &pending->run[pending->run_count - 1];
    last->request_count = (uint16_t)(last->request_count + count);
    last->frames.size += frames.size;
    pending->shapes |= 1u << shape;
    pending->request_count += count;
    pending->key_count += key_count;
    pending->load += load;
}

static void add_one(struct commands *commands, enum command_id command, uint32_t shape, uint32_t key_count,
                    struct bytes frame)
{
    struct pending *pending = &commands->pending;
    for (uint32_t i = 0; i < key_count; i++)
        node_prefetch_tags(commands->node, pending->id[pending->key_count + i]);
    add(pending, command, shape, 1, key_count, load_of(command, key_count), frame);
}

/* The last request may wait: no other one may join. */
static void become_patient(struct pending *pending)
{
    pending->patient = true;
    pending->load = PENDING_LOAD_MAX;
}

static struct pending_single *next_single(struct commands *commands)
{
    return &commands->pending.single[commands->pending.run_count];
}

static struct pending_run *add_single(struct commands *commands, enum command_id command,
                                      const struct charge *charges, uint32_t count, bool patient,
                                      struct bytes frame)
{
    struct pending *pending = &commands->pending;
    struct key_id *ids = pending->id + pending->key_count;
    for (uint32_t i = 0; i < count; i++)
        ids[i] = charges[i].id;
    add_one(commands, command, SHAPES_MAX, count, frame);
    if (patient)
        become_patient(pending);
    return &pending->run[pending->run_count - 1];
}

/*
 * Lets the CAN_ACCESS at the front of `input` join, where each request comes to one key. Returns
 * the sum of their sizes.
 */
static size_t join_access_run(struct commands *commands, struct bytes input, uint32_t *work)
{
    struct pending *pending = &commands->pending;
    const struct shape_match *match = &commands->shapes.known[SHAPE_ACCESS].match;
    const uint32_t room = PENDING_LOAD_MAX - pending->load;
    struct key_id *ids = pending->id + pending->key_count;
    struct bytes key;
    size_t all = 0, size;
    uint32_t count = 0;
    while (count < room &&
           (size = shape_read_access((struct bytes){input.data + all, input.size - all}, &key)) > 0) {
        ids[count] = shape_match_id(match, 0, 0, key);
        if (count == 0 || !key_id_equal(ids[count], ids[count - 1]))
            node_prefetch_tags(commands->node, ids[count]);
        count++;
        all += size;
    }
    if (count > 0)
        add(pending, COMMAND_CAN_ACCESS, SHAPE_ACCESS, count, count, count, (struct bytes){input.data, all});
    *work += count;
    return all;
}

/* Returns the number of its keys. */
static uint32_t match_access(struct commands *commands, const struct command_access *access, struct bytes frame,
                             struct turn turn)
{
    struct match *match = &next_single(commands)->match;
    struct request *request = &commands->access_request;
    request->id[0].value = access->key;
    request->cost = access->cost;
    (void)ruleset_match(node_rules(commands->node), request, turn.now_ns, turn.wall_ns, match);
    patient_say(match, access->patience_ms);
    (void)add_single(commands, COMMAND_CAN_ACCESS, match->charge, match->count, patient_is(match), frame);
    return match->count;
}

/*
 * Lets the requests of one known shape at the front of `input` join, as one run. Returns the sum of their sizes; 0: the
 * first one has no known shape.
 */
static size_t join_shape_run(struct commands *commands, struct bytes input, uint32_t *work)
{
    struct pending *pending = &commands->pending;
    struct shapes *shapes = &commands->shapes;
    struct key_id *ids = pending->id + pending->key_count;
    uint32_t shape, count = 0;
    size_t all = 0, size = shapes_find(shapes, input, &shape, ids);
    if (size == 0)
        return 0;
    const struct known_shape *known = &shapes->known[shape];
    const uint32_t keys = known->match.match.count, load = load_of((enum command_id)known->command, keys);
    const uint32_t room = known->patient ? 1 : (PENDING_LOAD_MAX - pending->load) / load;
    do {
        for (uint32_t i = 0; i < keys; i++)
            node_prefetch_tags(commands->node, ids[i]);
        ids += keys;
        all += size;
        count++;
    } while (count < room &&
             (size = shapes_read(shapes, shape, (struct bytes){input.data + all, input.size - all}, ids)) > 0);
    add(pending, (enum command_id)known->command, shape, count, count * keys, count * load,
        (struct bytes){input.data, all});
    if (known->patient)
        become_patient(pending);
    shapes_note(shapes, shape, count);
    *work += count * known->work;
    return all;
}

/* Lets the CAN_ACCESS at the front of `input` join, where its value decides which rules count it. Returns its size. */
static size_t join_access_by_words(struct commands *commands, struct bytes input, struct turn turn, uint32_t *work)
{
    struct command_access access = {.cost = 1, .patience_ms = COMMAND_PATIENCE_NONE};
    const size_t size = shape_read_access(input, &access.key);
    if (size > 0)
        *work += shape_work(match_access(commands, &access, (struct bytes){input.data, size}, turn));
    return size;
}

size_t pending_join_shapes(struct commands *commands, struct bytes input, struct turn turn, uint32_t *work)
{
    const struct shapes *shapes = &commands->shapes;
    size_t size = 0;
    if (shapes->access_is_single)
        size = join_access_run(commands, input, work);
    else if (!shapes->access_is_known)
        size = join_access_by_words(commands, input, turn, work);
    return size > 0 ? size : join_shape_run(commands, input, work);
}

static bool refuse(struct answer *refusal, const char *code, const char *error)
{
    if (refusal)
        answer_error(refusal, "%s%s", code, error);
    return false;
}

static bool join_access(struct commands *commands, const struct resp_command *words, struct bytes frame,
                        struct turn turn, struct answer *refusal)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_access access;
    if (!command_parse_can_access(words, &access, error))
        return refuse(refusal, "ERR ", error);
    (void)match_access(commands, &access, frame, turn);
    return true;
}

/* Lets a CHECK, a PEEK or a RESERVE join. */
static bool join_query(struct commands *commands, enum command_id command, const struct resp_command *words,
                       struct bytes frame, struct turn turn, struct answer *refusal)
{
    const bool reserves = command == COMMAND_RESERVE, checks = command == COMMAND_CHECK;
    const unsigned takes = reserves ? QUERY_COSTS | QUERY_TTL | QUERY_PATIENCE
                           : checks
                               ? QUERY_COSTS | QUERY_WAIT | QUERY_VERBOSE | QUERY_DRAIN | QUERY_PATIENCE | QUERY_KEY
                               : QUERY_COSTS | QUERY_WAIT | QUERY_VERBOSE;
    struct pending_single *single = next_single(commands);
    struct command_query query;
    char error[COMMAND_ERROR_BYTES];
    if (!command_parse_query(words, QUERY_COST | takes, &query, error))
        return refuse(refusal, "ERR ", error);
    if (query.drain || query.idempotency_key.data != NULL)
        return false; /* drain.c, once.c: it is decided alone, after what came before */
    if (!call_match(commands, &query, turn, &single->match, error) ||
        (reserves &&
         (!ask_ttl_fits(commands, query.ttl_ms, error) || !centrally_spares(&single->match, "RESERVE", error))))
        return refuse(refusal, "", error);
    patient_say(&single->match, query.patience_ms);
    struct pending_run *run =
        add_single(commands, command, single->match.charge, single->match.count,
                   checks || reserves ? patient_is(&single->match) : centrally_is(&single->match), frame);
    run->wait = query.wait;
    run->verbose = query.verbose;
    if (reserves) {
        single->hold = (struct hold){.ttl_ns = query.ttl_ms * 1000000};
        reserve_note_costs(commands, &single->match);
    } else if (!query.wait && !query.verbose)
        shapes_learn(commands, frame, words, command, &single->match);
    if (query.verbose)
        commands->pending.load = PENDING_LOAD_MAX; /* the answer is long: no other answer may follow it */
    return true;
}

void pending_join_throttle(struct commands *commands, enum throttle_dialect dialect,
                           const struct throttle *throttle)
{
    next_single(commands)->throttle = *throttle;
    (void)add_single(commands, dialect == THROTTLE_THROTTLECRAB ? COMMAND_THROTTLE : COMMAND_CL_THROTTLE,
                     &throttle->charge, 1, false, (struct bytes){0});
}

static bool join_throttle(struct commands *commands, enum throttle_dialect dialect,
                          const struct resp_command *words)
{
    struct throttle throttle;
    if (!throttle_prepare(commands, dialect, words, &throttle))
        return false;
    pending_join_throttle(commands, dialect, &throttle);
    return true;
}

bool pending_join(struct commands *commands, const struct resp_command *words, struct bytes frame, struct turn turn,
                  struct answer *refusal)
{
    const enum command_id command = command_find(words->args[0]);
    assert(!pending_is_full(&commands->pending));
    if (command == COMMAND_ID_COUNT || !command_arity_fits(command_table[command].arity, words->count))
        return false;
    if (command == COMMAND_CAN_ACCESS)
        return join_access(commands, words, frame, turn, refusal);
    if (command == COMMAND_CHECK || command == COMMAND_PEEK || command == COMMAND_RESERVE)
        return join_query(commands, command, words, frame, turn, refusal);
    if (command == COMMAND_CL_THROTTLE)
        return join_throttle(commands, THROTTLE_REDIS_CELL, words);
    return command == COMMAND_THROTTLE && join_throttle(commands, THROTTLE_THROTTLECRAB, words);
}

void call_refused(struct call *call)
{
    const struct turn turn = {.now_ns = call->now_ns, .wall_ns = call->wall_ns};
    bool joined = pending_join(call->commands, call->words, call->frame, turn, &call->answer);
    assert(!joined);
}
