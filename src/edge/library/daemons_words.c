/*
 * The words of a CHECK or a PEEK: which of them are options, and which are values.
 */
#include "edge/library/daemons.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool takes_value(const char *word)
{
    static const char *const options[] = {"SERVICE", "ENDPOINT", "TIER",     "PRIORITY",
                                          "RULE",    "COST",     "PATIENCE", "IDEMPOTENCY_KEY"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcasecmp(word, options[i]) == 0)
            return true;
    return false;
}

size_t words_find(size_t from, size_t count, const char *const *words, const char *option)
{
    while (from < count && strcasecmp(words[from], option) != 0)
        from += takes_value(words[from]) ? 2 : 1;
    return from < count ? from : count;
}

uint64_t words_cost(size_t count, const char *const *words)
{
    for (size_t i = 2; (i = words_find(i, count, words, "COST")) + 1 < count; i += 2)
        if (!strchr(words[i + 1], '='))
            return strtoull(words[i + 1], NULL, 10);
    return 1;
}
