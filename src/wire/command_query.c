/*
 * Parses ids and options. Nearly all dimensions are short words of small letters, which are recognised eight
 * characters at a time.
 */
#include "wire/command_query.h"

#include "wire/command_option.h"
#include "wire/command_words.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

/* The characters of a dimension. */
static const bool of_dimension[UCHAR_MAX + 1] = {
    ['-'] = 1, ['.'] = 1, ['_'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,
    ['7'] = 1, ['8'] = 1, ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1, ['G'] = 1,
    ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1, ['O'] = 1, ['P'] = 1, ['Q'] = 1,
    ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1,
    ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,
    ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1, ['u'] = 1,
    ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

/* The number of characters at the start of the word that a dimension may have. */
static size_t clean_size(struct bytes word, size_t known)
{
    while (known < word.size && of_dimension[(unsigned char)word.data[known]])
        known++;
    return known;
}

/* Checks the text before the first '='. Its first `clean` characters are known to be valid. */
static bool check_dimension(struct bytes dimension, size_t clean, char *error)
{
    if (dimension.size == 0)
        return word_fail(error, "nothing before '=' in the id: expected dimension=value, e.g. user=alice");
    if (dimension.size > COMMAND_DIMENSION_MAX_BYTES)
        return word_fail(error, "dimension of %zu bytes: expected at most %d", dimension.size,
                         COMMAND_DIMENSION_MAX_BYTES);
    if (clean == dimension.size)
        return true;
    return word_fail(error,
                     "dimension '%.*s' has characters other than letters, digits, '_', '-' and '.': expected "
                     "dimension=value, e.g. user=a=b for the user a=b",
                     word_shown(dimension), dimension.data);
}

/* The number of small letters at the start of the word, up to eight; may be too low, never too
 * high. */
static inline size_t small_letters(struct bytes word)
{
    const uint64_t each = 0x0101010101010101u;
    uint64_t text;
    if (word.size < sizeof text || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        return 0;
    memcpy(&text, word.data, sizeof text);
    /* The top bit of a character is set if the character is at least 'a', or above 'z'. Carries
     * reach later characters only. */
    uint64_t from_a = text + each * (0x80 - 'a'), above_z = text + each * (0x7f - 'z');
    uint64_t others = ~(from_a & ~above_z & ~text) & each << 7;
    return others == 0 ? sizeof text : (size_t)__builtin_ctzll(others) / 8;
}

static bool parse_id(struct bytes word, struct command_id_words *id, char *error)
{
    size_t clean = clean_size(word, small_letters(word));
    const char *equals = word.data + clean;
    if (clean == word.size)
        equals = NULL;
    else if (*equals != '=')
        equals = memchr(equals, '=', word.size - clean);
    if (equals == NULL) {
        *id = (struct command_id_words){bytes_of("user"), word};
        return word_key(word, error);
    }
    size_t size = (size_t)(equals - word.data);
    *id = (struct command_id_words){{word.data, size}, {equals + 1, word.size - size - 1}};
    return check_dimension(id->dimension, clean, error) && word_key(id->value, error);
}

static bool add_id(struct command_query *query, struct bytes word, unsigned takes, char *error)
{
    struct command_id_words *id = &query->id[query->id_count];
    if (!parse_id(word, id, error))
        return false;
    for (const struct command_id_words *before = query->id; before < id; before++) {
        if (!bytes_equal(before->dimension, id->dimension))
            continue;
        if (id->value.data == word.data)
            /* A word without '=' after an id is more likely a mistyped option. */
            return option_fail_unknown(word, takes, error);
        return word_fail(error, "'%.*s' is a second id of dimension '%.*s': expected each dimension once",
                         word_shown(word), word.data, word_shown(id->dimension), id->dimension.data);
    }
    if (query->id_count == COMMAND_IDS_MAX)
        return word_fail(error, "too many ids: expected at most %d", COMMAND_IDS_MAX);
    query->id_count++;
    return true;
}

/*
 * An endpoint is often the path that a client of the caller has chosen: were a long one an error, callers that let
 * requests pass when they get an error would let this client pass. No pattern and no tier has so many bytes, so a text
 * that is cut still begins like itself, and equals none.
 */
static struct bytes cut(enum option option, struct bytes value)
{
    const bool may_be_long = option == OPTION_ENDPOINT || option == OPTION_TIER;
    if (may_be_long && value.size > COMMAND_SELECTOR_MAX_BYTES)
        value.size = COMMAND_SELECTOR_MAX_BYTES;
    return value;
}

static bool parse_selector(enum option option, struct bytes value, struct bytes *selector, char *error)
{
    value = cut(option, value);
    if (value.size == 0 || value.size > COMMAND_SELECTOR_MAX_BYTES)
        return word_fail(error, "%s of %zu bytes: expected 1 to %d", option_shown(option), value.size,
                         COMMAND_SELECTOR_MAX_BYTES);
    *selector = value;
    return true;
}

static bool parse_priority(struct bytes value, enum command_priority *priority, char *error)
{
    static const char *const names[] = {"low", "normal", "high", "critical"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!word_is(value, names[i]))
            continue;
        *priority = (enum command_priority)i;
        return true;
    }
    return word_fail(error, "PRIORITY is '%.*s': expected low, normal, high or critical", word_shown(value),
                     value.data);
}

static const char *equals_in(struct bytes word)
{
    return word.size > 0 ? memchr(word.data, '=', word.size) : NULL;
}

/* Parses "name=n". */
static bool parse_named_cost(struct bytes word, struct command_query *query, char *error)
{
    const size_t size = (size_t)(equals_in(word) - word.data);
    return command_query_add_cost(query, (struct bytes){word.data, size},
                                  (struct bytes){word.data + size + 1, word.size - size - 1}, error);
}

static bool parse_cost(struct bytes value, unsigned takes, struct command_query *query, char *error)
{
    if (!equals_in(value))
        return word_cost(value, &query->cost, error);
    if ((takes & QUERY_COSTS) == 0)
        return word_fail(error,
                         "COST '%.*s' names what is counted: expected a number, which is all that counts here",
                         word_shown(value), value.data);
    return parse_named_cost(value, query, error);
}

static bool parse_option(enum option option, struct bytes value, unsigned takes, struct command_query *query,
                         char *error)
{
    switch (option) {
    case OPTION_SERVICE:
        return parse_selector(option, value, &query->service, error);
    case OPTION_ENDPOINT:
        return parse_selector(option, value, &query->endpoint, error);
    case OPTION_TIER:
        return parse_selector(option, value, &query->tier, error);
    case OPTION_RULE:
        return parse_selector(option, value, &query->rule, error);
    case OPTION_PRIORITY:
        return parse_priority(value, &query->priority, error);
    case OPTION_COST:
        return parse_cost(value, takes, query, error);
    case OPTION_TTL:
        if (word_number(value, COMMAND_TTL_MAX_MS, &query->ttl_ms) && query->ttl_ms > 0)
            return true;
        return word_fail(error, "TTL is '%.*s': expected milliseconds, 1 or more", word_shown(value), value.data);
    case OPTION_PATIENCE:
        return word_patience(value, &query->patience_ms, error);
    case OPTION_WAIT:
        query->wait = true;
        return true;
    case OPTION_VERBOSE:
        query->verbose = true;
        return true;
    case OPTION_DRAIN:
        query->drain = true;
        return true;
    case OPTION_KEY:
        query->idempotency_key = value;
        return true;
    case OPTION_COUNT:
        break;
    }
    return false;
}

/* Leaves the ids as they are: clearing them would cost more than parsing most queries. */
void command_query_clear(struct command_query *query)
{
    query->id_count = query->cost_count = 0;
    query->service = query->endpoint = query->tier = query->rule = query->idempotency_key = (struct bytes){0};
    query->priority = PRIORITY_NORMAL;
    query->cost = 1;
    query->ttl_ms = 0;
    query->patience_ms = COMMAND_PATIENCE_NONE;
    query->wait = query->verbose = query->drain = query->any_cost = false;
}

bool command_parse_query(const struct resp_command *command, unsigned takes, struct command_query *query,
                         char *error)
{
    unsigned seen = 0;
    uint32_t i = 1;
    enum option option = OPTION_COUNT;
    assert(command->count >= 2);
    command_query_clear(query);
    do {
        if (!add_id(query, command->args[i++], takes, error))
            return false;
    } while (i < command->count && (option = option_find(command->args[i], takes)) == OPTION_COUNT);
    while (i < command->count) {
        struct bytes word = command->args[i++], value = {0};
        if (option == OPTION_COUNT)
            option = option_find(word, takes);
        if (option == OPTION_COUNT)
            return option_fail_unknown(word, takes, error);
        if (option_has_value(option) && i == command->count)
            return word_fail(error, "nothing after %s: expected its value", option_shown(option));
        if (option_has_value(option))
            value = command->args[i++];
        if (option != OPTION_COST || !equals_in(value)) {
            if ((seen & 1u << option) != 0)
                return word_fail(error, "%s twice: expected it once", option_shown(option));
            seen |= 1u << option;
        }
        if (!parse_option(option, value, takes, query, error))
            return false;
        option = OPTION_COUNT;
    }
    if ((takes & QUERY_TTL) != 0 && (seen & 1u << OPTION_TTL) == 0)
        return word_fail(error, "no TTL: expected TTL and milliseconds, after which what is reserved comes back");
    return true;
}

/* ---- piece by piece ---- */

bool command_query_add_id(struct command_query *query, struct bytes dimension, struct bytes value, char *error)
{
    if (!check_dimension(dimension, clean_size(dimension, 0), error) || !word_key(value, error))
        return false;
    for (uint32_t i = 0; i < query->id_count; i++)
        if (bytes_equal(query->id[i].dimension, dimension))
            return word_fail(error, "a second id of dimension '%.*s': expected each dimension once",
                             word_shown(dimension), dimension.data);
    if (query->id_count == COMMAND_IDS_MAX)
        return word_fail(error, "too many ids: expected at most %d", COMMAND_IDS_MAX);
    query->id[query->id_count++] = (struct command_id_words){dimension, value};
    return true;
}

bool command_query_set(struct command_query *query, struct bytes name, struct bytes value, unsigned takes,
                       char *error)
{
    enum option option = option_find(name, takes);
    if (option == OPTION_COUNT || !option_has_value(option))
        return option_fail_unknown(name, takes, error);
    return parse_option(option, value, takes, query, error);
}

bool command_query_add_cost(struct command_query *query, struct bytes name, struct bytes tokens, char *error)
{
    if (name.size == 0 || name.size > COMMAND_DIMENSION_MAX_BYTES || clean_size(name, 0) < name.size)
        return word_fail(error,
                         "'%.*s' is no name of a cost: expected 1 to %d letters, digits, '_', '-' and '.', "
                         "e.g. bytes",
                         word_shown(name), name.data, COMMAND_DIMENSION_MAX_BYTES);
    for (uint32_t i = 0; i < query->cost_count; i++)
        if (bytes_equal(query->named_cost[i].name, name))
            return word_fail(error, "a second cost of '%.*s': expected each name once", word_shown(name),
                             name.data);
    if (query->cost_count == COMMAND_COSTS_MAX)
        return word_fail(error, "too many costs: expected at most %d names", COMMAND_COSTS_MAX);
    struct command_cost *cost = &query->named_cost[query->cost_count];
    cost->name = name;
    if (!word_cost(tokens, &cost->tokens, error))
        return false;
    query->cost_count++;
    return true;
}

void command_value_shorten(struct bytes *value, const struct hash_key *hash_key, char room[COMMAND_HASHED_BYTES])
{
    if (value->size <= COMMAND_VALUE_MAX_BYTES)
        return;
    const struct key_id hash = hash_128(hash_key, value->data, value->size);
    const int size = snprintf(room, COMMAND_HASHED_BYTES, "hash:%016llx%016llx", (unsigned long long)hash.high,
                              (unsigned long long)hash.low);
    *value = (struct bytes){room, (size_t)size};
}
