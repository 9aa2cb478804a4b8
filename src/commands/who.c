/*
 * Who is limited: HOT, the keys that are refused or ask most, and FINGERPRINT, which finds a key by its name.
 */
#include "commands/call.h"
#include "commands/hot.h"
#include "limit/key.h"
#include "wire/command_hot.h"

enum {
    RULES_SHOWN_MAX = 20,  /* of one answer */
    ROW_HEAD_BYTES = 1024, /* of a rule, without its keys, */
    ROW_KEY_BYTES = 384,   /* and of each key */
    ROWS_MAX_BYTES = OUTPUT_REPLY_MAX_BYTES - 64,
};

/* ---- HOT ---- */

void ask_hot(const struct commands *commands, const struct command_hot *words, uint64_t now_ns,
             struct hot_asked *asked)
{
    asked->query = (struct hot_query){.service = words->service,
                                      .rule = words->rule,
                                      .by = words->asked ? HOT_ASKED : HOT_REFUSED,
                                      .over = words->hours ? HOT_HOURS : HOT_MINUTES,
                                      .since_ns = commands->started_ns};
    asked->now_ns = now_ns;
    asked->next = 0;
    asked->threads = observe_hots(commands, asked->hots);
    hot_list(asked->hots, asked->threads, &asked->query, now_ns, &asked->list);
    if (asked->list.count > RULES_SHOWN_MAX)
        asked->list.count = RULES_SHOWN_MAX;
}

bool ask_hot_next(struct hot_asked *asked, struct hot_view *view)
{
    while (asked->next < asked->list.count)
        if (hot_read(asked->hots, asked->threads, &asked->query, asked->list.found[asked->next++].names,
                     asked->now_ns, view))
            return true;
    return false;
}

static void answer_name(struct answer *answer, const char *name)
{
    if (name[0])
        answer_text(answer, name);
    else
        answer_null(answer);
}

static void answer_key(struct answer *answer, const struct hot_asked *asked, const struct hot_view *view,
                       const struct hitter *hitter)
{
    char fingerprint[HOT_FINGERPRINT_BYTES], name[HOT_NAME_BYTES] = "";
    hot_print_fingerprint(hitter->key, fingerprint);
    (void)hot_find_name(asked->hots, asked->threads, hitter->key, name);
    answer_map(answer, 4);
    answer_pair_text(answer, "fingerprint", fingerprint);
    answer_text(answer, "name");
    answer_name(answer, name);
    answer_pair_count(answer, "count", hitter->count * view->unit);
    answer_pair_count(answer, "error", hitter->error * view->unit);
}

static void answer_row(struct answer *answer, const struct hot_asked *asked, const struct hot_view *view,
                       uint32_t count)
{
    if (count > view->hitters.count)
        count = view->hitters.count;
    answer_map(answer, 7);
    answer_text(answer, "service");
    answer_name(answer, view->service);
    answer_pair_text(answer, "rule", view->rule);
    answer_text(answer, "tier");
    answer_name(answer, view->tier);
    answer_pair_count(answer, "seconds", view->over_ns / 1000000000);
    answer_pair_count(answer, "sampled", view->unit);
    answer_pair_count(answer, "total", view->hitters.total * view->unit);
    answer_pair_array(answer, "keys", count);
    for (uint32_t i = 0; i < count; i++)
        answer_key(answer, asked, view, &view->hitters.at[i]);
}

void call_hot(struct call *call)
{
    struct answer *answer = &call->answer;
    char error[COMMAND_ERROR_BYTES];
    struct command_hot words;
    struct hot_asked asked;
    struct hot_view view;
    size_t rows = 0;
    if (!command_parse_hot(call->words, &words, error)) {
        answer_error(answer, "ERR %s", error);
        return;
    }
    ask_hot(call->commands, &words, call->now_ns, &asked);
    const size_t begun = answer_array_begin(answer), row = ROW_HEAD_BYTES + (size_t)words.count * ROW_KEY_BYTES;
    while (answer->output->size - begun + row < ROWS_MAX_BYTES && ask_hot_next(&asked, &view)) {
        answer_row(answer, &asked, &view, words.count);
        rows++;
    }
    answer_array_end(answer, begun, rows);
}

/* ---- FINGERPRINT ---- */

static uint64_t fingerprint_of(const struct commands *commands, const struct command_query *query)
{
    struct key_id joined = {0, 0};
    for (uint32_t i = 0; i < query->id_count; i++) {
        struct hash_key key;
        key_of_dimension(&key, &commands->hash_key, query->id[i].dimension);
        joined = key_join(joined, key_part(&key, query->id[i].value));
    }
    return hot_fingerprint(joined);
}

static void answer_fingerprint(struct answer *answer, uint64_t fingerprint)
{
    char text[HOT_FINGERPRINT_BYTES];
    hot_print_fingerprint(fingerprint, text);
    answer_pair_text(answer, "fingerprint", text);
}

static void answer_under(struct answer *answer, const struct matched *matched, struct key_id identity)
{
    answer_map(answer, 3);
    answer_text(answer, "service");
    if (matched->rule->service.size > 0)
        answer_bulk(answer, matched->rule->service);
    else
        answer_null(answer);
    answer_pair_bulk(answer, "rule", matched->rule->id);
    answer_fingerprint(answer, hot_fingerprint(identity));
}

/* Of all its identifiers together, and under each rule that counts the request, by those that the rule counts by. */
void call_fingerprint(struct call *call)
{
    struct answer *answer = &call->answer;
    struct question question;
    if (!call_question(call, 0, &question))
        return;
    const struct match *match = &question.match;
    const bool denied = match->status == MATCH_DENIED;
    answer_map(answer, 2);
    answer_fingerprint(answer, fingerprint_of(call->commands, &question.query));
    answer_pair_array(answer, "rules", denied ? 1 : match->count);
    if (denied)
        answer_under(answer, &match->passed[match->denied_by], match->passed[match->denied_by].identity);
    for (uint32_t i = 0; i < match->count; i++)
        answer_under(answer, &match->rule[i], match_identity(match, i, match->charge[i].id));
}
