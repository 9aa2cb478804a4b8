/*
 * headgate check, peek, explain, info and forget: one request each, printed for people or as JSON.
 */
#include "base/units.h"
#include "operator/command.h"
#include "operator/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

enum {
    IDS_BYTES = 1024,
    LABEL_BYTES = 64,
    REASON_BYTES = 32,
    FIGURES = 6, /* of an answer to CHECK; what VERBOSE adds follows */
};

/* ---- check, peek ---- */

/* Writes "user=alice ip=1.2.3.4"; returns `out`. */
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

size_t command_request_words(const struct invocation *invocation, const char *command, const char *digits,
                             const char *words[COMMAND_REQUEST_WORDS_MAX])
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

/* What the daemon said, and the reason of the rule that decided; "": none did. */
struct asked {
    struct headgate_client_verdict verdict;
    char reason[REASON_BYTES];
    bool over_limit; /* a soft rule decided, which allows what is over its limit */
};

/* The value of a name in a flat array of names and values; "": it has none. */
static const char *value_of(const struct headgate_reply *row, const char *name)
{
    for (uint32_t i = 0; row && i + 1 < row->count; i += 2) {
        const struct headgate_reply *key = headgate_reply_at(row, i), *value = headgate_reply_at(row, i + 1);
        if (key->kind == HEADGATE_REPLY_TEXT && strcmp(key->text, name) == 0)
            return value->kind == HEADGATE_REPLY_TEXT ? value->text : "";
    }
    return "";
}

/* Reads an answer with VERBOSE: the figures, and then what each rule says. */
static bool read_asked(const struct headgate_reply *reply, struct asked *asked)
{
    const struct headgate_reply *rules = headgate_reply_at(reply, FIGURES);
    if (!headgate_client_read_verdict(reply, &asked->verdict))
        return false;
    for (uint32_t i = 0; rules && i < rules->count; i++) {
        const struct headgate_reply *row = headgate_reply_at(rules, i);
        if (strcmp(value_of(row, "rule"), asked->verdict.rule) != 0)
            continue;
        (void)snprintf(asked->reason, sizeof asked->reason, "%s", value_of(row, "reason"));
        asked->over_limit = asked->verdict.allowed && strcmp(value_of(row, "mode"), "soft") == 0 &&
                            strcmp(asked->reason, "allowed") != 0;
    }
    return true;
}

static void print_verdict(const struct invocation *invocation, const struct asked *asked)
{
    const struct headgate_client_verdict *verdict = &asked->verdict;
    char retry[UNITS_TEXT_BYTES], reset[UNITS_TEXT_BYTES], ids[IDS_BYTES];
    printf("%s  %s", verdict->allowed ? "allowed" : "refused", ids_text(invocation, ids, sizeof ids));
    if (verdict->limit == HEADGATE_CLIENT_UNLIMITED) {
        printf(": nothing limits it\n");
        return;
    }
    printf("%s %s: ", asked->over_limit ? ", over the limit of" : " under", verdict->rule);
    if (verdict->limit == 0) {
        printf("by its deny list, or a limit of 0\n");
        return;
    }
    printf("%" PRIu64 " of %" PRIu64 " left", verdict->remaining, verdict->limit);
    if (!verdict->allowed && verdict->retry_after_ms < 0)
        printf(", never at this cost");
    else if (!verdict->allowed)
        printf(", try again in %s", command_duration(retry, verdict->retry_after_ms));
    if (verdict->reset_after_ms > 0)
        printf(", full in %s", command_duration(reset, verdict->reset_after_ms));
    if ((!verdict->allowed || asked->over_limit) && asked->reason[0])
        printf(" (%s)", asked->reason);
    printf("\n");
}

static void print_verdict_json(const struct invocation *invocation, const struct asked *asked)
{
    const struct headgate_client_verdict *verdict = &asked->verdict;
    struct json json;
    char ids[IDS_BYTES];
    json_begin(&json, stdout, '{');
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
    json_optional(&json, "reason", asked->reason);
    json_bool(&json, "over_limit", asked->over_limit);
    json_close(&json, '}');
}

static int ask(const struct invocation *invocation, bool spend)
{
    int failure;
    struct headgate_client *client =
        command_connect(invocation->name, invocation->at, invocation->timeout_ms, &invocation->access, &failure);
    if (!client)
        return failure;
    struct asked asked = {.reason = ""};
    const struct headgate_reply *reply;
    char digits[24];
    const char *words[COMMAND_REQUEST_WORDS_MAX + 1];
    (void)snprintf(digits, sizeof digits, "%" PRIu64, invocation->cost);
    size_t count = command_request_words(invocation, spend ? "CHECK" : "PEEK", digits, words);
    words[count++] = "VERBOSE";
    enum headgate_client_status status = headgate_client_command(client, count, words, NULL, &reply);
    const bool understood = status == HEADGATE_CLIENT_OK && read_asked(reply, &asked);
    if (status != HEADGATE_CLIENT_OK)
        failure = command_failed(invocation->name, client, status);
    headgate_client_destroy(&client);
    if (status != HEADGATE_CLIENT_OK)
        return failure;
    if (!understood)
        return command_unexpected(invocation->name, invocation->at);
    (invocation->json ? print_verdict_json : print_verdict)(invocation, &asked);
    return asked.verdict.allowed ? 0 : 1;
}

int command_check(const struct invocation *invocation)
{
    return ask(invocation, true);
}

int command_peek(const struct invocation *invocation)
{
    return ask(invocation, false);
}

/* ---- explain, info, forget ---- */

/* Takes the next line of a text, without its end. False: there is none. */
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

/* Splits a line "label   value" with at least two spaces between; blanks in the label become _.
 * False: the line has another form. */
static bool split_label(struct bytes line, char label[LABEL_BYTES], struct bytes *value)
{
    const char *gap = memmem(line.data, line.size, "  ", 2);
    size_t size = gap ? (size_t)(gap - line.data) : 0;
    if (size == 0 || size >= LABEL_BYTES)
        return false;
    for (size_t i = 0; i < size; i++)
        label[i] = line.data[i] == ' ' ? '_' : line.data[i];
    label[size] = '\0';
    size_t at = size;
    while (at < line.size && line.data[at] == ' ')
        at++;
    *value = (struct bytes){line.data + at, line.size - at};
    return true;
}

/* Prints each paragraph, which begins with a sentence, as an object: "about", then the labelled
 * values. */
static void print_paragraphs(struct json *json, const char *text)
{
    char label[LABEL_BYTES];
    struct bytes value;
    bool open = false;
    for (struct bytes line; next_line(&text, &line);) {
        bool labelled = split_label(line, label, &value);
        if (open && labelled)
            json_text(json, label, value.data, value.size);
        else if (open && line.size == 0)
            json_close(json, '}');
        else if (!open && line.size > 0 && !labelled) {
            json_open(json, NULL, '{');
            json_text(json, "about", line.data, line.size);
        }
        open = line.size > 0 && (open || !labelled);
    }
    if (open)
        json_close(json, '}');
}

static void print_labelled(struct json *json, const char *name, const char *text, const char *wanted)
{
    char label[LABEL_BYTES];
    struct bytes value;
    for (struct bytes line; next_line(&text, &line);)
        if (split_label(line, label, &value) && strcmp(label, wanted) == 0)
            json_text(json, name, value.data, value.size);
}

static void print_explanation(const struct invocation *invocation, const struct headgate_reply *reply)
{
    if (!invocation->json) {
        printf("%s%s", reply->text, reply->size > 0 && reply->text[reply->size - 1] == '\n' ? "" : "\n");
        return;
    }
    struct json json;
    char ids[IDS_BYTES];
    json_begin(&json, stdout, '{');
    json_string(&json, "id", ids_text(invocation, ids, sizeof ids));
    json_open(&json, "rules", '[');
    print_paragraphs(&json, reply->text);
    json_close(&json, ']');
    json_open(&json, "elsewhere", '[');
    print_labelled(&json, NULL, reply->text, "elsewhere");
    json_close(&json, ']');
    print_labelled(&json, "looked_at", reply->text, "looked_at");
    json_close(&json, '}');
}

int command_explain(const struct invocation *invocation)
{
    const char *words[COMMAND_REQUEST_WORDS_MAX];
    size_t count = command_request_words(invocation, "EXPLAIN", NULL, words);
    return command_exchange(invocation, words, count, HEADGATE_REPLY_TEXT, print_explanation);
}

/* Prints a number as a number and everything else as a text. */
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

/* Prints INFO as JSON: "# Section" opens an object, "key:value" is a member. */
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
    json_begin(&json, stdout, '{');
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

/* The reply has "# Section", or the word asks for all of them. */
static bool has_section(const char *reply, const char *word)
{
    static const char *const all[] = {"all", "default", "everything"};
    struct bytes line;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcasecmp(word, all[i]) == 0)
            return true;
    while (next_line(&reply, &line))
        if (line.size == strlen(word) + 2 && line.data[0] == '#' &&
            strncasecmp(line.data + 2, word, line.size - 2) == 0)
            return true;
    return false;
}

/* Daemons pass over sections that they do not know, as Redis does. A person is told. */
static int check_sections(const struct invocation *invocation, const struct headgate_reply *reply)
{
    int status = EX_OK;
    for (uint32_t i = 0; i < invocation->word_count && status == EX_OK; i++)
        if (!has_section(reply->text, invocation->word[i])) {
            fprintf(stderr, "headgate info: \"%s\" is no section: expected some of " COMMAND_INFO_SECTIONS "\n",
                    invocation->word[i]);
            status = EX_USAGE;
        }
    return status;
}

int command_info(const struct invocation *invocation)
{
    const char *words[COMMAND_WORDS_MAX + 1] = {"INFO"};
    for (uint32_t i = 0; i < invocation->word_count; i++)
        words[i + 1] = invocation->word[i];
    return command_exchange_checked(invocation, words, invocation->word_count + 1, HEADGATE_REPLY_TEXT,
                                    check_sections, print_info);
}

static void print_forgotten(const struct invocation *invocation, const struct headgate_reply *reply)
{
    const bool waits = strcmp(reply->text, "WAITS") == 0;
    struct json json;
    if (!invocation->json) {
        printf(
            waits ? "not forgotten yet: %s; this daemon has been told so, and forget: majority takes more of them: "
                    "say it to each daemon that is left\n"
                  : "forgotten: %s\n",
            invocation->word[0]);
        return;
    }
    json_begin(&json, stdout, '{');
    json_string(&json, "forgotten", invocation->word[0]);
    json_bool(&json, "waits", waits);
    json_close(&json, '}');
}

int command_forget(const struct invocation *invocation)
{
    const char *words[2] = {"FORGET", invocation->word[0]};
    return command_exchange(invocation, words, 2, HEADGATE_REPLY_STATUS, print_forgotten);
}
