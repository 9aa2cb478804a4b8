/*
 * Changes rules: RULE SET, APPLY, STAGE, DEL and ROLLBACK. Answers HEALTH. rule_list.c shows rules.
 */
#include "commands/call.h"
#include "rules/rule_text.h"
#include "wire/command_rules.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* a text that got no piece for so long gives way to the text of another connection */
#define STAGED_KEPT_NS 30000000000u

/* ---- staged texts ---- */

/* Takes one piece of a text that is longer than a request. One connection at a time may have such a text. */
static void stage(struct call *call)
{
    struct staged *staged = &call->commands->staged;
    struct bytes piece = call->words->args[2];
    bool own = staged->session == call->session->id;
    if (!own && staged->session != 0 && call->now_ns - staged->touched_ns < STAGED_KEPT_NS) {
        answer_error(&call->answer, "BUSY another connection is sending rules: try again in a while");
        return;
    }
    if (!own)
        staged->size = 0;
    if (piece.size > RULES_TEXT_MAX_BYTES - staged->size) {
        staged->session = 0;
        answer_error(&call->answer,
                     "ERR the staged text is longer than %d bytes, and forgotten: expected fewer rules",
                     RULES_TEXT_MAX_BYTES);
        return;
    }
    if (staged->text == NULL)
        staged->text = malloc(RULES_TEXT_MAX_BYTES); /* pages that are not touched take no memory */
    if (staged->text == NULL) {
        answer_error(&call->answer, "ERR no memory for a text in pieces");
        return;
    }
    if (piece.size > 0)
        memcpy(staged->text + staged->size, piece.data, piece.size);
    staged->size += piece.size;
    staged->session = call->session->id;
    staged->touched_ns = call->now_ns;
    answer_integer(&call->answer, (int64_t)staged->size);
}

static void forget_staged(struct staged *staged)
{
    free(staged->text);
    *staged = (struct staged){0};
}

/* ---- changes ---- */

/* The answer to a change that is in force. */
enum change_form {
    CHANGE_COUNT,   /* how many rules changed */
    CHANGE_SIMPLE,  /* OK, and a warning if there is one */
    CHANGE_VERBOSE, /* how many rules changed, and a warning or an empty text */
    CHANGE_NUMBER,  /* a number that is known already */
    CHANGE_PRUNED,  /* the same, and how many of the changed rules were removed */
};

static void answer_done(const struct commands *commands, const struct session *session, struct answer *answer)
{
    char warning[RULES_WARNING_BYTES], said[sizeof warning + 16] = "OK";
    ask_rules_warning(commands, &session->waits_rules, warning);
    if (session->waits_form == CHANGE_SIMPLE) {
        if (warning[0] != '\0')
            (void)snprintf(said, sizeof said, "OK, but %s", warning);
        answer_simple(answer, said);
        return;
    }
    if (session->waits_form == CHANGE_NUMBER) {
        answer_integer(answer, (int64_t)session->waits_number);
        return;
    }
    const bool pruned = session->waits_form == CHANGE_PRUNED,
               verbose = pruned || session->waits_form == CHANGE_VERBOSE;
    if (verbose)
        answer_array(answer, pruned ? 3 : 2);
    answer_integer(answer, (int64_t)session->waits_rules.changed_rules);
    if (verbose)
        answer_text(answer, warning);
    if (pruned)
        answer_integer(answer, (int64_t)session->waits_rules.removed_rules);
}

/* False: the outcome is not known yet, and nothing is answered. */
static bool answer_change(const struct commands *commands, const struct session *session, struct answer *answer,
                          enum rules_status status, const struct error *error)
{
    switch (status) {
    case RULES_WAIT:
        return false;
    case RULES_DONE:
        answer_done(commands, session, answer);
        break;
    case RULES_REFUSED:
        answer_error(answer, "ERR %s", error->text);
        break;
    case RULES_NOT_KEPT:
        answer_error(answer, "NOTKEPT %s", error->text);
        break;
    }
    return true;
}

/* Makes the changes and answers in the given form: now, or when the result is known and kept. */
static void change(struct call *call, const struct rule_changes *changes, enum change_form form)
{
    struct error error;
    struct session *session = call->session;
    session->waits_form = (uint8_t)form;
    (void)answer_change(call->commands, session, &call->answer,
                        ask_rules(call->commands, changes, call->now_ns, &session->waits_rules, &error), &error);
}

void call_answer_kept(struct call *call, uint64_t number)
{
    struct error error;
    struct session *session = call->session;
    session->waits_form = CHANGE_NUMBER;
    session->waits_number = number;
    (void)answer_change(call->commands, session, &call->answer,
                        ask_rules_none(call->commands, &session->waits_rules, &error), &error);
}

bool commands_resume(struct commands *commands, struct session *session, struct output *output)
{
    struct answer answer = {.output = output, .protocol = session->protocol};
    struct error error;
    size_t before = output->size;
    bool answered = true;
    assert(session_waits(session));
    if (session->waits_check) {
        session->waits_check = false;
        return true; /* its command is served again */
    }
    if (session->waits_refused)
        session_resume_refused(session, &answer);
    else
        answered = answer_change(commands, session, &answer,
                                 ask_rules_again(commands, &session->waits_rules, &error), &error);
    if (answered)
        commands->stats.total_error_replies += output->data[before] == '-';
    return answered;
}

static void apply(struct call *call, bool alone)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_apply asked;
    struct staged *staged = &call->commands->staged;
    if (!command_parse_apply(call->words, &asked, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    if (asked.staged && staged->session != call->session->id) {
        answer_error(&call->answer, "ERR nothing is staged: expected RULE STAGE on this connection before");
        return;
    }
    struct rule_changes changes = {
        .text = asked.staged ? (struct bytes){staged->text, staged->size} : asked.text,
        .file = "rules",
        .note = asked.note,
        .share_millionths = asked.share_millionths,
        .watch_ms = asked.watch_ms,
        .threshold_millionths = asked.threshold_millionths,
        .prune = asked.prune,
        .dry_run = asked.dry_run,
    };
    change(call, &changes,
           alone            ? CHANGE_SIMPLE
           : !asked.verbose ? CHANGE_COUNT
           : asked.prune    ? CHANGE_PRUNED
                            : CHANGE_VERBOSE);
    if (asked.staged)
        forget_staged(staged);
}

static void delete_rule(struct call *call, struct bytes service, struct bytes id, struct bytes note)
{
    struct rule_name name = {service, id};
    struct rule_changes changes = {.text = bytes_of(""),
                                   .file = "",
                                   .deleted = &name,
                                   .deleted_count = 1,
                                   .note = note};
    change(call, &changes, CHANGE_COUNT);
}

static void del(struct call *call)
{
    struct bytes service = call->words->args[2], id = call->words->args[3];
    struct session *session = call->session;
    struct error error;
    if (ask_rule(call->commands, service, id) != NULL) {
        delete_rule(call, service, id, bytes_of(""));
        return;
    }
    if (!ask_knew_rule(call->commands, service, id)) {
        answer_integer(&call->answer, 0);
        return;
    }
    session->waits_form = CHANGE_COUNT; /* the end of the rule may not be kept yet */
    (void)answer_change(call->commands, session, &call->answer,
                        ask_rules_none(call->commands, &session->waits_rules, &error), &error);
}

static void rollback(struct call *call)
{
    const struct resp_command *words = call->words;
    struct bytes number = words->count > 4 ? words->args[4] : bytes_of("2");
    char note[64] = "";
    if (words->count > 5) {
        call_wrong_arity(call, &command_table[COMMAND_RULE], &subcommand_table[SUBCOMMAND_RULE_ROLLBACK].spec);
        return;
    }
    struct rule_version *version = call_rule_version(call, words->args[2], words->args[3], number);
    if (version == NULL)
        return;
    version = rule_version_retain(version); /* the rulebook may drop this version when it takes the new one */
    struct output text = output_over(note, sizeof note - 1);
    output_print(&text, "rollback to version %.*s", call_shown(number), number.data);
    struct rule_changes changes = {.text = version->record.text, .file = "rules", .note = bytes_of(note)};
    if (version->record.deleted)
        delete_rule(call, version->record.service, version->record.id, bytes_of(note));
    else
        change(call, &changes, CHANGE_COUNT);
    rule_version_release(&version);
}

void call_rule(struct call *call)
{
    enum subcommand_id id = call_subcommand(call, COMMAND_RULE);
    if (id == SUBCOMMAND_RULE_SET)
        apply(call, true);
    else if (id == SUBCOMMAND_RULE_APPLY)
        apply(call, false);
    else if (id == SUBCOMMAND_RULE_STAGE)
        stage(call);
    else if (id == SUBCOMMAND_RULE_DEL)
        del(call);
    else if (id == SUBCOMMAND_RULE_ROLLBACK)
        rollback(call);
    else if (id == SUBCOMMAND_RULE_GET)
        call_rule_get(call);
    else if (id == SUBCOMMAND_RULE_LIST)
        call_rule_list(call);
    else if (id == SUBCOMMAND_RULE_HISTORY)
        call_rule_history(call);
    else
        assert(id == SUBCOMMAND_ID_COUNT); /* call_subcommand has answered */
}

/* ---- HEALTH ---- */

struct scale_search {
    struct bytes service;
    uint32_t scale;
};

static void look_for_scale(void *context, const struct ruled_service *service)
{
    struct scale_search *search = context;
    if (bytes_equal(service->name, search->service))
        search->scale = service->scale;
}

void call_health(struct call *call)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_health asked;
    if (!command_parse_health(call->words, &asked, error)) {
        answer_error(&call->answer, "ERR %s", error);
        return;
    }
    if (!ask_serves(call->commands, asked.service, error)) {
        answer_error(&call->answer, "%s", error);
        return;
    }
    if (asked.kind == HEALTH_ASKED) {
        struct scale_search search = {asked.service, RULE_SCALE_ONE};
        const struct ruleset *rules = node_rules(call->commands->node);
        if (!ruleset_has_service(rules, asked.service)) {
            answer_error(&call->answer,
                         "ERR unknown service '%.*s': no rule is about it, and RULE LIST names those "
                         "that have some",
                         call_shown(asked.service), asked.service.data);
            return;
        }
        ruleset_visit_services(rules, look_for_scale, &search);
        answer_double(&call->answer, (double)search.scale / RULE_SCALE_ONE);
        return;
    }
    struct health_report report = {
        .service = asked.service,
        .health_millionths = asked.health_millionths,
        .latency_ns = asked.latency_ns,
        .latency_count = asked.sample_count,
    };
    struct event event = {.kind = EVENT_HEALTH, .now_ns = call->now_ns, .health = &report};
    struct rules_result result = {0};
    call->commands->submit(call->commands->context, &event, &result);
    if (result.refused)
        answer_error(&call->answer, "ERR %s", result.error.text);
    else
        answer_simple(&call->answer, "OK");
}
