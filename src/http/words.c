#include "http/words.h"

#include "http/query.h"

#include <stdio.h>
#include <string.h>

/* Names that are no dimensions, and the options of the commands that they are. */
#define NAME(name, option)                                                                                         \
    {                                                                                                              \
        {name, sizeof name - 1}, option                                                                            \
    }
static const struct {
    struct bytes name;
    const char *option;
} names[] = {
    NAME("service_id", "service"),   NAME("endpoint", "endpoint"), NAME("tier", "tier"),
    NAME("priority", "priority"),    NAME("cost", "cost"),         NAME("rule", "rule"),
    NAME("patience_ms", "patience"),
};
#define COST_PREFIX "cost."
enum { NAMES = sizeof names / sizeof names[0], SAID_DENIED = 1 << NAMES };

void http_words_init(struct http_words *words, struct command_query *query, const struct hash_key *hash_key,
                     enum path_spelling spelling, struct output *decoded)
{
    words->query = query;
    words->hash_key = hash_key;
    words->spelling = spelling;
    words->decoded = decoded;
    command_query_clear(query);
    words->denied_status = 0;
    words->said = 0;
    words->field[0] = words->error[0] = '\0';
}

static bool fail(struct http_words *words, struct bytes name, const char *error)
{
    const size_t size = name.size < sizeof words->field - 1 ? name.size : sizeof words->field - 1;
    if (size > 0)
        memcpy(words->field, name.data, size);
    words->field[size] = '\0';
    if (error != NULL)
        (void)snprintf(words->error, sizeof words->error, "%s", error);
    return false;
}

static bool is(struct bytes name, const char *text)
{
    return bytes_equal(name, bytes_of(text));
}

/* "cost.bytes" is the cost that rules count by the name "bytes". */
static bool is_named_cost(struct bytes name)
{
    return name.size > sizeof COST_PREFIX - 1 && memcmp(name.data, COST_PREFIX, sizeof COST_PREFIX - 1) == 0;
}

static struct bytes cost_name(struct bytes name)
{
    return (struct bytes){name.data + sizeof COST_PREFIX - 1, name.size - (sizeof COST_PREFIX - 1)};
}

static bool say_denied(struct http_words *words, struct bytes name, struct bytes value)
{
    if ((words->said & SAID_DENIED) != 0)
        return fail(words, name, "denied twice: expected it once");
    words->said |= SAID_DENIED;
    words->denied_status = is(value, "403") ? 403 : is(value, "429") ? 429 : 0;
    return words->denied_status > 0 || fail(words, name, "denied is a status: expected 429 or 403");
}

/* A path that is written otherwise is decoded, so that no shape is learned of it. */
static bool spell(struct http_words *words, struct bytes name, struct bytes *value)
{
    struct output *decoded = words->decoded;
    char *room = decoded->data + decoded->size;
    if (!output_has_room(decoded, PATH_ROOM_BYTES))
        return fail(words, name, "expected a request of fewer bytes");
    *value = path_spell(*value, words->spelling, room);
    if (value->data == room)
        decoded->size += value->size;
    return true;
}

static bool say(struct http_words *words, struct bytes name, struct bytes value)
{
    if (is(name, "endpoint") && !spell(words, name, &value))
        return false;
    if (value.size == 0)
        return true;
    if (is(name, "denied"))
        return say_denied(words, name, value);
    for (unsigned i = 0; i < NAMES; i++) {
        if (!bytes_equal(name, names[i].name))
            continue;
        if ((words->said & 1u << i) != 0)
            return fail(words, name, "said twice: expected it once");
        words->said |= 1u << i;
        return command_query_set(words->query, bytes_of(names[i].option), value, QUERY_COST | QUERY_PATIENCE,
                                 words->error) ||
               fail(words, name, NULL);
    }
    if (is_named_cost(name))
        return command_query_add_cost(words->query, cost_name(name), value, words->error) ||
               fail(words, name, NULL);
    if (words->query->id_count < COMMAND_IDS_MAX)
        command_value_shorten(&value, words->hash_key, words->hashed[words->query->id_count]);
    return command_query_add_id(words->query, name, value, words->error) || fail(words, name, NULL);
}

static bool was_said(const struct http_words *words, struct bytes name)
{
    for (unsigned i = 0; i < NAMES; i++)
        if (bytes_equal(name, names[i].name))
            return (words->said & 1u << i) != 0;
    for (uint32_t i = 0; is_named_cost(name) && i < words->query->cost_count; i++)
        if (bytes_equal(words->query->named_cost[i].name, cost_name(name)))
            return true;
    for (uint32_t i = 0; i < words->query->id_count; i++)
        if (bytes_equal(words->query->id[i].dimension, name))
            return true;
    return false;
}

/* ---- the query ---- */

bool http_words_add_query(struct http_words *words, struct bytes query)
{
    struct http_pair pair;
    while (http_query_next(&query, words->decoded, &pair))
        if (pair.error != NULL ? !fail(words, pair.name, pair.error) : !say(words, pair.name, pair.value))
            return false;
    return true;
}

/* ---- fields of the head ---- */

static struct bytes trimmed(struct bytes text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (struct bytes){text.data + 1, text.size - 1};
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Of a list of addresses the last one, which the gateway that asks has added itself: others may be made up. */
static struct bytes last_of(struct bytes list)
{
    for (size_t i = list.size; i > 0; i--)
        if (list.data[i - 1] == ',')
            return trimmed((struct bytes){list.data + i, list.size - i});
    return trimmed(list);
}

/* The value of a field that stands there once; of an address list that stands there in parts, the last part. */
static bool value_of(struct http_words *words, const struct http_message *message, const char *header,
                     struct bytes *value)
{
    const bool list = strcmp(header, "x-forwarded-for") == 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < message->header_count; i++) {
        if (!http_name_is(message->header[i].name, header))
            continue;
        *value = list ? last_of(message->header[i].value) : trimmed(message->header[i].value);
        count++;
    }
    return count <= 1 || list ||
           fail(words, bytes_of(header), "the header stands there twice: expected it once, from the gateway");
}

bool http_words_add_fields(struct http_words *words, const struct http_message *message,
                           const struct http_settings *settings)
{
    for (uint32_t i = 0; i < settings->source_count; i++) {
        const struct http_source *source = &settings->source[i];
        const struct bytes gives = bytes_of(source->gives);
        struct bytes value = {0};
        if (was_said(words, gives))
            continue;
        if (!value_of(words, message, source->header, &value))
            return false;
        if (!say(words, gives, value))
            return fail(words, bytes_of(source->header), NULL);
    }
    return true;
}

bool http_words_add_endpoint(struct http_words *words, struct bytes path)
{
    return was_said(words, bytes_of("endpoint")) || say(words, bytes_of("endpoint"), path);
}

bool http_words_end(struct http_words *words)
{
    return words->query->id_count > 0 ||
           fail(words, (struct bytes){0}, "no identifier: expected one at least, e.g. user=alice");
}
