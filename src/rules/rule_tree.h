/*
 * rule_tree: a YAML text as a tree of maps, lists and texts, each with its line.
 *
 * The one idea: only maps, lists and texts come through. Aliases, anchors, tags, keys that are no
 * texts, duplicate keys, several documents and unprintable characters are refused. So a few lines
 * of code can compare and print everything that was read. The tree does not know the meaning of
 * texts.
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
    RULE_TREE_KEYS_MAX = 64, /* keys of one map */
};

enum rule_node_kind { RULE_NODE_TEXT, RULE_NODE_MAP, RULE_NODE_LIST };

struct rule_node {
    enum rule_node_kind kind;
    unsigned line;     /* of the node's key, or of the node itself in a list; from 1 */
    struct bytes key;  /* the key in a map; else empty */
    struct bytes text; /* the text of RULE_NODE_TEXT, terminated by a zero; else empty */
    uint32_t count;    /* children of the node */
    /* The index behind the node's last descendant; the first child, if any, directly follows the
     * node. */
    uint32_t end;
};

struct rule_tree {
    uint32_t count; /* 0: the text is empty */
    uint32_t room;
    struct rule_node *nodes; /* in the order of the text, the root first */
    char *texts;             /* holds the bytes of all views */
    size_t texts_size, texts_room;
};

/*
 * Reads a text in slices; `file` names the text in errors. The text must stay until the reader is
 * destroyed. The caller must close the tree in any case. NULL: memory is short.
 */
struct tree_reader;
struct tree_reader *tree_reader_create(struct rule_tree *tree, struct bytes text, const char *file);
void tree_reader_destroy(struct tree_reader **reader);
/* Takes up to `events` events of the YAML parser; *ended: the tree is complete. False: `error`
 * holds the sentence. */
bool tree_reader_go_on(struct tree_reader *reader, unsigned events, bool *ended, struct error *error);

void rule_tree_close(struct rule_tree *tree);

#endif
