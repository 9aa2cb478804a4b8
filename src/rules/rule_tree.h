/*
 * rule_tree: a YAML text as a tree of maps, lists and texts, each with its line.
 *
 * The one idea: nothing that YAML can do beyond that comes through. Aliases, anchors, tags, keys that are not texts,
 * a key given twice, several documents and characters that cannot be printed are refused, so that what is read can be
 * told apart and written again by a few lines of code. What a text means is not known here.
 */
#ifndef HEADGATE_RULES_RULE_TREE_H
#define HEADGATE_RULES_RULE_TREE_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RULE_TREE_NODES_MAX = 1000000,
    RULE_TREE_DEPTH_MAX = 8,
    RULE_TREE_KEYS_MAX = 64, /* of one map */
};

enum rule_node_kind { RULE_NODE_TEXT, RULE_NODE_MAP, RULE_NODE_LIST };

struct rule_node {
    enum rule_node_kind kind;
    unsigned line;     /* of its key, or of itself in a list; from 1 */
    struct bytes key;  /* in a map; else empty */
    struct bytes text; /* of RULE_NODE_TEXT, terminated; else empty */
    uint32_t count;    /* of the nodes right below it */
    uint32_t end;      /* the index behind the last node below it; its first one, if any, is right behind it */
};

struct rule_tree {
    uint32_t count; /* 0: the text is empty */
    uint32_t room;
    struct rule_node *nodes; /* in the order of the text: the root is the first */
    char *texts;             /* where all views point */
    size_t texts_size, texts_room;
};

/*
 * Reads a text, a part at a time; `file` is what errors call it. NULL: no memory. The tree has to be closed in any
 * case; the text stays until the end.
 */
struct tree_reader;
struct tree_reader *tree_reader_create(struct rule_tree *tree, struct bytes text, const char *file);
void tree_reader_destroy(struct tree_reader **reader);
/* Takes so many of the parser's events, if there are as many: *ended, the tree is whole. False: `error` says why. */
bool tree_reader_go_on(struct tree_reader *reader, unsigned events, bool *ended, struct error *error);

void rule_tree_close(struct rule_tree *tree);

#endif
