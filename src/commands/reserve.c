/*
 * Serves costs that are known only afterwards: RESERVE, then COMMIT or CANCEL; RENEW extends a
 * reservation.
 */
#include "base/hex.h"
#include "commands/call.h"
#include "commands/guessers.h"
#include "commands/patient.h"
#include "wire/command_words.h"

#include <string.h>

static void print_id(const struct reservation_id *id, char text[RESERVATION_TEXT_BYTES])
{
    char digits[RESERVATION_TEXT_BYTES + 1];
    hex_write(id->byte, sizeof id->byte, digits);
    memcpy(text, digits, RESERVATION_TEXT_BYTES);
}

static bool parse_id(struct bytes word, struct reservation_id *id, char *error)
{
    return hex_read(word, id->byte, sizeof id->byte) ||
           word_fail(error, "ERR reservation '%.*s': expected the %d hexadecimal digits that RESERVE gave",
                     call_shown(word), word.data, RESERVATION_TEXT_BYTES);
}

bool ask_ttl_fits(const struct commands *commands, uint64_t ttl_ms, char *error)
{
    uint32_t most = commands->reservation_ttl_max_ms;
    if (most == 0 || ttl_ms <= most)
        return true;
    return word_fail(error, "ERR TTL is '%llu': expected milliseconds from 1 to %u (reservation_ttl_max)",
                     (unsigned long long)ttl_ms, most);
}

static void refuse_full(struct commands *commands, const struct match *match, enum reservations_room room,
                        char *error)
{
    const struct bytes service = match->count > 0 ? match->rule[0].rule->service : bytes_of(RULE_DEFAULT_SERVICE);
    commands->stats.reservations_refused++;
    if (room == RESERVATIONS_FULL)
        (void)word_fail(error, "ERR too many reservations are open on this node: expected fewer than the config's "
                               "reservations");
    else if (room == RESERVATIONS_HOLDER_FULL)
        (void)word_fail(error,
                        "ERR clients of your address have too many reservations open on this node: expected fewer "
                        "than the config's address_reservations");
    else
        (void)word_fail(
            error,
            "ERR service '%.*s' has too many reservations open on this node: expected fewer than the config's "
            "rules.service_reservations",
            call_shown(service), service.data);
}

void reserve_answer_full(struct commands *commands, const struct match *match, enum reservations_room room,
                         struct answer *answer)
{
    char error[COMMAND_ERROR_BYTES];
    refuse_full(commands, match, room, error);
    answer_error(answer, "%s", error);
    commands->stats.total_error_replies++;
}

void reserve_answer_id(const struct hold *hold, struct answer *answer)
{
    char text[RESERVATION_TEXT_BYTES];
    call_answer_next(answer, "reservation");
    if (!hold) {
        answer_null(answer);
        return;
    }
    print_id(&hold->id, text);
    answer_bulk(answer, (struct bytes){text, sizeof text});
}

/* A number for the name of a cost. Of 4,000,000,000 pairs of names, about one shares it. */
static uint32_t counts_of(const struct commands *commands, struct bytes name)
{
    return name.size == 0 ? 0 : (uint32_t)hash_64(&commands->hash_key, name.data, name.size) | 1;
}

void reserve_note_costs(const struct commands *commands, struct match *match)
{
    for (uint32_t i = 0; i < match->count; i++)
        match->charge[i].counts = counts_of(commands, match->rule[i].version->counts);
}

enum ask_reserved ask_reserve(struct commands *commands, struct question *question, struct reserving_client client,
                              uint64_t now_ns, struct decision *decision, char text[RESERVATION_TEXT_BYTES],
                              char *error)
{
    const struct asker asker = {.query = &question->query};
    struct hold hold = {.ttl_ns = question->query.ttl_ms * 1000000,
                        .holder = guessers_address(&commands->hash_key, bytes_of(client.address))};
    reserve_note_costs(commands, &question->match);
    patient_say(&question->match, question->query.patience_ms);
    if (!call_hold_patiently(commands, &question->match, &asker, &hold, client.ticket, now_ns, decision))
        return ASK_RESERVE_WAITS;
    if (hold.room != RESERVATIONS_ROOM) {
        refuse_full(commands, &question->match, hold.room, error);
        return ASK_RESERVE_FULL;
    }
    if (decision->allowed)
        print_id(&hold.id, text);
    return ASK_RESERVE_DECIDED;
}

/* False, with `error`: the daemon cannot say yet what becomes of the reservation. */
static bool is_known_yet(enum reserve_status status, char *error)
{
    return status != RESERVE_LATER ||
           word_fail(error,
                     "LOADING this node has not joined since it was restarted, and opens its reservations then: "
                     "ask it again");
}

bool ask_commit(struct commands *commands, struct bytes reservation, const struct command_query *query,
                uint64_t now_ns, struct used_cost used[COMMAND_COSTS_MAX + 1], char *error)
{
    struct reservation_id id;
    if (!parse_id(reservation, &id, error))
        return false;
    used[0] = (struct used_cost){.tokens = query->cost};
    for (uint32_t i = 0; i < query->cost_count; i++)
        used[i + 1] = (struct used_cost){.counts = counts_of(commands, query->named_cost[i].name),
                                         .tokens = query->named_cost[i].tokens};
    const enum reserve_status status = node_commit(commands->node, id, used, query->cost_count + 1, now_ns);
    if (status != RESERVE_UNKNOWN)
        return is_known_yet(status, error);
    return word_fail(error,
                     "NORESERVATION there is none of that id on this node: it has ended, or was made elsewhere");
}

/* Parses "name=n". */
static bool parse_named(struct bytes word, struct command_query *query, char *error)
{
    const char *equals = word.size > 0 ? memchr(word.data, '=', word.size) : NULL;
    if (equals == NULL)
        return word_fail(error, "'%.*s' after the cost: expected name=n, e.g. bytes=1500", call_shown(word),
                         word.data);
    const size_t size = (size_t)(equals - word.data);
    return command_query_add_cost(query, (struct bytes){word.data, size},
                                  (struct bytes){equals + 1, word.size - size - 1}, error);
}

static bool parse_used(const struct resp_command *words, struct command_query *query, char *error)
{
    struct bytes word = words->args[2];
    command_query_clear(query);
    if (!word_number(word, COMMAND_COST_MAX, &query->cost))
        return word_fail(error,
                         "cost '%.*s' is out of range: expected a whole number of tokens from 0 to 1000000000000",
                         call_shown(word), word.data);
    for (uint32_t i = 3; i < words->count; i++)
        if (!parse_named(words->args[i], query, error))
            return false;
    return true;
}

void call_commit(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_query query;
    struct used_cost used[COMMAND_COSTS_MAX + 1];
    if (!parse_used(call->words, &query, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    if (!ask_commit(call->commands, call->words->args[1], &query, call->now_ns, used, error)) {
        answer_error(&call->answer, "%s", error);
        return;
    }
    if (query.cost_count > 0)
        answer_array(&call->answer, query.cost_count + 1);
    for (uint32_t i = 0; i <= query.cost_count; i++)
        answer_integer(&call->answer, (int64_t)used[i].charged);
}

bool ask_cancel(struct commands *commands, struct bytes reservation, uint64_t now_ns, bool *found, char *error)
{
    struct reservation_id id;
    if (!parse_id(reservation, &id, error))
        return false;
    const enum reserve_status status = node_cancel(commands->node, id, now_ns);
    *found = status == RESERVE_DONE;
    return is_known_yet(status, error);
}

void call_cancel(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    bool found;
    if (ask_cancel(call->commands, call->words->args[1], call->now_ns, &found, error))
        answer_integer(&call->answer, found);
    else
        answer_error(&call->answer, "%s", error);
}

bool ask_renew(struct commands *commands, struct bytes reservation, uint64_t ttl_ms, uint64_t now_ns, bool *renewed,
               char *error)
{
    struct reservation_id id;
    if (!parse_id(reservation, &id, error))
        return false;
    const enum reserve_status status = node_renew(commands->node, id, ttl_ms * 1000000, now_ns);
    *renewed = status == RESERVE_DONE;
    return is_known_yet(status, error);
}

void call_renew(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    struct reservation_id id;
    struct bytes word = call->words->args[2];
    uint64_t ttl_ms;
    bool renewed;
    if (!parse_id(call->words->args[1], &id, error))
        answer_error(&call->answer, "%s", error);
    else if (!word_number(word, COMMAND_TTL_MAX_MS, &ttl_ms) || ttl_ms == 0)
        answer_error(&call->answer, "ERR '%.*s': expected milliseconds, 1 or more", call_shown(word), word.data);
    else if (!ask_ttl_fits(call->commands, ttl_ms, error) ||
             !ask_renew(call->commands, call->words->args[1], ttl_ms, call->now_ns, &renewed, error))
        answer_error(&call->answer, "%s", error);
    else
        answer_integer(&call->answer, renewed);
}
