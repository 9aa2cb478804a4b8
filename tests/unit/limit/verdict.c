/* The table of reasons: each has a word of its own for machines, and a sentence for people. */
#include "limit/verdict.h"

#include "tests/lib/tap.h"

#include <string.h>

static bool is_word(const char *text)
{
    return text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == strlen(text);
}

int main(void)
{
    for (unsigned i = 0; i < VERDICT_REASON_COUNT; i++) {
        const char *name = verdict_reason_name((enum verdict_reason)i);
        bool is_its_own = true;
        for (unsigned k = 0; k < i; k++)
            is_its_own &= strcmp(name, verdict_reason_name((enum verdict_reason)k)) != 0;
        OK(is_word(name) && is_its_own, "%s is a word, and no other reason has it", name);
        OK(strlen(verdict_reason_sentence((enum verdict_reason)i)) >= strlen(name), "its sentence says more");
    }
    OK_STRING(verdict_reason_name(VERDICT_CAPACITY), "capacity", "the order is that of the table");
    const struct verdict yes = {.allowed = true, .available_tokens = 1, .limit_tokens = 9},
                         no = {.retry_after_ns = 5, .reason = VERDICT_SHARE},
                         never = {.retry_after_ns = UINT64_MAX, .reason = VERDICT_TOO_LARGE};
    OK(verdict_decides_before(&no, &yes) && !verdict_decides_before(&yes, &no), "who denies decides");
    OK(verdict_decides_before(&never, &no), "of two, the one that denies for longer");
    return tap_done();
}
