#include "refused_log.h"

#include "commands/guessers.h"

enum {
    /* one line about wrong passwords in this time */
    WRONG_EACH_MS = 10000,
    /* one line about barred addresses in this time */
    BARRED_EACH_MS = 60000,
};

/* True: a line may be written now, and is taken to be. */
static bool is_due(uint64_t *last_ms, uint64_t each_ms, uint64_t now_ms)
{
    if (*last_ms > 0 && now_ms - *last_ms < each_ms)
        return false;
    *last_ms = now_ms > 0 ? now_ms : 1;
    return true;
}

void refused_log_note(struct refused_log *refused, struct log *log, const char *address, bool barred,
                      uint64_t now_ms)
{
    refused->count++;
    if (barred && is_due(&refused->barred_ms, BARRED_EACH_MS, now_ms))
        log_write(log, LOG_LEVEL_WARNING,
                  "too many wrong passwords from %s: one in %llu s of that address is looked at from now on",
                  address, (unsigned long long)(GUESS_NS / 1000000000));
    if (!is_due(&refused->wrong_ms, WRONG_EACH_MS, now_ms))
        return;
    log_write(log, LOG_LEVEL_WARNING, "wrong password from %s; wrong passwords since the last such line: %llu",
              address, (unsigned long long)refused->count);
    refused->count = 0;
}
