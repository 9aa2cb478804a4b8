/*
 * elsewhere: what an explanation says besides the verdicts of the rules that a request falls under: other rules that
 * count the same identifiers.
 *
 * The one idea: whoever is refused often asks about the wrong service or endpoint. So the rules that a question does
 * not fall under are asked as well, each with an endpoint of its own. No output: EXPLAIN and HTTP print what is found.
 */
#ifndef HEADGATE_COMMANDS_ELSEWHERE_H
#define HEADGATE_COMMANDS_ELSEWHERE_H

#include "commands/ask.h"

enum { ELSEWHERE_RULES_MAX = 1000 }; /* that are looked at */

/* A rule that the question does not fall under, and that counts its identifiers: it refuses, or its key is used. */
struct elsewhere {
    const struct ruled *rule;
    const struct ruled_version *version;
    bool denied; /* it denies for good (`why`); there is no verdict */
    enum match_why why;
    struct verdict verdict; /* on one token more; of a shadow rule: what it would have said */
};

struct elsewhere_sum {
    struct bytes service; /* whose rules were looked at; "": of all services */
    size_t looked, rules; /* how many were looked at, of how many */
    uint32_t concerned;   /* of them count the identifiers, whether in use or not */
    uint32_t work;        /* units of command.h */
};

/*
 * Visits the rules of the service that was named, or of all services if none was and the caller may ask about all.
 * Must be called while no other thread decides.
 */
struct elsewhere_sum ask_elsewhere(struct commands *commands, const struct question *question, struct turn turn,
                                   void (*visit)(void *context, const struct elsewhere *elsewhere), void *context);

#endif
