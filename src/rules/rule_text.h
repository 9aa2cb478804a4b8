/*
 * rule_text: rules as people write them, in YAML (of which JSON is a part), and back.
 *
 * The one idea: a rule has one canonical text: fixed order, defaults left out, one spelling for each value. Reading
 * it gives the same rule, and printing that the same text, so rules are compared, stored and sent to peers as texts.
 * No I/O. Aliases, tags and several documents in one text are refused; so is whatever is beyond a limit.
 */
#ifndef HEADGATE_RULES_RULE_TEXT_H
#define HEADGATE_RULES_RULE_TEXT_H

#include "base/bytes.h"
#include "base/error.h"
#include "rules/rule.h"
#include "rules/rule_tree.h"
#include "rules/shelf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    RULES_TEXT_MAX_BYTES = 4 * 1024 * 1024, /* of a whole document */
    RULES_MAX = 10000,                      /* in one document */
};

struct rule_list {
    size_t count, room;
    struct rule **rule; /* owned, in the order of the text */
};

/*
 * Reads "rules: [...]", a list of rules, or one rule's map. Each (service, id) may stand once. False with EX_DATAERR
 * and one sentence: file, line, rule, field, value, what was expected; the list is then empty. `file` names the text in
 * that sentence. Close the list in either case.
 */
bool rules_parse(struct bytes text, const char *file, struct rule_list *list, struct error *error);
void rules_close(struct rule_list *list);

/* A document that is read a part at a time. */
struct rules_reading {
    const char *file;
    struct tree_reader *reader; /* until the tree is whole */
    struct rule_tree tree;
    const struct rule_node *rules, *next; /* the list, or the only rule; the one to build */
    unsigned number;
    struct shelf seen; /* names of those built, in order */
    bool kept;         /* see rule_parse_kept */
};
/* False as rules_parse. To be closed in either case; text and name stay until then. */
bool rules_reading_open(struct rules_reading *reading, struct bytes text, const char *file, struct error *error);
void rules_reading_close(struct rules_reading *reading);
/*
 * A part of the work, that of so many of the parser's events or of one rule: *rule, the caller's, if one was built, and
 * *ended once there are no more. No rule is built before all of the text was read. False as rules_parse.
 */
bool rules_reading_go_on(struct rules_reading *reading, unsigned events, struct rule **rule, bool *ended,
                         struct error *error);

/* Reads a text of exactly one rule; NULL as rules_parse's false. The caller destroys it. */
struct rule *rule_parse(struct bytes text, const char *file, struct error *error);
/*
 * The same of a text that was accepted once, perhaps by a version that took each listed value literally. Values that
 * are refused today are literals still, so that a rule does not vanish with one entry of its lists.
 */
struct rule *rule_parse_kept(struct bytes text, const char *file, struct error *error);

/*
 * Writes the canonical text of `rule` (a map, with newlines, and a zero behind it if there is room) and returns its
 * size, which is at most RULE_TEXT_MAX_BYTES, whether or not it fitted into `room` bytes: what does not fit is cut.
 */
size_t rule_print(const struct rule *rule, char *out, size_t room);

/* The same of a whole document, "rules:" and one item each; it may be larger than RULES_TEXT_MAX_BYTES. */
size_t rules_print(const struct rule *const *rules, size_t count, char *out, size_t room);

#endif
