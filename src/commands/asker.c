/*
 * Reads the words of a request a second time, for the name of its key: "user=alice ip=1.2.3.4".
 */
#include "commands/asker.h"

#include "commands/commands.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/resp.h"

#include <string.h>

#define CUT "..."

/*
 * Bytes that would move the cursor of a terminal, are no ASCII, or part identifiers are written as in a URL, "%20": so
 * whoever reads the name can ask for this very key.
 */
static void put(struct output *name, struct bytes text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size && !name->overflowed; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const bool plain = c > ' ' && c < 0x7f && c != '%';
        const char escaped[] = {'%', digits[c >> 4], digits[c & 15]};
        output_append(name, plain ? &text.data[i] : escaped, plain ? 1 : sizeof escaped);
    }
}

static void put_id(struct output *name, struct bytes dimension, struct bytes value)
{
    if (name->size > 0)
        output_append(name, " ", 1);
    put(name, dimension);
    put(name, bytes_of("="));
    put(name, value);
}

/* Whether `by`, "api_key,user", has the dimension. */
static bool counts_by(struct bytes by, struct bytes dimension)
{
    for (size_t begin = 0; begin < by.size;) {
        const char *comma = memchr(by.data + begin, ',', by.size - begin);
        const size_t end = comma != NULL ? (size_t)(comma - by.data) : by.size;
        if (bytes_equal((struct bytes){by.data + begin, end - begin}, dimension))
            return true;
        begin = end + 1;
    }
    return false;
}

/* The identifiers that the rule counts by; a limit of the config counts by the first one. */
static void put_query(struct output *name, const struct command_query *query, const struct matched *matched)
{
    for (uint32_t i = 0; i < query->id_count; i++)
        if (matched->why == WHY_CONFIG ? i == 0 : counts_by(matched->version->by, query->id[i].dimension))
            put_id(name, query->id[i].dimension, query->id[i].value);
}

/* Request number `index` of the frames; empty lines among them are none. */
static bool frame_at(struct bytes frames, uint32_t index, struct resp_command *words)
{
    const char *error;
    size_t size;
    while (resp_parse(frames, words, &size, &error) == RESP_COMMAND) {
        if (words->count > 0 && index-- == 0)
            return true;
        frames = (struct bytes){frames.data + size, frames.size - size};
    }
    return false;
}

static void put_frame(struct output *name, const struct resp_command *words, const struct matched *matched)
{
    char error[COMMAND_ERROR_BYTES];
    struct command_query query;
    if (word_is(words->args[0], "can_access"))
        put_id(name, bytes_of(RULE_DEFAULT_DIMENSION), words->args[1]);
    else if (command_parse_query(words, QUERY_COST | QUERY_COSTS | QUERY_WAIT | QUERY_VERBOSE | QUERY_PATIENCE,
                                 &query, error) ||
             command_parse_query(words, QUERY_COST | QUERY_COSTS | QUERY_TTL | QUERY_PATIENCE, &query, error))
        put_query(name, &query, matched);
}

bool asker_name(const struct asker *asker, uint32_t index, const struct matched *matched, char *name, size_t room)
{
    struct output output = output_over(name, room - sizeof CUT);
    struct resp_command words;
    if (asker->query != NULL)
        put_query(&output, asker->query, matched);
    else if (asker->late != NULL)
        put_id(&output, bytes_of(RULE_DEFAULT_DIMENSION),
               (struct bytes){asker->late->key[index].text, asker->late->key[index].size});
    else if (frame_at(asker->frames, index, &words))
        put_frame(&output, &words, matched);
    memcpy(name + output.size, CUT, sizeof CUT);
    if (!output.overflowed)
        name[output.size] = '\0';
    return output.size > 0;
}
