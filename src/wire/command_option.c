/* Compares the words of options as numbers of their letters in any case. */
#include "wire/command_option.h"

#include "wire/command_query.h"
#include "wire/command_words.h"

#include <string.h>

/* Sizes of words that are compared as numbers, and of the one that is not. */
enum { OPTION_SIZE_MIN = 3, OPTION_SIZE_MAX = 8, OPTION_KEY_SIZE = sizeof "IDEMPOTENCY_KEY" - 1 };

static const struct {
    const char *shown;
    unsigned taken_with; /* 0: always */
    bool has_value;
} options[OPTION_COUNT] = {
    [OPTION_SERVICE] = {"SERVICE", 0, true},
    [OPTION_ENDPOINT] = {"ENDPOINT", 0, true},
    [OPTION_TIER] = {"TIER", 0, true},
    [OPTION_PRIORITY] = {"PRIORITY", 0, true},
    [OPTION_RULE] = {"RULE", 0, true},
    [OPTION_COST] = {"COST", QUERY_COST, true},
    [OPTION_TTL] = {"TTL", QUERY_TTL, true},
    [OPTION_PATIENCE] = {"PATIENCE", QUERY_PATIENCE, true},
    [OPTION_WAIT] = {"WAIT", QUERY_WAIT, false},
    [OPTION_VERBOSE] = {"VERBOSE", QUERY_VERBOSE, false},
    [OPTION_DRAIN] = {"DRAIN", QUERY_DRAIN, false},
    [OPTION_KEY] = {"IDEMPOTENCY_KEY", QUERY_KEY, true},
};

const char *option_shown(enum option option)
{
    return options[option].shown;
}

bool option_has_value(enum option option)
{
    return options[option].has_value;
}

static bool is_taken(enum option option, unsigned takes)
{
    return options[option].taken_with == 0 || (options[option].taken_with & takes) != 0;
}

static inline uint32_t letters_4(const char *text)
{
    uint32_t letters;
    memcpy(&letters, text, sizeof letters);
    return letters | 0x20202020u; /* makes letters small, and makes no letter of other characters */
}

/* OPTION_SIZE_MIN to OPTION_SIZE_MAX characters in any case as one number; distinct for different
 * words of one size. */
static inline uint64_t letters_of(struct bytes word)
{
    if (word.size < 4)
        return (uint64_t)(word.data[0] | 0x20) << 16 | (uint64_t)(word.data[1] | 0x20) << 8 |
               (uint64_t)(word.data[2] | 0x20);
    return (uint64_t)letters_4(word.data) << 32 | letters_4(word.data + word.size - 4);
}

static enum option option_of(struct bytes word)
{
    if (word.size < OPTION_SIZE_MIN || word.size > OPTION_SIZE_MAX)
        return word.size == OPTION_KEY_SIZE && word_is(word, "idempotency_key") ? OPTION_KEY : OPTION_COUNT;
    uint64_t letters = letters_of(word);
    switch (word.size) {
    case 3:
        return letters == letters_of(bytes_of("ttl")) ? OPTION_TTL : OPTION_COUNT;
    case 4:
        return letters == letters_of(bytes_of("cost"))   ? OPTION_COST
               : letters == letters_of(bytes_of("tier")) ? OPTION_TIER
               : letters == letters_of(bytes_of("rule")) ? OPTION_RULE
               : letters == letters_of(bytes_of("wait")) ? OPTION_WAIT
                                                         : OPTION_COUNT;
    case 5:
        return letters == letters_of(bytes_of("drain")) ? OPTION_DRAIN : OPTION_COUNT;
    case 7:
        return letters == letters_of(bytes_of("service"))   ? OPTION_SERVICE
               : letters == letters_of(bytes_of("verbose")) ? OPTION_VERBOSE
                                                            : OPTION_COUNT;
    case 8:
        return letters == letters_of(bytes_of("endpoint"))   ? OPTION_ENDPOINT
               : letters == letters_of(bytes_of("priority")) ? OPTION_PRIORITY
               : letters == letters_of(bytes_of("patience")) ? OPTION_PATIENCE
                                                             : OPTION_COUNT;
    default:
        return OPTION_COUNT;
    }
}

enum option option_find(struct bytes word, unsigned takes)
{
    enum option option = option_of(word);
    return option != OPTION_COUNT && is_taken(option, takes) ? option : OPTION_COUNT;
}

bool option_fail_unknown(struct bytes word, unsigned takes, char *error)
{
    char known[COMMAND_ERROR_BYTES] = "";
    size_t size = 0;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *name = options[i].shown;
        if (!is_taken((enum option)i, takes) || size + strlen(name) + 3 > sizeof known)
            continue;
        if (size > 0)
            known[size++] = ',', known[size++] = ' ';
        memcpy(known + size, name, strlen(name) + 1);
        size += strlen(name);
    }
    if (word.size > 0 && memchr(word.data, '=', word.size) != NULL)
        return word_fail(error, "id '%.*s' after the options: expected all ids first", word_shown(word), word.data);
    return word_fail(error, "unknown option '%.*s': expected one of %s", word_shown(word), word.data, known);
}
