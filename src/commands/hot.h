/*
 * hot: the keys that are refused most, and that ask most, under each rule and tier, over the last minutes and hours.
 *
 * The one idea: each thread keeps sketches of its own (base/hitters.h), so that noting a key waits for nobody; a reader
 * takes the lock of one thread for the time of a copy, and merges the copies. Every refusal is noted. Of all requests
 * one in HOT_SAMPLE is, at random, so that admitted ones cost next to nothing. Time is cut into panes: a present and a
 * past one are kept, and panes of minutes that end are merged into those of hours. Keys are known by their fingerprint;
 * names are kept only where the config says so. Memory is fixed, and there from the start.
 */
#ifndef HEADGATE_COMMANDS_HOT_H
#define HEADGATE_COMMANDS_HOT_H

#include "base/bytes.h"
#include "base/hash.h"
#include "base/hitters.h"
#include "rules/match.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HOT_SAMPLE = 128,     /* of so many requests one is noted as asked, on average */
    HOT_RULES_MAX = 128,  /* rules, each with a tier, that a thread notes; more only when one was idle for a pane */
    HOT_NAMES_MAX = 4096, /* names that a thread remembers */
    HOT_NAME_BYTES = 120, /* of a name, terminated; a longer one is cut, see asker.h */
};
#define HOT_MINUTES_NS ((uint64_t)300 * 1000000000) /* a pane of minutes, */
#define HOT_HOURS_NS ((uint64_t)10800 * 1000000000) /* and of hours: a whole number of the former */

enum hot_by { HOT_REFUSED, HOT_ASKED, HOT_BYS };
enum hot_over { HOT_MINUTES, HOT_HOURS, HOT_OVERS };

/* Of one thread. */
struct hot;

/* NULL: memory is short. `names`: names are remembered. */
struct hot *hot_create(bool names, uint64_t seed);
void hot_destroy(struct hot **hot);

/* ---- noting, by the thread itself ---- */

static inline uint64_t hot_fingerprint(struct key_id identity)
{
    return identity.low;
}
/* `edition`: ruleset_edition of the rules that `matched` belongs to. False: there is no room for its rule. */
bool hot_note(struct hot *hot, const struct ruleset *ruleset, uint64_t edition, enum hot_by by,
              const struct matched *matched, uint64_t fingerprint, uint64_t now_ns);
/* False if `hot` is NULL. */
bool hot_remembers(const struct hot *hot);
/* How many requests to go until the next one that is noted as asked: 1 at least. */
uint32_t hot_next_sample(struct hot *hot);
/* Whether the name of that key is still to be told. */
bool hot_wants_name(struct hot *hot, uint64_t fingerprint);
void hot_name(struct hot *hot, uint64_t fingerprint, const char *name);

/* ---- reading, by any thread ---- */

struct hot_query {
    struct bytes service, rule; /* empty: any. Limits of the config, whose service is "", are of "default" too */
    enum hot_by by;
    enum hot_over over;
    uint64_t since_ns; /* when noting began: no view tells of a time before */
};

enum { HOT_LIST_MAX = 256 }; /* rules with their tiers, of all threads together */

/* A rule and a tier that have something to show. */
struct hot_found {
    uint64_t names; /* a hash of service, rule and tier */
    uint64_t total; /* what was noted of it, in units of the view */
};

struct hot_list {
    uint32_t count;
    struct hot_found found[HOT_LIST_MAX]; /* falling by total */
};

struct hot_view {
    char service[RULE_NAME_MAX_BYTES + 1], rule[RULE_NAME_MAX_BYTES + 1], tier[RULE_NAME_MAX_BYTES + 1];
    uint64_t over_ns; /* how far back it reaches */
    uint64_t unit;    /* requests for each count of `hitters`: 1, or HOT_SAMPLE */
    struct hitters hitters;
};

/* A fingerprint as people see it: 16 digits, terminated. */
enum { HOT_FINGERPRINT_BYTES = 17 };
void hot_print_fingerprint(uint64_t fingerprint, char text[HOT_FINGERPRINT_BYTES]);

void hot_list(struct hot *const *hots, uint32_t count, const struct hot_query *query, uint64_t now_ns,
              struct hot_list *list);
/* False: it is not there any more. */
bool hot_read(struct hot *const *hots, uint32_t count, const struct hot_query *query, uint64_t names,
              uint64_t now_ns, struct hot_view *view);
/* Writes the name of a key. False: none of the threads remembers one. */
bool hot_find_name(struct hot *const *hots, uint32_t count, uint64_t fingerprint, char name[HOT_NAME_BYTES]);

#endif
