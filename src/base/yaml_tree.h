/*
 * yaml_tree: a YAML text as a tree of maps, lists and texts, each with its line. The config and rules are read so.
 *
 * The one idea: only maps, lists and texts come through. Aliases, keys that are no texts, duplicate
 * keys and several documents are refused, in one sentence with file and line. So a few lines of
 * code can find, compare and print everything that was read. The tree does not know the meaning of
 * texts.
 */
#ifndef HEADGATE_BASE_YAML_TREE_H
#define HEADGATE_BASE_YAML_TREE_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    YAML_TREE_DEPTH_MAX = 8,
    YAML_TREE_KEYS_MAX = 64,   /* keys of one map */
    YAML_TREE_PATH_BYTES = 160 /* with the terminator */
};

enum yaml_kind { YAML_TEXT, YAML_MAP, YAML_LIST };

struct yaml_node {
    enum yaml_kind kind;
    unsigned line;     /* of the node's key, or of the node itself in a list; from 1 */
    struct bytes key;  /* the key in a map; else empty */
    struct bytes text; /* the text of YAML_TEXT, terminated by its only zero; else empty */
    uint32_t count;    /* children of the node */
    /* The index behind the node's last descendant; the first child, if any, directly follows the
     * node. */
    uint32_t end;
};

struct yaml_tree {
    uint32_t count; /* 0: the text is empty */
    size_t room;
    struct yaml_node *nodes; /* in the order of the text, the root first */
    char *texts;             /* holds the bytes of all views */
    size_t texts_size, texts_room;
};

/* What is to be read. `text` and `file` must stay until the reader is destroyed. */
struct yaml_source {
    struct bytes text;
    const char *file;   /* names the text in sentences */
    int exit_status;    /* of mistakes in the text; short memory is EX_OSERR */
    uint32_t nodes_max; /* more keys and values are refused */
    /* Refuses what a canonical text cannot keep: tags, anchors, characters that cannot be printed,
     * other encodings than UTF-8. */
    bool strict;
};

/* Reads the whole text. The caller must close the tree in any case. False: `error` holds the sentence. */
bool yaml_tree_read(struct yaml_tree *tree, const struct yaml_source *source, struct error *error);
void yaml_tree_close(struct yaml_tree *tree);

/* Reads a text in slices. The caller must close the tree in any case. NULL: memory is short. */
struct yaml_reader;
struct yaml_reader *yaml_reader_create(struct yaml_tree *tree, const struct yaml_source *source);
void yaml_reader_destroy(struct yaml_reader **reader);
/* Takes up to `events` events of the YAML parser; *ended: the tree is complete. False: `error`
 * holds the sentence. */
bool yaml_reader_go_on(struct yaml_reader *reader, unsigned events, bool *ended, struct error *error);

/* The children of `node`: the first one, and the one after `child`; NULL: there is none. */
const struct yaml_node *yaml_first(const struct yaml_node *node);
const struct yaml_node *yaml_next(const struct yaml_tree *tree, const struct yaml_node *node,
                                  const struct yaml_node *child);

/*
 * True: the node is the rest of a number with commas between braces, such as 000 of {limit: 1,000} and 000/s of
 * {rate: 1,000/s}: YAML ends values at commas there.
 */
bool yaml_is_rest_of_number(const struct yaml_node *node);
#define YAML_NUMBER_EXPECTED "numbers between braces without commas, or in quotes"

/* Writes the path of `node` for a sentence, such as "limits[0].rate"; "" for the root. Long keys
 * are cut. Returns `out`. */
const char *yaml_path(const struct yaml_tree *tree, const struct yaml_node *node, char out[YAML_TREE_PATH_BYTES]);

#endif
