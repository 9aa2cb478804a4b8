/*
 * ruleset_ask: the rules that a request matches, as a line of text. For unit tests, each of which
 * is one translation unit.
 */
#ifndef HEADGATE_TESTS_LIB_RULESET_ASK_H
#define HEADGATE_TESTS_LIB_RULESET_ASK_H

#include "tests/lib/ruleset_world.h"

#define S 1000000000ull
#define DAY_S 86400ull

extern const uint64_t now_ns;
extern const uint64_t wall_ns; /* 2027-01-15T08:00:00Z */

extern struct match match;

/*
 * The rules that `text` (see world_request) matches: "a:rule b:tier | c:allow list", "DENIED", ...
 */
const char *ruleset_ask(struct world *world, const char *text);

#endif
