/*
 * rule_text: reads and writes rules as people write them, in YAML (which includes JSON).
 *
 * The one idea: a rule has one canonical text: fixed order, no defaults, one spelling for each
 * value. Reading that text gives the same rule, and printing that rule gives the same text. So
 * rules are compared, stored and sent to peers as texts. Reading refuses aliases, tags, several
 * documents in one text, and everything beyond a limit. Does no I/O.
 */
#ifndef HEADGATE_RULES_RULE_TEXT_H
#define HEADGATE_RULES_RULE_TEXT_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/yaml_tree.h"
#include "rules/cow_array.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    RULES_TEXT_MAX_BYTES = 4 * 1024 * 1024, /* size of a whole document */
    RULES_MAX = 10000,                      /* rules of one document */
    RULES_NODES_MAX = 1000000,              /* its keys and values */
};

struct rule_list {
    size_t count, room;
    struct rule **rule; /* owned; in the order of the text */
};

/*
 * Reads "rules: [...]", a list of rules, or the map of one rule. Each (service, id) may stand once.
 * On failure returns false with EX_DATAERR and one sentence (file, line, rule, field, value, what
 * was expected), and the list is empty. `file` names the text in that sentence. The caller must
 * close the list in either case.
 */
bool rules_parse(struct bytes text, const char *file, struct rule_list *list, struct error *error);
void rules_close(struct rule_list *list);
/* Moves the rules of `more` to the end of `list`. False: memory is short. */
bool rules_append(struct rule_list *list, struct rule_list *more);

/* A document that is read in slices. */
struct rules_reading {
    const char *file;
    struct yaml_reader *reader; /* NULL once the tree is complete */
    struct yaml_tree tree;
    const struct yaml_node *rules, *next; /* `rules`: the list or the only rule; `next`: the rule to build next */
    unsigned number;
    struct cow_array seen; /* the names of all built rules, sorted */
    bool kept;             /* see rule_parse_kept */
};
/* Fails as rules_parse does. The caller must close the reading in either case; `text` and `file`
 * must stay until then. */
bool rules_reading_open(struct rules_reading *reading, struct bytes text, const char *file, struct error *error);
void rules_reading_close(struct rules_reading *reading);
/*
 * Does one slice: up to `events` events of the YAML parser, or one rule. Sets *rule to a rule that
 * the caller owns if one was built, and *ended when no rule is left. Builds rules only after the
 * whole text was read. Fails as rules_parse does.
 */
bool rules_reading_go_on(struct rules_reading *reading, unsigned events, struct rule **rule, bool *ended,
                         struct error *error);

/* How many rules were built, and their names in the order of service and id: views of the reading. */
size_t rules_reading_count(const struct rules_reading *reading);
struct rule_name rules_reading_name(const struct rules_reading *reading, size_t index);
bool rules_reading_has(const struct rules_reading *reading, struct rule_name name);

/*
 * Reads a text of exactly one rule that some version accepted before. The caller must destroy the
 * rule. Fails as rules_parse does, with NULL. Older versions took each listed value literally;
 * values that are refused today stay literals, so that the rule does not vanish because of one
 * entry.
 */
struct rule *rule_parse_kept(struct bytes text, const char *file, struct error *error);

/*
 * Writes the canonical text of `rule` (a map with newlines, and a zero if there is room) and cuts
 * it after `room` bytes. Returns the uncut size, at most RULE_TEXT_MAX_BYTES.
 */
size_t rule_print(const struct rule *rule, char *out, size_t room);

/* As rule_print, for a whole document: "rules:" and one item for each rule. The size may exceed
 * RULES_TEXT_MAX_BYTES. */
size_t rules_print(const struct rule *const *rules, size_t count, char *out, size_t room);

#endif
