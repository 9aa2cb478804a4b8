/*
 * call: the arguments of every function that executes a command. Internal to the commands.
 */
#ifndef HEADGATE_COMMANDS_CALL_H
#define HEADGATE_COMMANDS_CALL_H

#include "commands/ask.h"
#include "commands/commands.h"
#include "commands/verdict_report.h"
#include "wire/answer.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/resp.h"

struct call {
    struct commands *commands;
    struct session *session;
    const struct resp_command *words;
    struct bytes frame; /* the bytes of the command */
    struct answer answer;
    uint64_t now_ns, wall_ns;
    uint32_t work; /* units that the call cost beyond those in the table of commands, its bytes and its answer */
    bool close;    /* close the connection after the reply */
    bool holds;    /* the request has to wait (session->waiting), and is called again: nothing is answered */
};

/* Executes the call, queues it for EXEC, or answers an error. */
void call_dispatch(struct call *call);
/*
 * Finds the subcommand in words->args[1] and checks its arity. Otherwise answers an error and
 * returns SUBCOMMAND_ID_COUNT.
 */
enum subcommand_id call_subcommand(struct call *call, enum command_id parent);
/* Answers that the number of words is wrong, and which number is expected. */
void call_wrong_arity(struct call *call, const struct command_spec *parent, const struct command_spec *spec);

/*
 * Between a call with true and a call with false no other thread decides: see `alone` of struct
 * commands. For commands that are COMMAND_TOGETHER in the table and need this only at times.
 */
static inline void call_alone(struct call *call, bool alone)
{
    if (call->commands->alone)
        call->commands->alone(call->commands->context, alone);
}

/* True: the session's user may call the command, as far as its name says. */
static inline bool call_may(const struct session *session, enum command_id id)
{
    const bool of_default = id == COMMAND_CAN_ACCESS || id == COMMAND_CL_THROTTLE || id == COMMAND_THROTTLE;
    return user_has(session->user, command_table[id].roles) &&
           (!of_default || user_serves(session->user, (struct bytes){0}));
}

/* The last command of the session is not answered yet: nothing that follows may be served before its answer. */
static inline bool session_waits(const struct session *session)
{
    return session->waits_refused || session->waits_check || rules_wait_is_open(&session->waits_rules);
}

/* How many bytes of a client's word an error may quote, for "%.*s". */
static inline int call_shown(struct bytes word)
{
    return (int)(word.size < 60 ? word.size : 60);
}

/* ---- match.c ---- */

/* Finds the rules of a query. False: `error` is filled as ask_match fills it. */
bool call_match(const struct commands *commands, const struct command_query *query, struct turn turn,
                struct match *match, char *error);
/* Parses the words (with the options `takes`) and finds the rules. False: the call has answered an error. */
bool call_question(struct call *call, unsigned takes, struct question *question);

/*
 * Writes whether all rules allow the request, and the figures of the rule that decided: six
 * elements of an array in RESP2, or of a map in RESP3. The caller must write `more` further
 * elements, each after call_answer_next.
 */
enum {
    VERDICT_FIELDS = 6,
    /* bytes that the names of the map take at least, with over_limit: see answer_named */
    VERDICT_NAMES_BYTES = 133,
    VERDICT_OVER_BYTES = 21,   /* of these, over_limit with its value */
    VERDICT_REASON_BYTES = 33, /* the reason of a refusal with its name */
};
void call_answer_verdict(struct answer *answer, size_t more, const struct match *match, bool allowed,
                         const struct verdict *verdicts);
/* The same of a report. */
void call_answer_report(struct answer *answer, size_t more, const struct verdict_report *report);
/* Writes the name of the next of the `more` elements, where elements have names. */
void call_answer_next(struct answer *answer, const char *name);
/* WAIT: writes for how many milliseconds the client must hold the request for an even stream; -1: it was denied. */
void call_answer_wait(struct answer *answer, const struct node *node, const struct match *match, bool allowed,
                      const struct verdict *verdicts);
/* VERBOSE: writes an array of maps, one map for each rule. */
void call_answer_rules(struct answer *answer, const struct match *match, const struct verdict *verdicts);

/* single.c */
/* As call_decide. */
bool ask_decide(struct commands *commands, const struct match *match, const struct asker *asker, uint64_t now_ns,
                struct verdict *verdicts);
/*
 * As call_decide_patiently, for a request that the central store has no say in. With a reservation (`hold`, or NULL)
 * that finds no room, nothing is counted or noted.
 */
bool call_hold_patiently(struct commands *commands, const struct match *match, const struct asker *asker,
                         struct hold *hold, uint32_t *ticket, uint64_t now_ns, struct decision *decision);
void call_refund(struct call *call);
void call_reset_keys(struct call *call);

/* pending.c: answers why a request could not join the queue */
void call_refused(struct call *call);

/* drain.c: CHECK with DRAIN or IDEMPOTENCY_KEY; any other CHECK is call_refused's */
void call_check(struct call *call);

/* once.c: CHECK with IDEMPOTENCY_KEY, parsed */
void call_check_once(struct call *call, struct question *question);

/* explain.c */
void call_explain(struct call *call);

/* who.c */
void call_hot(struct call *call);
void call_fingerprint(struct call *call);

/* reserve.c */
/* Notes in the charges of a request that reserves what each of them counts: COMMIT asks for it. */
void reserve_note_costs(const struct commands *commands, struct match *match);
/* Writes the answer to a RESERVE that finds no room for a reservation. */
void reserve_answer_full(struct commands *commands, const struct match *match, enum reservations_room room,
                         struct answer *answer);
void reserve_answer_id(const struct hold *hold, struct answer *answer);
void call_commit(struct call *call);
void call_cancel(struct call *call);
void call_renew(struct call *call);

/* throttle.c */
void throttle_init(struct commands *commands);
/* Fills `throttle`. False: the words are wrong, give tokens back, or come under a limit that is not in use yet. */
bool throttle_prepare(const struct commands *commands, enum throttle_dialect dialect,
                      const struct resp_command *words, struct throttle *throttle);
/* True if the request takes tokens where they are allowed. Otherwise the request only looks. */
bool throttle_takes(const struct throttle *throttle);
/* Writes the answer to a decided charge in the form of its dialect. */
void throttle_answer(const struct throttle *throttle, bool allowed, const struct verdict *verdict,
                     struct answer *answer);
void call_cl_throttle(struct call *call);
void call_throttle(struct call *call);

/* rules.c */
void call_rule(struct call *call);
void call_health(struct call *call);

/* Answers a change that is in force with that number: once it is kept, now or later. */
void call_answer_kept(struct call *call, uint64_t number);

/* rule_list.c */
void call_rule_get(struct call *call);
void call_rule_list(struct call *call);
void call_rule_history(struct call *call);
/* The version of number `number` (1: the newest) of a rule. NULL: the call has answered an error. */
struct rule_version *call_rule_version(struct call *call, struct bytes service, struct bytes id,
                                       struct bytes number);

/* session.c */
void session_reset(struct session *session, struct commands *commands);
/* The user of the session is no user any more: the client must say anew who it is. */
void session_forget_user(struct session *session);
/* Answers a wrong password whose delay is over. */
void session_resume_refused(struct session *session, struct answer *answer);
void call_ping(struct call *call);
void call_hello(struct call *call);
void call_auth(struct call *call);
void call_client(struct call *call);
void call_select(struct call *call);
void call_reset(struct call *call);

/* ---- transaction.c ---- */

enum {
    TRANSACTION_COMMANDS_MAX = 1024,
    /* bytes of all answers of one transaction: they must fit the output together */
    TRANSACTION_ANSWER_MAX_BYTES = 116 * 1024,
    TRANSACTIONS_MAX_BYTES = 32 << 20, /* bytes of all transactions that are queued in one thread */
};

/* Queues the call for EXEC, or answers why it cannot be queued. */
void transaction_queue(struct call *call, enum command_id id);
/* Forgets the queued commands. */
void transaction_end(struct session *session, struct commands *commands);
/* Cuts an error among a transaction's answers, which begins at `begun`, to the room that was reserved for it. */
void transaction_cut_error(struct output *output, size_t begun);
void call_multi(struct call *call);
void call_exec(struct call *call);
void call_discard(struct call *call);
void call_watch(struct call *call);
void call_unwatch(struct call *call);

/* catalog.c */
void call_command(struct call *call);
void call_config(struct call *call);
void call_dbsize(struct call *call);
void call_time(struct call *call);

/* reload.c */
void call_reload(struct call *call);

/* weights.c */
void call_weights(struct call *call);
/* The lines of INFO about weights. */
void call_print_weights(struct call *call);

/* cluster.c */
void call_nodes(struct call *call);
void call_cluster(struct call *call);
void call_forget(struct call *call);
void call_member_key(struct call *call);
void call_debug(struct call *call);

/* report.c */
void call_info(struct call *call);

#endif
