/*
 * check, peek, explain, nodes, info, forget: one request each, printed for people or as JSON.
 */
#include "base/units.h"
#include "operator/command.h"
#include "operator/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
    REQUEST_WORDS_MAX = 1 + COMMAND_WORDS_MAX + 12, /* ids, and six options */
    IDS_BYTES = 1024,
};

int command_failed(const char *name, const struct headgate_client *client, enum headgate_client_status status)
{
    fprintf(stderr, "headgate %s: %s\n", name, headgate_client_message(client));
    switch (status) {
    case HEADGATE_CLIENT_OK:
    case HEADGATE_CLIENT_AGAIN:
        break;
    case HEADGATE_CLIENT_USAGE:
    case HEADGATE_CLIENT_FULL:
        return EX_USAGE;
    case HEADGATE_CLIENT_UNREACHABLE:
    case HEADGATE_CLIENT_TIMEOUT:
    case HEADGATE_CLIENT_CLOSED:
        return EX_UNAVAILABLE;
    case HEADGATE_CLIENT_PROTOCOL:
        return EX_PROTOCOL;
    case HEADGATE_CLIENT_REFUSED:
        return EX_DATAERR;
    }
    return EX_SOFTWARE;
}

struct headgate_client *command_connect(const char *name, const char *at, uint32_t timeout_ms, int *status)
{
    struct headgate_client_options options = {.address = at, .timeout_ms = timeout_ms, .reply_elements_max = 16384};
    struct headgate_client *client = headgate_client_create(&options);
    if (!client) {
        fprintf(stderr, "headgate %s: not enough memory\n", name);
        *status = EX_OSERR;
        return NULL;
    }
    const char *password = getenv("HEADGATE_PASSWORD"), *words[2] = {"AUTH", password};
    const struct headgate_reply *reply;
    enum headgate_client_status reached = headgate_client_connect(client);
    if (reached == HEADGATE_CLIENT_OK && password && password[0])
        reached = headgate_client_command(client, 2, words, NULL, &reply);
    if (reached == HEADGATE_CLIENT_OK)
        return client;
    *status = command_failed(name, client, reached);
    headgate_client_destroy(&client);
    return NULL;
}

/* ---- check, peek ---- */

static const char *duration_text(char out[UNITS_TEXT_BYTES], int64_t ms)
{
    return units_format_duration_short(out, UNITS_TEXT_BYTES, (uint64_t)(ms < 0 ? 0 : ms) * 1000000);
}

/* "user=alice ip=1.2.3.4" */
static const char *ids_text(const struct invocation *invocation, char *out, size_t room)
{
    size_t size = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < invocation->word_count && size < room; i++) {
        int written = snprintf(out + size, room - size, "%s%s", i > 0 ? " " : "", invocation->word[i]);
        size += written > 0 ? (size_t)written : 0;
    }
    return out;
}

/* The words of a request about ids: its command, the ids, and what else was given. The cost only if `digits`. */
static size_t request_words(const struct invocation *invocation, const char *command, const char *digits,
                            const char *words[REQUEST_WORDS_MAX])
{
    const struct {
        const char *name, *value;
    } options[] = {{"COST", digits},
                   {"SERVICE", invocation->service},
                   {"ENDPOINT", invocation->endpoint},
                   {"TIER", invocation->tier},
                   {"PRIORITY", invocation->priority},
                   {"RULE", invocation->rule}};
    size_t count = 0;
    words[count++] = command;
    for (uint32_t i = 0; i < invocation->word_count; i++)
        words[count++] = invocation->word[i];
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].value) {
            words[count++] = options[i].name;
            words[count++] = options[i].value;
        }
    return count;
}

static void print_verdict(const struct invocation *invocation, const struct headgate_client_verdict *verdict)
{
    char retry[UNITS_TEXT_BYTES], reset[UNITS_TEXT_BYTES], ids[IDS_BYTES];
    printf("%s  %s", verdict->allowed ? "allowed" : "refused", ids_text(invocation, ids, sizeof ids));
    if (verdict->limit == HEADGATE_CLIENT_UNLIMITED) {
        printf(": nothing limits it\n");
        return;
    }
    if (verdict->limit == 0) { /* no limit is 0 */
        printf(" under %s: on its deny list\n", verdict->rule);
        return;
    }
    printf(" under %s: %" PRIu64 " of %" PRIu64 " left", verdict->rule, verdict->remaining, verdict->limit);
    if (!verdict->allowed && verdict->retry_after_ms < 0)
        printf(", never at this cost");
    else if (!verdict->allowed)
        printf(", try again in %s", duration_text(retry, verdict->retry_after_ms));
    if (verdict->reset_after_ms > 0)
        printf(", full in %s", duration_text(reset, verdict->reset_after_ms));
    printf("\n");
}

static void print_verdict_json(const struct invocation *invocation, const struct headgate_client_verdict *verdict)
{
    struct json json;
    char ids[IDS_BYTES];
    json_init(&json, stdout);
    json_open(&json, NULL, '{');
    json_string(&json, "id", ids_text(invocation, ids, sizeof ids));
    json_bool(&json, "allowed", verdict->allowed);
    json_string(&json, "rule", verdict->rule);
    if (verdict->limit == HEADGATE_CLIENT_UNLIMITED) {
        json_null(&json, "limit");
        json_null(&json, "remaining");
    } else {
        json_count(&json, "limit", verdict->limit);
        json_count(&json, "remaining", verdict->remaining);
    }
    json_integer(&json, "retry_after_ms", verdict->retry_after_ms);
    json_integer(&json, "reset_after_ms", verdict->reset_after_ms);
    json_close(&json, '}');
}

static int ask(const struct invocation *invocation, bool spend)
{
    int failure;
    struct headgate_client *client =
        command_connect(invocation->name, invocation->at, invocation->timeout_ms, &failure);
    if (!client)
        return failure;
    struct headgate_client_verdict verdict;
    char digits[24];
    const char *words[REQUEST_WORDS_MAX];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, invocation->cost);
    size_t count = request_words(invocation, spend ? "CHECK" : "PEEK", digits, words);
    enum headgate_client_status status = headgate_client_ask(client, count, words, &verdict);
    if (status != HEADGATE_CLIENT_OK)
        failure = command_failed(invocation->name, client, status);
    headgate_client_destroy(&client);
    if (status != HEADGATE_CLIENT_OK)
        return failure;
    (invocation->json ? print_verdict_json : print_verdict)(invocation, &verdict);
    return verdict.allowed ? 0 : 1;
}

int command_check(const struct invocation *invocation)
{
    return ask(invocation, true);
}

int command_peek(const struct invocation *invocation)
{
    return ask(invocation, false);
}

/* ---- the others: one command, one reply of an expected kind ---- */

static int exchange(const struct invocation *invocation, const char *const *words, size_t count,
                    enum headgate_reply_kind expected,
                    void (*print)(const struct invocation *, const struct headgate_reply *))
{
    int failure;
    struct headgate_client *client =
        command_connect(invocation->name, invocation->at, invocation->timeout_ms, &failure);
    if (!client)
        return failure;
    const struct headgate_reply *reply;
    enum headgate_client_status status = headgate_client_command(client, count, words, NULL, &reply);
    if (status != HEADGATE_CLIENT_OK) {
        failure = command_failed(invocation->name, client, status);
    } else if (reply->kind != expected) {
        fprintf(stderr, "headgate %s: %s answered in a form that was not expected: is it a headgate daemon?\n",
                invocation->name, invocation->at);
        failure = EX_PROTOCOL;
    } else {
        print(invocation, reply);
        failure = EX_OK;
    }
    headgate_client_destroy(&client);
    return failure;
}

/* The next line of a text, without its end; false after the last. */
static bool next_line(const char **text, struct bytes *line)
{
    if (!**text)
        return false;
    size_t size = strcspn(*text, "\r\n");
    *line = (struct bytes){*text, size};
    *text += size;
    *text += **text == '\r';
    *text += **text == '\n';
    return true;
}

/* "label   value" lines, two spaces or more between them, after a first line that says what it is about. */
static void print_explanation(const struct invocation *invocation, const struct headgate_reply *reply)
{
    if (!invocation->json) {
        printf("%s%s", reply->text, reply->size > 0 && reply->text[reply->size - 1] == '\n' ? "" : "\n");
        return;
    }
    struct json json;
    json_init(&json, stdout);
    json_open(&json, NULL, '{');
    char ids[IDS_BYTES];
    json_string(&json, "id", ids_text(invocation, ids, sizeof ids));
    const char *text = reply->text;
    for (struct bytes line; next_line(&text, &line);) {
        char label[64];
        const char *gap = memmem(line.data, line.size, "  ", 2);
        size_t label_size = gap ? (size_t)(gap - line.data) : 0;
        if (label_size == 0 || label_size >= sizeof label) {
            if (line.data == reply->text)
                json_text(&json, "about", line.data, line.size);
            continue;
        }
        for (size_t i = 0; i < label_size; i++)
            label[i] = line.data[i] == ' ' ? '_' : line.data[i];
        label[label_size] = '\0';
        const char *value = gap + strspn(gap, " ");
        json_text(&json, label, value, (size_t)(line.data + line.size - value));
    }
    json_close(&json, '}');
}

int command_explain(const struct invocation *invocation)
{
    const char *words[REQUEST_WORDS_MAX];
    size_t count = request_words(invocation, "EXPLAIN", NULL, words);
    return exchange(invocation, words, count, HEADGATE_REPLY_TEXT, print_explanation);
}

/* Numbers as numbers, everything else as text. */
static void json_field(struct json *json, const char *name, struct bytes value)
{
    char *end, number[32];
    if (value.size > 0 && value.size < sizeof number && strspn(value.data, "-0123456789.") >= value.size) {
        memcpy(number, value.data, value.size);
        number[value.size] = '\0';
        long long integer = strtoll(number, &end, 10);
        if (*end == '\0' && value.size < 19) {
            json_integer(json, name, integer);
            return;
        }
        double real = strtod(number, &end);
        if (*end == '\0' && value.size < 19) {
            json_number(json, name, real);
            return;
        }
    }
    json_text(json, name, value.data, value.size);
}

/* "# Section" opens an object, "key:value" is a member. */
static void print_info(const struct invocation *invocation, const struct headgate_reply *reply)
{
    const char *text = reply->text;
    struct json json;
    struct bytes line;
    bool in_section = false;
    if (!invocation->json) {
        while (next_line(&text, &line))
            printf("%.*s\n", (int)line.size, line.data);
        return;
    }
    json_init(&json, stdout);
    json_open(&json, NULL, '{');
    while (next_line(&text, &line)) {
        char name[128];
        const char *colon = memchr(line.data, ':', line.size);
        if (line.size > 2 && line.data[0] == '#') {
            (void)snprintf(name, sizeof name, "%.*s", (int)line.size - 2, line.data + 2);
            if (in_section)
                json_close(&json, '}');
            json_open(&json, name, '{');
            in_section = true;
        } else if (colon && in_section) {
            (void)snprintf(name, sizeof name, "%.*s", (int)(colon - line.data), line.data);
            json_field(&json, name, (struct bytes){colon + 1, (size_t)(line.data + line.size - colon - 1)});
        }
    }
    if (in_section)
        json_close(&json, '}');
    json_close(&json, '}');
}

int command_info(const struct invocation *invocation)
{
    const char *words[COMMAND_WORDS_MAX + 1] = {"INFO"};
    for (uint32_t i = 0; i < invocation->word_count; i++)
        words[i + 1] = invocation->word[i];
    return exchange(invocation, words, invocation->word_count + 1, HEADGATE_REPLY_TEXT, print_info);
}

static void print_forgotten(const struct invocation *invocation, const struct headgate_reply *reply)
{
    struct json json;
    (void)reply;
    if (!invocation->json) {
        printf("forgotten: %s\n", invocation->word[0]);
        return;
    }
    json_init(&json, stdout);
    json_open(&json, NULL, '{');
    json_string(&json, "forgotten", invocation->word[0]);
    json_close(&json, '}');
}

int command_forget(const struct invocation *invocation)
{
    const char *words[2] = {"FORGET", invocation->word[0]};
    return exchange(invocation, words, 2, HEADGATE_REPLY_STATUS, print_forgotten);
}

const struct headgate_reply *command_member(const struct headgate_reply *map, const char *name)
{
    for (uint32_t i = 0; i + 1 < map->count; i += 2) {
        const struct headgate_reply *key = headgate_reply_at(map, i);
        if (key->kind == HEADGATE_REPLY_TEXT && strcmp(key->text, name) == 0)
            return headgate_reply_at(map, i + 1);
    }
    return NULL;
}

int64_t command_member_integer(const struct headgate_reply *map, const char *name)
{
    const struct headgate_reply *value = command_member(map, name);
    return value && value->kind == HEADGATE_REPLY_INTEGER ? value->integer : 0;
}

const char *command_member_text(const struct headgate_reply *map, const char *name)
{
    const struct headgate_reply *value = command_member(map, name);
    return value && value->kind == HEADGATE_REPLY_TEXT ? value->text : "";
}

enum { NODES_COLUMNS = 9, NODES_CELL_BYTES = 64 };

static void fill_row(const struct headgate_reply *node, char cell[NODES_COLUMNS][NODES_CELL_BYTES])
{
    bool self = command_member_integer(node, "self") != 0;
    int64_t heard_ms = command_member_integer(node, "heard_ago_ms");
    uint64_t round_trip_ns = (uint64_t)command_member_integer(node, "round_trip_us") * 1000;
    char text[UNITS_TEXT_BYTES];
    (void)snprintf(cell[0], NODES_CELL_BYTES, "%s%s", command_member_text(node, "node"), self ? " *" : "");
    (void)snprintf(cell[1], NODES_CELL_BYTES, "%s", command_member_text(node, "region"));
    (void)snprintf(cell[2], NODES_CELL_BYTES, "%s", command_member_text(node, "state"));
    (void)snprintf(cell[3], NODES_CELL_BYTES, "%.2f%%", strtod(command_member_text(node, "share"), NULL) * 100);
    (void)snprintf(cell[4], NODES_CELL_BYTES, "%s%s",
                   self           ? "-"
                   : heard_ms < 0 ? "never"
                                  : duration_text(text, heard_ms),
                   self || heard_ms < 0 ? "" : " ago");
    (void)snprintf(cell[5], NODES_CELL_BYTES, "%s",
                   round_trip_ns ? units_format_duration_short(text, sizeof text, round_trip_ns) : "-");
    (void)snprintf(cell[6], NODES_CELL_BYTES, "%" PRId64, command_member_integer(node, "lag_batches"));
    (void)snprintf(cell[7], NODES_CELL_BYTES, "%" PRId64, command_member_integer(node, "log_batches"));
    (void)snprintf(cell[8], NODES_CELL_BYTES, "%s",
                   command_member_integer(node, "config_differs") ? "DIFFERS" : "same");
}

static void print_nodes_table(const struct headgate_reply *nodes)
{
    enum { ROWS_MAX = 65 };
    static char cell[ROWS_MAX][NODES_COLUMNS][NODES_CELL_BYTES] = {
        {"NODE", "REGION", "STATE", "SHARE", "HEARD", "ROUND TRIP", "LAG", "LOG", "CONFIG"}};
    static const bool right[NODES_COLUMNS] = {[3] = true, [4] = true, [5] = true, [6] = true, [7] = true};
    int width[NODES_COLUMNS] = {0};
    uint32_t rows = nodes->count < ROWS_MAX - 1 ? nodes->count + 1 : ROWS_MAX;
    for (uint32_t i = 1; i < rows; i++)
        fill_row(headgate_reply_at(nodes, i - 1), cell[i]);
    for (uint32_t i = 0; i < rows; i++)
        for (int c = 0; c < NODES_COLUMNS; c++)
            width[c] = (int)strlen(cell[i][c]) > width[c] ? (int)strlen(cell[i][c]) : width[c];
    for (uint32_t i = 0; i < rows; i++)
        for (int c = 0; c < NODES_COLUMNS; c++) {
            bool last = c == NODES_COLUMNS - 1;
            printf("%*s%s", last ? 0 : right[c] ? width[c] : -width[c], cell[i][c], last ? "\n" : "  ");
        }
}

static void print_nodes(const struct invocation *invocation, const struct headgate_reply *nodes)
{
    if (!invocation->json) {
        print_nodes_table(nodes);
        return;
    }
    struct json json;
    json_init(&json, stdout);
    json_open(&json, NULL, '[');
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct headgate_reply *node = headgate_reply_at(nodes, i);
        json_open(&json, NULL, '{');
        for (uint32_t k = 0; k + 1 < node->count; k += 2) {
            const struct headgate_reply *key = headgate_reply_at(node, k), *value = headgate_reply_at(node, k + 1);
            if (key->kind != HEADGATE_REPLY_TEXT)
                continue;
            if (strcmp(key->text, "self") == 0 || strcmp(key->text, "config_differs") == 0)
                json_bool(&json, key->text, value->integer != 0);
            else if (value->kind == HEADGATE_REPLY_INTEGER)
                json_integer(&json, key->text, value->integer);
            else if (value->kind == HEADGATE_REPLY_TEXT && strcmp(key->text, "share") == 0)
                json_number(&json, key->text, strtod(value->text, NULL));
            else if (value->kind == HEADGATE_REPLY_TEXT)
                json_text(&json, key->text, value->text, value->size);
        }
        json_close(&json, '}');
    }
    json_close(&json, ']');
}

int command_nodes(const struct invocation *invocation)
{
    static const char *const words[1] = {"NODES"};
    return exchange(invocation, words, 1, HEADGATE_REPLY_ARRAY, print_nodes);
}
