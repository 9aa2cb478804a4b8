/*
 * ask: what clients may ask for, apart from the words and answers of a protocol.
 *
 * The one idea: RESP (the files of call.h) and HTTP (src/http) parse requests and write answers,
 * each protocol in its own form. The calls between them are here, so that a request means the same
 * in every protocol and the same code decides it. A call that fails fills `error`
 * (COMMAND_ERROR_BYTES) with a sentence that begins with a code: "ERR ...". These calls write no
 * output and allocate nothing.
 */
#ifndef HEADGATE_COMMANDS_ASK_H
#define HEADGATE_COMMANDS_ASK_H

#include "base/bytes.h"
#include "commands/commands.h"
#include "commands/hot.h"
#include "limit/events.h"
#include "limit/reservation.h"
#include "rules/match.h"
#include "wire/command_hot.h"
#include "wire/command_query.h"

enum { RESERVATION_TEXT_BYTES = 2 * sizeof(struct reservation_id) };

/* A request about ids, and the rules that count it. */
struct question {
    struct command_query query;
    struct match match; /* MATCH_CHARGES or MATCH_DENIED */
};

/* What the node decided: verdicts of match->charge, unless match->count is 0. */
struct decision {
    bool allowed;
    struct verdict verdict[CHARGES_MAX];
};

/* Writes only the fields of `request` that rules read, and of `id` only the entries that the query names. */
void call_fill_request(struct request *request, const struct command_query *query, uint8_t thread);
/*
 * Finds the rules of question->query. False: `error` says that a service or a rule does not exist,
 * does not exist yet, or is not about the request; question->match.status says which.
 */
bool ask_match(const struct commands *commands, struct question *question, struct turn turn, char *error);
/*
 * Decides one matched request. Unless `asker` is NULL, the request takes tokens, and the decision is
 * counted for the rules and noted for HOT.
 */
void call_decide(struct commands *commands, const struct match *match, const struct asker *asker, uint64_t now_ns,
                 struct decision *decision);
/*
 * As call_decide, for a request that takes what is left where its cost is refused: it is then decided once more with
 * the largest cost that this daemon could admit. *taken: the cost that was admitted, or 0. Changes the charges of
 * the question. `paid`: how much of the cost each charge has had before; NULL: nothing.
 */
void ask_drain(struct commands *commands, struct question *question, const uint64_t *paid,
               const struct asker *asker, uint64_t now_ns, struct decision *decision, uint64_t *taken);
/*
 * As call_decide, for a request that may wait. False: it has to. Nothing is decided then; the caller asks again when
 * patient_is_due for *ticket, which is 0 at first. A request that takes no tokens waits for the central store alone.
 */
bool call_decide_patiently(struct commands *commands, const struct match *match, const struct asker *asker,
                           uint32_t *ticket, uint64_t now_ns, struct decision *decision);
/* Nanoseconds as milliseconds, rounded up; -1 for never. */
static inline int64_t call_ms(uint64_t ns)
{
    return ns == UINT64_MAX ? -1 : (int64_t)(ns / 1000000 + (ns % 1000000 != 0));
}

/* The work of a request beyond that of its command: the table of commands counts few keys in. */
static inline uint32_t ask_work_of_keys(uint32_t key_count)
{
    enum { COUNTED_IN = 4 };
    return key_count > COUNTED_IN ? key_count - COUNTED_IN : 0;
}

/*
 * Walks along logs are as long as the logs, which one request knows only afterwards. So they are counted as work, and
 * whoever asks for many of them at once gets times that are easier to tell: until all of a log has ended. Begins such
 * a count.
 */
static inline uint64_t ask_begin_walks(void)
{
    enum { LOOKS_AT_ONCE = 4096 };
    events_spare_from(events_looked() + LOOKS_AT_ONCE);
    return events_looked();
}

/* The work of walks since ask_begin_walks answered `begun`. */
static inline uint32_t ask_work_of_walks(uint64_t begun)
{
    enum { LOOKS_FOR_A_WORK = 16 };
    return (uint32_t)((events_looked() - begun) / LOOKS_FOR_A_WORK);
}

/*
 * ask_refund returns the least that any key of the request got back; others may have got more. ask_reset returns how
 * many keys got tokens back. gRPC gives back by itself: see grpc/rate_limit_decide.c.
 */
uint64_t ask_refund(struct commands *commands, const struct question *question, uint64_t now_ns);
uint32_t ask_reset(struct commands *commands, const struct question *question, uint64_t now_ns);

/* True if a reservation may last `ttl_ms`. False: `error` says why it may not. */
bool ask_ttl_fits(const struct commands *commands, uint64_t ttl_ms, char *error);

/* Who reserves. */
struct reserving_client {
    const char *address; /* "ip:port" */
    uint32_t *ticket;    /* see call_decide_patiently */
};

enum ask_reserved {
    ASK_RESERVE_DECIDED, /* `decision` is filled, and, if the request is allowed, `text` with the reservation's name */
    ASK_RESERVE_WAITS, /* nothing is decided: as call_decide_patiently */
    ASK_RESERVE_FULL,  /* there is no room for a reservation: `error` is filled */
};

/* RESERVE for query.ttl_ms, which must fit. Of no rule the central store decides. */
enum ask_reserved ask_reserve(struct commands *commands, struct question *question, struct reserving_client client,
                              uint64_t now_ns, struct decision *decision, char text[RESERVATION_TEXT_BYTES],
                              char *error);
/*
 * COMMIT of the plain and the named costs of the query: used[0].charged becomes the tokens that were charged of the
 * plain one in the end, used[1 + i].charged those of named_cost[i].
 */
bool ask_commit(struct commands *commands, struct bytes reservation, const struct command_query *query,
                uint64_t now_ns, struct used_cost used[COMMAND_COSTS_MAX + 1], char *error);
/* CANCEL: *found says whether the reservation existed. */
bool ask_cancel(struct commands *commands, struct bytes reservation, uint64_t now_ns, bool *found, char *error);

/* RENEW: *renewed says whether the reservation existed, and ends `ttl_ms`, which must fit, after now. */
bool ask_renew(struct commands *commands, struct bytes reservation, uint64_t ttl_ms, uint64_t now_ns, bool *renewed,
               char *error);

/* ---- a limit that a request brings with it ---- */

struct guest {
    struct bytes name; /* of the key */
    uint64_t tokens;   /* 1 to 2^32 */
    uint64_t period_ns;
};
/*
 * Fills the charge of `cost`. May have other threads wait: what was found of the node before is void. False: `error`
 * says why the limit cannot be counted.
 */
bool ask_guest(struct commands *commands, const struct guest *guest, uint64_t cost, struct charge *charge,
               char *error);
/* The first verdict of the decision is the charge's. */
void ask_guest_decide(struct commands *commands, const struct charge *charge, bool take, uint64_t now_ns,
                      struct decision *decision);

/* The window of a charge, or the time in which the whole limit is refilled; UINT64_MAX: it has none. */
uint64_t call_window_ns(const struct commands *commands, const struct charge *charge);

/* ---- HOT ---- */

/* One answer to HOT: the rules that have something to show, the loudest first. */
struct hot_asked {
    struct hot_query query;
    uint64_t now_ns;
    uint32_t threads, next;
    struct hot *hots[GATE_THREADS_MAX];
    struct hot_list list;
};
void ask_hot(const struct commands *commands, const struct command_hot *words, uint64_t now_ns,
             struct hot_asked *asked);
/* The view of the next rule. False: there is no further one. */
bool ask_hot_next(struct hot_asked *asked, struct hot_view *view);

/* ---- changes of rules ---- */

enum rules_status {
    RULES_WAIT,     /* it is not known yet, or it is not on the disk yet: ask ask_rules_again */
    RULES_DONE,     /* it is in force and on the disk: the counts of the wait */
    RULES_REFUSED,  /* nothing changed: the error says why */
    RULES_NOT_KEPT, /* it is in force and told to peers, but not on the disk: the error says why */
};
enum { RULES_WARNING_BYTES = ERROR_TEXT_BYTES + 64 };

static inline bool rules_wait_is_open(const struct rules_wait *wait)
{
    return wait->ticket > 0 || wait->kept > 0;
}
/* Must be called while no other thread decides. Fills `wait`. */
enum rules_status ask_rules(struct commands *commands, const struct rule_changes *changes, uint64_t now_ns,
                            struct rules_wait *wait, struct error *error);
/* The same for no change, which is kept once all changes before it are. */
enum rules_status ask_rules_none(struct commands *commands, struct rules_wait *wait, struct error *error);
enum rules_status ask_rules_again(struct commands *commands, struct rules_wait *wait, struct error *error);
/* Which of the changed rules admit nothing at some daemon: "" if there are none, or if that is too long ago. */
void ask_rules_warning(const struct commands *commands, const struct rules_wait *wait,
                       char warning[RULES_WARNING_BYTES]);
/* True: some version of the rule is known here, its end too; else nothing of it is to be kept. */
bool ask_knew_rule(const struct commands *commands, struct bytes service, struct bytes id);
/* The newest version of a rule that is in force, or NULL. */
const struct rule_version *ask_rule(const struct commands *commands, struct bytes service, struct bytes id);

/* ---- who asks ---- */

enum password_verdict {
    PASSWORD_RIGHT,
    PASSWORD_WRONG,
    PASSWORD_WAITS,  /* it is being compared: the client must be served again, SESSION_CHECK_MS later */
    PASSWORD_BARRED, /* the client's address sent too many wrong passwords: this password was not compared */
};
/* What a client says of itself. */
struct credentials {
    const char *address; /* "ip:port" */
    struct bytes user, password;
};

/* True: clients must say who they are. */
static inline bool ask_needs_password(const struct commands *commands)
{
    return commands->password != NULL || commands->users != NULL;
}
/*
 * Compares the client's password with that of its user. Counts a wrong one against the address. *user becomes who the
 * client is, or NULL; *barred_ns the time for which passwords of that address are not compared.
 */
enum password_verdict ask_password(struct commands *commands, const struct credentials *credentials,
                                   uint64_t now_ns, const struct user **user, uint64_t *barred_ns);
/*
 * True if requests about that service ("": the default one) are the caller's business. False: `error` says that they
 * are not.
 */
static inline bool ask_serves(const struct commands *commands, struct bytes service, char *error)
{
    return commands->caller == NULL || user_asks(commands->caller, service, error);
}

#endif
