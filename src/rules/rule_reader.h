/*
 * rule_reader: reads single fields of a rule: from a node of the tree to a name, a choice or a
 * number, or to the sentence that names the mistake.
 *
 * The one idea: all mistakes have one form, "FILE:LINE: rule SERVICE/ID: FIELD is 'VALUE': expected
 * ...", so one place makes the sentences. Functions return false after they have filled the error.
 * An absent field (NULL) leaves the result unchanged. This header does not know which fields a rule
 * has.
 */
#ifndef HEADGATE_RULES_RULE_READER_H
#define HEADGATE_RULES_RULE_READER_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/yaml_tree.h"
#include "rules/rule_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule_reader {
    const char *file;
    struct error *error;
    const struct yaml_tree *tree;
    const struct yaml_node *node; /* the rule's map */
    unsigned number; /* the place of the rule in the document, from 1; names the rule until its id is known */
    bool kept;       /* the text comes from a store or a peer: see rule_parse_kept */
    struct bytes service, id;
};

/* Sets "FILE:LINE: rule SERVICE/ID: " and the formatted text. */
bool rule_fail(const struct rule_reader *reader, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets "... FIELD is 'VALUE': expected EXPECTED"; a node that is no text is called a map or a list. */
bool rule_wrong(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                const char *expected);

/*
 * Of a field that is none of the names: "... FIELD is unknown: did you mean NAME?", or else "... expected EXPECTED".
 * `within` comes before the field's name, such as "adaptive.".
 */
bool rule_unknown(const struct rule_reader *reader, const struct yaml_node *node, const char *within,
                  const char *const *names, size_t count, const char *expected);

/* Reads a text of 1 to most_bytes bytes. */
bool rule_read_text(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                    size_t most_bytes, const char *expected, struct bytes *text);
/* Reads a text of letters, digits, dots, dashes and underscores. */
bool rule_read_name(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                    size_t most_bytes, struct bytes *name);
bool rule_is_name(struct bytes text, const char *also);
bool rule_read_choice(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                      const struct rule_choices *choices, int *choice);
bool rule_read_count(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                     uint64_t least, uint64_t most, uint64_t *count);
bool rule_read_duration(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                        uint64_t least_ns, uint64_t most_ns, uint64_t *ns);
/* The result is in millionths. */
bool rule_read_percent(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                       uint64_t least, uint64_t most, uint64_t *millionths);
/* Checks that the node, if there is one, is a list or map of at most `most` children. */
bool rule_read_group(const struct rule_reader *reader, const struct yaml_node *node, const char *field,
                     enum yaml_kind kind, uint32_t most);

#endif
