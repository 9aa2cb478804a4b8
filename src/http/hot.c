/*
 * GET /v1/hot: the keys that were refused most, or asked most, of each rule and tier; what HOT answers.
 */
#include "http/call.h"
#include "http/query.h"

enum { ROW_HEAD_BYTES = 1024, ROW_KEY_BYTES = 384, END_BYTES = 16 };

static void refuse(struct http_call *call, struct bytes name, const char *error)
{
    char field[HTTP_FIELD_NAME_BYTES];
    const size_t size = name.size < sizeof field - 1 ? name.size : sizeof field - 1;
    if (size > 0)
        memcpy(field, name.data, size);
    field[size] = '\0';
    http_problem(call, 400, field, "%s", error);
}

/* False: the call is answered with what is wrong. */
static bool read_words(struct http_call *call, struct command_hot *words)
{
    struct bytes query = call->query;
    struct http_pair pair;
    char error[COMMAND_ERROR_BYTES];
    command_hot_clear(words);
    while (http_query_next(&query, &call->decoded, &pair)) {
        if (pair.error != NULL) {
            refuse(call, pair.name, pair.error);
            return false;
        }
        if (bytes_equal(pair.name, bytes_of("service_id")))
            words->service = pair.value;
        else if (bytes_equal(pair.name, bytes_of("rule")))
            words->rule = pair.value;
        else if (!command_hot_set(words, pair.name, pair.value, error)) {
            refuse(call, pair.name, error);
            return false;
        }
    }
    return true;
}

static void put_key(struct output *output, const struct hot_asked *asked, const struct hot_view *view,
                    const struct hitter *hitter)
{
    char fingerprint[HOT_FINGERPRINT_BYTES], name[HOT_NAME_BYTES] = "";
    hot_print_fingerprint(hitter->key, fingerprint);
    (void)hot_find_name(asked->hots, asked->threads, hitter->key, name);
    put_optional(output, "{\"fingerprint\":", bytes_of(fingerprint));
    put_optional(output, ",\"name\":", bytes_of(name));
    put_count(output, ",\"count\":", hitter->count * view->unit);
    put_count(output, ",\"error\":", hitter->error * view->unit);
    put_text(output, "}");
}

static void put_row(struct output *output, const struct hot_asked *asked, const struct hot_view *view,
                    uint32_t count)
{
    put_optional(output, "{\"service\":", bytes_of(view->service));
    put_optional(output, ",\"rule\":", bytes_of(view->rule));
    put_optional(output, ",\"tier\":", bytes_of(view->tier));
    put_count(output, ",\"seconds\":", view->over_ns / 1000000000);
    put_count(output, ",\"sampled\":", view->unit);
    put_count(output, ",\"total\":", view->hitters.total * view->unit);
    put_text(output, ",\"keys\":[");
    for (uint32_t i = 0; i < count && i < view->hitters.count; i++) {
        put_text(output, i > 0 ? "," : "");
        put_key(output, asked, view, &view->hitters.at[i]);
    }
    put_text(output, "]}");
}

void http_hot(struct http_call *call)
{
    struct output *body = &call->body;
    struct command_hot words;
    struct hot_asked asked;
    struct hot_view view;
    if (!read_words(call, &words))
        return;
    const size_t row = ROW_HEAD_BYTES + (size_t)words.count * ROW_KEY_BYTES + END_BYTES;
    ask_hot(call->http->commands, &words, call->turn.now_ns, &asked);
    call->work += command_table[COMMAND_HOT].work;
    put_text(body, words.asked ? "{\"by\":\"asked\"" : "{\"by\":\"refused\"");
    put_text(body, words.hours ? ",\"over\":\"hours\",\"rules\":[" : ",\"over\":\"minutes\",\"rules\":[");
    for (uint32_t rows = 0; output_has_room(body, row) && ask_hot_next(&asked, &view); rows++) {
        put_text(body, rows > 0 ? "," : "");
        put_row(body, &asked, &view, words.count);
    }
    put_text(body, "]}\n");
}
