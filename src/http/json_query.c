#include "http/json_query.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *option; /* of the commands; NULL: it is read on its own */
    unsigned taken_with;
} members[] = {
    {"service_id", "service", JSON_TAKES_IDS},
    {"endpoint", "endpoint", JSON_TAKES_IDS},
    {"tier", "tier", JSON_TAKES_IDS},
    {"priority", "priority", JSON_TAKES_IDS},
    {"rule", "rule", JSON_TAKES_IDS},
    {"identifiers", NULL, JSON_TAKES_IDS},
    {"cost", "cost", JSON_TAKES_COST},
    {"costs", NULL, JSON_TAKES_COSTS},
    {"ttl_ms", "ttl", JSON_TAKES_TTL},
    {"verbose", NULL, JSON_TAKES_VERBOSE},
    {"reservation", NULL, JSON_TAKES_RESERVATION},
    {"idempotency_key", NULL, JSON_TAKES_KEY},
    {"drain", NULL, JSON_TAKES_DRAIN},
    {"patience_ms", "patience", JSON_TAKES_PATIENCE},
};
enum { MEMBERS = sizeof members / sizeof members[0] };

static bool fail(struct json_query *out, const char *prefix, const char *field, const char *error)
{
    (void)snprintf(out->field, sizeof out->field, "%s%s", prefix, field);
    if (error != NULL)
        (void)snprintf(out->error, sizeof out->error, "%s", error);
    return false;
}

/* A text, or a whole number as its digits. False: it is neither. */
static bool text_of(json_t *value, struct output *numbers, struct bytes *text)
{
    if (json_is_string(value)) {
        *text = (struct bytes){json_string_value(value), json_string_length(value)};
        return true;
    }
    if (!json_is_integer(value))
        return false;
    char digits[32];
    const int size = snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
    const size_t begun = numbers->size;
    output_append(numbers, digits, (size_t)size);
    *text = (struct bytes){numbers->data + begun, numbers->size - begun};
    return !numbers->overflowed;
}

static bool read_ids(struct json_query *out, json_t *value, struct output *numbers)
{
    const char *dimension;
    json_t *id;
    if (!json_is_object(value))
        return fail(out, "", "identifiers", "identifiers: expected an object, e.g. {\"user\": \"alice\"}");
    json_object_foreach(value, dimension, id)
    {
        struct bytes text;
        if (json_is_null(id))
            continue;
        if (!text_of(id, numbers, &text))
            return fail(out, "identifiers.", dimension, "expected a text or a whole number");
        if (!command_query_add_id(&out->query, bytes_of(dimension), text, out->error))
            return fail(out, "identifiers.", dimension, NULL);
    }
    return true;
}

static bool read_costs(struct json_query *out, json_t *value, struct output *numbers)
{
    const char *name;
    json_t *cost;
    if (!json_is_object(value))
        return fail(out, "", "costs", "costs: expected an object, e.g. {\"bytes\": 1500}");
    json_object_foreach(value, name, cost)
    {
        struct bytes text;
        if (!json_is_integer(cost) || !text_of(cost, numbers, &text))
            return fail(out, "costs.", name, "expected a whole number");
        if (!command_query_add_cost(&out->query, bytes_of(name), text, out->error))
            return fail(out, "costs.", name, NULL);
    }
    return true;
}

static bool read_option(struct json_query *out, unsigned index, json_t *value, struct output *numbers)
{
    const char *name = members[index].name;
    const unsigned numbered = JSON_TAKES_COST | JSON_TAKES_TTL | JSON_TAKES_PATIENCE;
    const bool number = (members[index].taken_with & numbered) != 0;
    struct bytes text;
    if (number ? !json_is_integer(value) : !json_is_string(value))
        return fail(out, "", name, number ? "expected a whole number" : "expected a text");
    if (!text_of(value, numbers, &text))
        return fail(out, "", name, "the body has too many numbers");
    return command_query_set(&out->query, bytes_of(members[index].option), text,
                             QUERY_COST | QUERY_TTL | QUERY_PATIENCE, out->error) ||
           fail(out, "", name, NULL);
}

static bool read_member(struct json_query *out, unsigned index, json_t *value, struct output *numbers)
{
    const char *name = members[index].name;
    if (json_is_null(value))
        return true;
    if (members[index].option != NULL)
        return read_option(out, index, value, numbers);
    if (members[index].taken_with == JSON_TAKES_IDS)
        return read_ids(out, value, numbers);
    if (members[index].taken_with == JSON_TAKES_COSTS)
        return read_costs(out, value, numbers);
    if (members[index].taken_with == JSON_TAKES_VERBOSE || members[index].taken_with == JSON_TAKES_DRAIN) {
        *(members[index].taken_with == JSON_TAKES_DRAIN ? &out->query.drain : &out->verbose) = json_is_true(value);
        return json_is_boolean(value) || fail(out, "", name, "expected true or false");
    }
    const bool is_key = members[index].taken_with == JSON_TAKES_KEY;
    if (!json_is_string(value))
        return fail(out, "", name, is_key ? "expected a text" : "expected the text that /v1/reserve gave");
    *(is_key ? &out->idempotency_key : &out->reservation) =
        (struct bytes){json_string_value(value), json_string_length(value)};
    return true;
}

static bool fail_unknown(struct json_query *out, const char *name, unsigned takes)
{
    char known[COMMAND_ERROR_BYTES - 40] = "";
    size_t size = 0;
    for (unsigned i = 0; i < MEMBERS; i++)
        if ((members[i].taken_with & takes) != 0)
            size +=
                (size_t)snprintf(known + size, sizeof known - size, "%s%s", size > 0 ? ", " : "", members[i].name);
    (void)snprintf(out->error, sizeof out->error, "unknown name: expected one of %s", known);
    return fail(out, "", name, NULL);
}

static bool is_there(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return value != NULL && !json_is_null(value);
}

bool json_query_read(struct json_query *out, json_t *object, unsigned takes, struct output *numbers)
{
    const char *name;
    json_t *value;
    command_query_clear(&out->query);
    out->query.any_cost = (takes & JSON_TAKES_COST) == 0;
    out->verbose = false;
    out->reservation = out->idempotency_key = (struct bytes){0};
    out->field[0] = out->error[0] = '\0';
    if (!json_is_object(object))
        return fail(out, "", "", "expected a JSON object");
    json_object_foreach(object, name, value)
    {
        unsigned index = 0;
        while (index < MEMBERS &&
               ((members[index].taken_with & takes) == 0 || strcmp(name, members[index].name) != 0))
            index++;
        if (index == MEMBERS)
            return fail_unknown(out, name, takes);
        if (!read_member(out, index, value, numbers))
            return false;
    }
    if (out->query.drain && out->query.cost_count > 0)
        return fail(out, "", "costs", "not with drain: expected a plain cost, of which a part may be taken");
    if ((takes & JSON_TAKES_IDS) != 0 && out->query.id_count == 0)
        return fail(out, "", "identifiers", "no identifier: expected one at least, e.g. {\"user\": \"alice\"}");
    if ((takes & JSON_TAKES_TTL) != 0 && !is_there(object, "ttl_ms"))
        return fail(out, "", "ttl_ms", "expected milliseconds, after which what is reserved comes back");
    if ((takes & JSON_TAKES_RESERVATION) != 0 && !is_there(object, "reservation"))
        return fail(out, "", "reservation", "expected the text that /v1/reserve gave");
    if ((takes & JSON_NEEDS_COST) != 0 && !is_there(object, "cost"))
        return fail(out, "", "cost", "expected what the request cost in the end");
    return true;
}
