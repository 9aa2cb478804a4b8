/*
 * rule_reader: single fields of a rule: a node of the tree to a name, a choice or a number, or the sentence why not.
 *
 * The one idea: every mistake is told in the same form, "FILE:LINE: rule SERVICE/ID: FIELD is 'VALUE': expected ...",
 * so it is made in one place. Functions return false after filling the error; an absent field (NULL) keeps the result.
 */
#ifndef HEADGATE_RULES_RULE_READER_H
#define HEADGATE_RULES_RULE_READER_H

#include "base/bytes.h"
#include "base/error.h"
#include "rules/rule_tree.h"
#include "rules/rule_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule_reader {
    const char *file;
    struct error *error;
    const struct rule_tree *tree;
    const struct rule_node *node; /* the rule's map */
    unsigned number;              /* of the rule in the document, from 1: until its id is known */
    bool kept;                    /* by a store or a peer: see rule_parse_kept */
    struct bytes service, id;
};

/* The nodes right below `node`: its first, or NULL, and the one after `child`, or NULL. */
const struct rule_node *rule_node_first(const struct rule_node *node);
const struct rule_node *rule_node_next(const struct rule_tree *tree, const struct rule_node *node,
                                       const struct rule_node *child);

/* "FILE:LINE: rule SERVICE/ID: " and what `format` says. */
bool rule_fail(const struct rule_reader *reader, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "... FIELD is 'VALUE': expected EXPECTED", or what it is if it is no text. */
bool rule_wrong(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                const char *expected);

/* Texts, of at least one byte. */
bool rule_read_text(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                    size_t most_bytes, const char *expected, struct bytes *text);
/* Letters, digits, dot, dash, underscore. */
bool rule_read_name(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                    size_t most_bytes, struct bytes *name);
bool rule_is_name(struct bytes text, const char *also);
bool rule_read_choice(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                      const struct rule_choices *choices, int *choice);
bool rule_read_count(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                     uint64_t least, uint64_t most, uint64_t *count);
bool rule_read_duration(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                        uint64_t least_ns, uint64_t most_ns, uint64_t *ns);
/* In millionths. */
bool rule_read_percent(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                       uint64_t least, uint64_t most, uint64_t *millionths);
/* A node, if there is one, that is a list or a map with at most that many below it. */
bool rule_read_group(const struct rule_reader *reader, const struct rule_node *node, const char *field,
                     enum rule_node_kind kind, uint32_t most);

#endif
