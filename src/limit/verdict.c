#include "limit/verdict.h"

#include <assert.h>

const char *verdict_reason_name(enum verdict_reason reason)
{
    static const char *const names[] = {
#define X(name, word, sentence) word,
        VERDICT_REASONS(X)
#undef X
    };
    assert(reason < VERDICT_REASON_COUNT);
    return names[reason];
}

const char *verdict_reason_sentence(enum verdict_reason reason)
{
    static const char *const sentences[] = {
#define X(name, word, sentence) sentence,
        VERDICT_REASONS(X)
#undef X
    };
    assert(reason < VERDICT_REASON_COUNT);
    return sentences[reason];
}
