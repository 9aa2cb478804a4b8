/*
 * Decides the queue of requests by one call of the node, counts the decisions for the rules, and
 * writes the answers in the order of the requests. pending.c fills the queue.
 */
#include "base/bits.h"
#include "commands/call.h"
#include "commands/centrally.h"
#include "commands/guessers.h"
#include "commands/patient.h"

#include <assert.h>
#include <string.h>

enum { REPEATS_MAX = 256 };

static bool is_throttle(const struct pending_run *joined)
{
    return joined->command == COMMAND_CL_THROTTLE || joined->command == COMMAND_THROTTLE;
}

static const struct match *match_of(const struct commands *commands, uint32_t index)
{
    const uint8_t shape = commands->pending.run[index].shape;
    return shape == SHAPES_MAX ? &commands->pending.single[index].match
                               : &commands->shapes.known[shape].match.match;
}

/* Run `index` as the node must decide it. A request that charges no key is decided here. */
static struct run run_of(struct commands *commands, const struct session *session, uint32_t index)
{
    const struct pending_run *joined = &commands->pending.run[index];
    struct run run = {.request_count = joined->request_count, .take = joined->command != COMMAND_PEEK};
    if (is_throttle(joined)) {
        struct throttle *throttle = &commands->pending.single[index].throttle;
        run.take = throttle_takes(throttle);
        run.charge = &throttle->charge;
        run.charge_count = 1;
        return run;
    }
    const struct match *match = match_of(commands, index);
    run.charge = match->charge;
    run.charge_count = match->status == MATCH_CHARGES ? match->count : 0;
    run.allowed = match->status == MATCH_CHARGES;
    if (joined->command == COMMAND_RESERVE && run.allowed) {
        run.hold = &commands->pending.single[index].hold;
        run.hold->holder = guessers_address(&commands->hash_key, bytes_of(session->address));
    }
    return run;
}

/*
 * Answers to CAN_ACCESS have no figures. A single charge that is not of a shadow rule needs no
 * figures to be counted.
 */
static bool needs_figures(const struct pending_run *joined, const struct run *run)
{
    return joined->command != COMMAND_CAN_ACCESS || run->charge_count != 1 || run->charge->shadow;
}

/* How many requests of a decided run are allowed: mostly all, and then no bits are counted. */
static uint32_t allowed_count_of(const struct run *run)
{
    const uint64_t all = UINT64_MAX >> (64 - run->request_count);
    return run->allowed == all ? run->request_count : bits_count(run->allowed);
}

/* Counts the decisions about the requests of a run for the rules of `match`. True: some of the rules never deny. */
static bool count_run(struct observer *observer, const struct match *match, const struct run *run,
                      uint32_t allowed_count)
{
    const uint32_t denied_count = run->request_count - allowed_count;
    bool has_shadow = false;
    for (uint32_t i = 0; i < run->charge_count; i++)
        has_shadow |= match->charge[i].shadow;
    /*
     * If a request is allowed, every charge of a rule in force is allowed. If a request is denied,
     * not every charge is denied.
     */
    if (!has_shadow && (denied_count == 0 || run->charge_count <= 1)) {
        const unsigned noted = ruleset_note_many(match, allowed_count, denied_count);
        observe_count(observer, match, noted, run->request_count, allowed_count);
        return match->passed_count > 0;
    }
    for (uint32_t i = 0; i < run->request_count; i++) {
        const unsigned noted = ruleset_note(match, run->verdicts + (size_t)i * run->charge_count);
        observe_count(observer, match, noted, 1, run->allowed >> i & 1);
    }
    return has_shadow || match->passed_count > 0;
}

static void note_run(struct commands *commands, const struct match *match, const struct run *run,
                     const struct key_id *ids, const struct asker *asker, uint64_t now_ns)
{
    const uint32_t allowed_count = allowed_count_of(run);
    const bool may_be_soft = count_run(&commands->observer, match, run, allowed_count);
    const bool is_due =
        observe_is_due(&commands->observer, run->request_count, allowed_count == run->request_count);
    if (!is_due && !may_be_soft)
        return;
    const struct observed observed = {match, ids, run->verdicts, run->request_count, run->allowed};
    if (is_due)
        observe(commands, &observed, asker, now_ns);
    if (may_be_soft)
        observe_soft(commands, &observed, asker, now_ns);
}

uint64_t pending_decide_access(struct commands *commands, const struct key_id *ids, uint32_t count,
                               const struct asker *asker, uint64_t now_ns)
{
    const struct match *match = &commands->shapes.known[SHAPE_ACCESS].match.match;
    struct run run = {.charge = match->charge, .charge_count = 1, .request_count = count, .take = true};
    node_decide(commands->node, &run, 1, ids, now_ns);
    const uint32_t allowed_count = allowed_count_of(&run);
    (void)ruleset_note_many(match, allowed_count, count - allowed_count);
    commands->stats.grouped_decisions += count;
    if (observe_is_due(&commands->observer, count, allowed_count == count)) {
        const struct observed observed = {match, ids, NULL, count, run.allowed};
        observe(commands, &observed, asker, now_ns);
    }
    return run.allowed;
}

void answer_decisions(struct output *output, uint64_t allowed, uint32_t count)
{
    char *const answers = output->data + output->size;
    const size_t size = (size_t)count * DECISION_BYTES;
    assert(count <= PENDING_LOAD_MAX);
    if (!output_has_room(output, size)) {
        output->overflowed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        memcpy(answers + i * DECISION_BYTES, allowed >> i & 1 ? ":1\r\n" : ":0\r\n", DECISION_BYTES);
    output->size += size;
}

/* A transaction has a request that the central store has a say in. */
static void answer_refused(struct commands *commands, const struct match *match, struct answer *answer)
{
    char error[COMMAND_ERROR_BYTES];
    const size_t begun = answer->output->size;
    (void)centrally_spares(match, "MULTI", error);
    answer_error(answer, "%s", error);
    transaction_cut_error(answer->output, begun);
    commands->stats.total_error_replies++;
}

static void answer_run(struct commands *commands, uint32_t index, const struct run *run, const struct key_id *ids,
                       struct answer *answer, uint64_t now_ns)
{
    const struct pending_run *joined = &commands->pending.run[index];
    if (is_throttle(joined)) {
        throttle_answer(&commands->pending.single[index].throttle, run->allowed != 0, run->verdicts, answer);
        return;
    }
    const struct match *match = match_of(commands, index);
    const size_t more = (size_t)joined->wait + joined->verbose + (joined->command == COMMAND_RESERVE);
    if (run->hold && run->hold->room != RESERVATIONS_ROOM) {
        reserve_answer_full(commands, match, run->hold->room, answer);
        return;
    }
    if (commands->pending.refused && index + 1 == commands->pending.run_count) {
        answer_refused(commands, match, answer);
        return;
    }
    if (run->take) {
        const struct asker asker = {.frames = joined->frames};
        note_run(commands, match, run, ids, &asker, now_ns);
    }
    if (joined->command == COMMAND_CAN_ACCESS) {
        answer_decisions(answer->output, run->allowed, run->request_count);
        return;
    }
    for (uint32_t i = 0; i < run->request_count; i++)
        call_answer_verdict(answer, more, match, run->allowed >> i & 1,
                            run->verdicts + (size_t)i * run->charge_count);
    if (joined->wait)
        call_answer_wait(answer, commands->node, match, run->allowed != 0, run->verdicts);
    if (joined->verbose)
        call_answer_rules(answer, match, run->verdicts);
    if (joined->command == COMMAND_RESERVE)
        reserve_answer_id(run->allowed != 0 ? run->hold : NULL, answer);
}

/* How often the input behind begins with the same request again: a pipeline of one key. */
static uint32_t repeats_of(struct bytes frame, struct bytes behind)
{
    uint32_t count = 0;
    while (count < REPEATS_MAX && frame.size > 0 && behind.size >= frame.size &&
           memcmp(behind.data, frame.data, frame.size) == 0) {
        behind = (struct bytes){behind.data + frame.size, behind.size - frame.size};
        count++;
    }
    return count;
}

static void fill_charges(const struct run *run, const struct key_id *ids, struct charge charges[CHARGES_MAX])
{
    for (uint32_t i = 0; i < run->charge_count; i++) {
        charges[i] = run->charge[i];
        charges[i].id = ids[i];
    }
}

/* The last run is one request, which may wait. `ids`: of its charges. */
static void begin_patiently(struct commands *commands, uint32_t *ticket, struct run *run, const struct key_id *ids,
                            uint64_t now_ns, struct patient *patient)
{
    struct charge charges[CHARGES_MAX];
    fill_charges(run, ids, charges);
    patient_begin(commands, patient, ticket, charges, run->charge_count, now_ns);
    const struct pending *pending = &commands->pending;
    patient->await.repeats = repeats_of(pending->run[pending->run_count - 1].frames, pending->behind);
    run->await = &patient->await;
}

/* The last run is one request, of which the central store decides a part. True: it is held. */
static bool decide_centrally(struct commands *commands, struct run *run, const struct key_id *ids, uint32_t *ticket,
                             uint64_t now_ns)
{
    struct charge charges[CHARGES_MAX];
    bool allowed = false;
    fill_charges(run, ids, charges);
    const bool held =
        !centrally_decide(commands, charges, run->charge_count, run->take, ticket, now_ns, run->verdicts, &allowed);
    run->allowed = allowed;
    return held;
}

/* Decides the last run, which is one request that may wait. True: it is held. */
static bool decide_last(struct commands *commands, struct run *run, const struct key_id *ids,
                        struct patient *patient, uint32_t *ticket, uint64_t now_ns)
{
    const struct pending *pending = &commands->pending;
    if (centrally_is(match_of(commands, pending->run_count - 1)))
        return decide_centrally(commands, run, ids, ticket, now_ns);
    begin_patiently(commands, ticket, run, ids, now_ns, patient);
    node_decide(commands->node, run, 1, ids, now_ns);
    return patient_end(commands, patient, run->allowed != 0, run->verdicts, run->charge_count, now_ns);
}

/*
 * Decides all runs. `last`: NULL, or what becomes of the last run, which is one request: it is answered unless it is
 * held.
 */
static inline bool decide_runs(struct commands *commands, const struct session *session, struct answer *answer,
                               struct patient *last, uint32_t *ticket, uint64_t now_ns)
{
    struct pending *pending = &commands->pending;
    const uint32_t count = pending->run_count;
    struct verdict verdicts[NODE_KEYS_MAX], *next = verdicts;
    struct run runs[PENDING_RUNS_MAX], *end = &runs[count - 1];
    bool held = false;
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = run_of(commands, session, i);
        runs[i].verdicts = needs_figures(&pending->run[i], &runs[i]) || (last && &runs[i] == end) ? next : NULL;
        next += (size_t)runs[i].charge_count * runs[i].request_count;
    }
    pending->refused = !last && pending->patient && centrally_is(match_of(commands, count - 1));
    const uint32_t at_once = count - (last || pending->refused);
    if (at_once > 0)
        node_decide(commands->node, runs, at_once, pending->id, now_ns);
    if (last)
        held =
            decide_last(commands, end, pending->id + pending->key_count - end->charge_count, last, ticket, now_ns);
    const struct key_id *ids = pending->id;
    for (uint32_t i = 0; i < count - held; i++) {
        answer_run(commands, i, &runs[i], ids, answer, now_ns);
        ids += (size_t)runs[i].charge_count * runs[i].request_count;
    }
    commands->stats.grouped_decisions += pending->request_count - held;
    return held;
}

/* noinline: keeps its large frame off the path of CAN_ACCESS. */
__attribute__((noinline)) static void decide_any(struct commands *commands, const struct session *session,
                                                 struct answer *answer, uint64_t now_ns)
{
    (void)decide_runs(commands, session, answer, NULL, NULL, now_ns);
}

void pending_decide(struct commands *commands, const struct session *session, struct output *output,
                    uint64_t now_ns)
{
    struct pending *pending = &commands->pending;
    struct answer answer = {.output = output, .protocol = session->protocol};
    const struct asker asker = {.frames = pending->run[0].frames};
    const uint32_t count = pending->request_count;
    if (count == 0)
        return;
    if (pending->run_count == 1 && pending->run[0].shape == SHAPE_ACCESS && commands->shapes.access_is_single)
        answer_decisions(output, pending_decide_access(commands, pending->id, count, &asker, now_ns), count);
    else
        decide_any(commands, session, &answer, now_ns);
    pending_clear(pending);
}

size_t pending_decide_patiently(struct commands *commands, struct session *session, struct output *output,
                                struct turn turn)
{
    struct pending *pending = &commands->pending;
    struct answer answer = {.output = output, .protocol = session->protocol};
    struct patient patient = {0}, *last = session->transaction.runs ? NULL : &patient;
    const size_t size = pending->run[pending->run_count - 1].frames.size;
    if (session->waiting > 0 && pending->request_count > 1)
        patient_leave(commands,
                      &session->waiting); /* what waited is decided by itself, or need not wait any more */
    const bool held = decide_runs(commands, session, &answer, last, &session->waiting, turn.now_ns);
    pending_clear(pending);
    pending->patient = false;
    return held ? size : 0;
}
