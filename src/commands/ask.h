/*
 * ask: what clients may ask for, apart from the words and answers of a protocol.
 *
 * The one idea: RESP (the files of call.h) and HTTP (src/http) parse and answer, each in its form. Between the two lie
 * these calls, so that a request means the same in every protocol, and is decided by the same code. A call that fails
 * fills `error` (COMMAND_ERROR_BYTES) with a sentence that begins with a code: "ERR ...". No output, no allocation.
 */
#ifndef HEADGATE_COMMANDS_ASK_H
#define HEADGATE_COMMANDS_ASK_H

#include "base/bytes.h"
#include "commands/commands.h"
#include "limit/reservation.h"
#include "rules/match.h"
#include "wire/command_query.h"

enum { RESERVATION_TEXT_BYTES = 2 * sizeof(struct reservation_id) };

/* A request about ids, and the rules that it falls under. */
struct question {
    struct command_query query;
    struct match match; /* MATCH_CHARGES or MATCH_DENIED */
};

/* What was decided: verdicts of match->charge, unless count is 0. */
struct decision {
    bool allowed;
    struct verdict verdict[CHARGES_MAX];
};

/* Only what counts of `request` is written: `id` as far as there are any. */
void call_fill_request(struct request *request, const struct command_query *query, uint8_t thread);
/*
 * Finds the rules of question->query. False: `error` says that a service or a rule is not there, or not yet, or is not
 * about the request; question->match.status says which.
 */
bool ask_match(const struct commands *commands, struct question *question, struct turn turn, char *error);
/* Decides what a request matched, by itself, and counts it if it takes tokens. */
void call_decide(struct commands *commands, const struct match *match, bool take, uint64_t now_ns,
                 struct decision *decision);
/* The index of the charge that decided, or -1 if none did. */
int decision_of(const struct match *match, bool allowed, const struct verdict *verdicts);
/* Nanoseconds as milliseconds, rounded up; -1 for never. */
static inline int64_t call_ms(uint64_t ns)
{
    return ns == UINT64_MAX ? -1 : (int64_t)(ns / 1000000 + (ns % 1000000 != 0));
}

/* The figures of a verdict as clients are told them. Each protocol has its own where nothing is counted. */
struct verdict_figures {
    int64_t limit, remaining, available; /* tokens */
    int64_t retry_after_ms;              /* -1: never */
    int64_t reset_after_ms;
};

static inline struct verdict_figures verdict_figures(const struct verdict *verdict)
{
    return (struct verdict_figures){.limit = (int64_t)verdict->limit_tokens,
                                    .remaining = (int64_t)verdict->remaining_tokens,
                                    .available = (int64_t)verdict->available_tokens,
                                    .retry_after_ms = verdict->allowed ? 0 : call_ms(verdict->retry_after_ns),
                                    .reset_after_ms = call_ms(verdict->reset_after_ns)};
}

/* REFUND: how many tokens were given back; RESET: how many keys got any. */
uint64_t ask_refund(struct commands *commands, const struct question *question, uint64_t now_ns);
uint32_t ask_reset(struct commands *commands, const struct question *question, uint64_t now_ns);

/* Whether a reservation may last so long. */
bool ask_ttl_fits(const struct commands *commands, uint64_t ttl_ms, char *error);
/* RESERVE for query.ttl_ms, which must fit: fills `decision`, and, if allowed, `text`: the name of the reservation. */
bool ask_reserve(struct commands *commands, const struct question *question, uint64_t now_ns,
                 struct decision *decision, char text[RESERVATION_TEXT_BYTES], char *error);
/* COMMIT: how many tokens were charged in the end. */
bool ask_commit(struct commands *commands, struct bytes reservation, uint64_t cost, uint64_t now_ns,
                uint64_t *charged, char *error);
/* CANCEL: whether there was such a reservation. */
bool ask_cancel(struct commands *commands, struct bytes reservation, uint64_t now_ns, bool *found, char *error);

enum password_verdict {
    PASSWORD_RIGHT,
    PASSWORD_WRONG,
    PASSWORD_BARRED, /* too many wrong ones came from the client's address: this one was not looked at */
};
/*
 * Whether the password of the config is `password`, as the client at `address` ("ip:port") says; there is one. A wrong
 * one is counted against the address. `barred_ns`: for how long no password of that address is looked at.
 */
enum password_verdict ask_password(struct commands *commands, const char *address, struct bytes user,
                                   struct bytes password, uint64_t now_ns, uint64_t *barred_ns);

#endif
