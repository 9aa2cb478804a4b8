/*
 * command_call: what every executed command is given. Internal to the commands.
 */
#ifndef HEADGATE_COMMAND_CALL_H
#define HEADGATE_COMMAND_CALL_H

#include "commands.h"
#include "wire/answer.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/resp.h"

struct call {
    struct commands *commands;
    struct session *session;
    const struct resp_command *words;
    struct answer answer;
    uint64_t now_ns;
    bool close; /* after the reply */
};

/* Finds the subcommand in words->args[1] and checks its arity; answers an error and says COUNT otherwise. */
enum subcommand_id call_subcommand(struct call *call, enum command_id parent);
/* Answers that the number of words is wrong, with what was expected. */
void call_wrong_arity(struct call *call, const struct command_spec *parent, const struct command_spec *spec);

/* How much of a client's word belongs into an error, for "%.*s". */
static inline int call_shown(struct bytes word)
{
    return (int)(word.size < 60 ? word.size : 60);
}

/* Nanoseconds as milliseconds, rounded up; -1 for never. */
int64_t call_ms(uint64_t ns);

/* commands_limit.c */
void call_can_access(struct call *call);
void call_check(struct call *call);
void call_peek(struct call *call);
void call_explain(struct call *call);

/* commands_session.c */
void session_reset(struct session *session, const struct commands *commands);
void call_ping(struct call *call);
void call_hello(struct call *call);
void call_auth(struct call *call);
void call_client(struct call *call);
void call_select(struct call *call);
void call_reset(struct call *call);

/* commands_catalog.c */
void call_command(struct call *call);
void call_config(struct call *call);

/* commands_cluster.c */
void call_nodes(struct call *call);
void call_cluster(struct call *call);
void call_forget(struct call *call);
void call_debug(struct call *call);

/* report.c */
void call_info(struct call *call);

#endif
