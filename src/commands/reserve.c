/*
 * Costs that are known only afterwards: RESERVE, then COMMIT or CANCEL; RENEW holds on.
 */
#include "commands/call.h"

enum { ID_TEXT_BYTES = 2 * sizeof(struct reservation_id) };

static void print_id(const struct reservation_id *id, char text[ID_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof id->byte; i++) {
        text[2 * i] = digits[id->byte[i] >> 4];
        text[2 * i + 1] = digits[id->byte[i] & 15];
    }
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* False after an error was answered. */
static bool parse_id(struct call *call, struct bytes word, struct reservation_id *id)
{
    bool fine = word.size == ID_TEXT_BYTES;
    for (size_t i = 0; fine && i < sizeof id->byte; i++) {
        int high = digit_of(word.data[2 * i]), low = digit_of(word.data[2 * i + 1]);
        fine = high >= 0 && low >= 0;
        id->byte[i] = (uint8_t)(fine ? high << 4 | low : 0);
    }
    if (!fine)
        answer_error(&call->answer, "ERR reservation '%.*s': expected the %d hexadecimal digits that RESERVE gave",
                     call_shown(word), word.data, ID_TEXT_BYTES);
    return fine;
}

/* False after an error was answered. */
static bool ttl_fits(struct call *call, uint64_t ttl_ms)
{
    uint32_t most = call->commands->reservation_ttl_max_ms;
    if (most == 0 || ttl_ms <= most)
        return true;
    answer_error(&call->answer, "ERR TTL is '%llu': expected milliseconds from 1 to %u (reservation_ttl_max)",
                 (unsigned long long)ttl_ms, most);
    return false;
}

/* False after an error was answered. */
static bool has_room(struct call *call, const struct match *match, struct bytes service)
{
    struct bytes name = service.size > 0 ? service : bytes_of(RULE_DEFAULT_SERVICE);
    enum reservations_room room = node_reservations_room(call->commands->node, match->charge, match->count);
    if (room == RESERVATIONS_ROOM)
        return true;
    call->commands->stats.reservations_refused++;
    if (room == RESERVATIONS_FULL)
        answer_error(&call->answer,
                     "ERR too many reservations are open on this node: expected fewer than the config's "
                     "reservations");
    else
        answer_error(
            &call->answer,
            "ERR service '%.*s' has too many reservations open on this node: expected fewer than the config's "
            "rules.service_reservations",
            call_shown(name), name.data);
    return false;
}

void call_reserve(struct call *call)
{
    struct question question;
    struct decision decision;
    struct reservation_id id;
    char text[ID_TEXT_BYTES];
    if (!call_question(call, QUERY_COST | QUERY_TTL, &question) || !ttl_fits(call, question.query.ttl_ms))
        return;
    const struct match *match = &question.match;
    uint64_t ttl_ns = question.query.ttl_ms * 1000000;
    decision.allowed = match->status == MATCH_CHARGES;
    if (decision.allowed) {
        if (!has_room(call, match, question.query.service))
            return;
        decision.allowed = node_reserve(call->commands->node, match->charge, match->count, ttl_ns, call->now_ns,
                                        decision.verdict, &id);
        if (!decision.allowed && match->count == 0) {
            answer_error(&call->answer, "ERR no room for another reservation: too many are open on this node");
            return;
        }
    }
    ruleset_note(match, decision.verdict);
    call_answer_verdict(&call->answer, 1, match, decision.allowed, decision.verdict);
    if (!decision.allowed) {
        answer_null(&call->answer);
        return;
    }
    print_id(&id, text);
    answer_bulk(&call->answer, (struct bytes){text, sizeof text});
}

void call_commit(struct call *call)
{
    struct reservation_id id;
    struct bytes word = call->words->args[2];
    uint64_t actual, charged = 0;
    if (!parse_id(call, call->words->args[1], &id))
        return;
    if (!word_number(word, COMMAND_COST_MAX, &actual)) {
        answer_error(&call->answer,
                     "ERR cost '%.*s' is out of range: expected a whole number of tokens from 0 to 1000000000000",
                     call_shown(word), word.data);
        return;
    }
    switch (node_commit(call->commands->node, id, actual, call->now_ns, &charged)) {
    case RESERVE_DONE:
    case RESERVE_REFUSED:
        answer_integer(&call->answer, (int64_t)charged);
        break;
    case RESERVE_UNKNOWN:
        answer_error(&call->answer,
                     "NORESERVATION there is none of that id on this node: it has ended, or was made elsewhere");
        break;
    }
}

void call_cancel(struct call *call)
{
    struct reservation_id id;
    if (parse_id(call, call->words->args[1], &id))
        answer_integer(&call->answer, node_cancel(call->commands->node, id, call->now_ns) == RESERVE_DONE);
}

void call_renew(struct call *call)
{
    struct reservation_id id;
    struct bytes word = call->words->args[2];
    uint64_t ttl_ms;
    if (!parse_id(call, call->words->args[1], &id))
        return;
    if (!word_number(word, COMMAND_TTL_MAX_MS, &ttl_ms) || ttl_ms == 0)
        answer_error(&call->answer, "ERR '%.*s': expected milliseconds, 1 or more", call_shown(word), word.data);
    else if (ttl_fits(call, ttl_ms))
        answer_integer(&call->answer,
                       node_renew(call->commands->node, id, ttl_ms * 1000000, call->now_ns) == RESERVE_DONE);
}
