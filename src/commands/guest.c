/*
 * Limits that requests bring with them, for protocols whose clients may: a bucket of so many tokens, which gains as
 * many in a period. Every region may hand out a whole bucket, as with THROTTLE, since the request says nothing of
 * overshoot.
 */
#include "commands/call.h"

#include <stdio.h>

enum { ROUND_MAX = 10000 }; /* enough for 2^32 - 1 in a year */

static struct limit_terms terms_of(const struct guest *guest)
{
    return (struct limit_terms){.kind = LIMIT_BUCKET,
                                .capacity = guest->tokens,
                                .rate = guest->tokens,
                                .period_ns = guest->period_ns,
                                .overshoot = guest->tokens * NODE_PEERS_MAX};
}

/* Names of guests have a salt of their own: a guest shares no key with a rule. */
static struct key_id key_of(const struct commands *commands, struct bytes name)
{
    static const char salt[] = "\377guest";
    return key_join(hash_128(&commands->hash_key, salt, sizeof salt - 1),
                    hash_128(&commands->hash_key, name.data, name.size));
}

static void alone(struct commands *commands, bool begins)
{
    if (commands->alone != NULL)
        commands->alone(commands->context, begins);
}

/*
 * The number of the limit, or -1: there is none yet, and *terms are those to make it of. Numbers of 2^32 in a year need
 * more bits than there are: then the bucket gains a rounder number, which is less by 2 in 100,000 at most.
 */
static int find(const struct commands *commands, struct limit_terms *terms)
{
    const uint64_t tokens = terms->rate;
    struct limit counted;
    struct error why;
    for (uint64_t round = 1; round <= ROUND_MAX; round *= 10) {
        terms->rate = tokens - tokens % round;
        const int limit = node_find_limit(commands->node, terms);
        if (limit >= 0 || limit_init(&counted, terms, &why))
            return limit;
    }
    terms->rate = tokens;
    return -1;
}

bool ask_guest(struct commands *commands, const struct guest *guest, uint64_t cost, struct charge *charge,
               char *error)
{
    struct limit_terms terms = terms_of(guest);
    struct error why;
    int limit = find(commands, &terms);
    if (limit < 0) {
        alone(commands, true);
        limit = node_intern_guest_limit(commands->node, &terms, &why);
        alone(commands, false);
    }
    if (limit < 0) {
        (void)snprintf(error, COMMAND_ERROR_BYTES, "ERR a limit of %llu cannot be counted: %.200s",
                       (unsigned long long)guest->tokens, why.text);
        return false;
    }
    *charge = (struct charge){.id = key_of(commands, guest->name),
                              .limit = (uint16_t)limit,
                              .cost = cost,
                              .inherit = INHERIT_TIME};
    return true;
}

void ask_guest_decide(struct commands *commands, const struct charge *charge, bool take, uint64_t now_ns,
                      struct decision *decision)
{
    struct run run = {.charge = charge,
                      .charge_count = 1,
                      .request_count = 1,
                      .take = take,
                      .verdicts = decision->verdict};
    node_decide(commands->node, &run, 1, &charge->id, now_ns);
    decision->allowed = run.allowed != 0;
}
