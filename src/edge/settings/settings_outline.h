/*
 * settings_outline: where in a YAML file each key stands.
 *
 * The one idea: libcyaml turns the file into values but forgets where they stood; this second reading of the
 * same bytes keeps only that, so that every mistake, also one of meaning, is told with its line. Keys are
 * paths: "interval", "listen.clients", "limits[0].rate".
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_OUTLINE_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_OUTLINE_H

#include "base/bytes.h"
#include "base/error.h"

#include <stddef.h>

enum {
    OUTLINE_PATH_BYTES = 96, /* with the terminator; longer ones are cut */
    OUTLINE_NODES_MAX = 4096,
    OUTLINE_DEPTH_MAX = 8,
};

enum outline_kind { OUTLINE_VALUE, OUTLINE_MAP, OUTLINE_LIST };

struct outline_node {
    char path[OUTLINE_PATH_BYTES];
    unsigned line; /* of its key, or of itself in a list; from 1 */
    enum outline_kind kind;
};

struct outline {
    size_t count;
    struct outline_node *nodes; /* in the order of the file */
};

/*
 * Reads `text`; `file` is its name for sentences. False with EX_CONFIG when it is not one YAML document of a
 * reasonable size without aliases. Close it in either case.
 */
bool outline_read(struct outline *outline, struct bytes text, const char *file, struct error *error);
void outline_close(struct outline *outline);

/* The node at `path`, or NULL. */
const struct outline_node *outline_find(const struct outline *outline, const char *path);
/* The line of `path`, or of what would hold it; at least 1. */
unsigned outline_line(const struct outline *outline, const char *path);
/* The line of the last of those that have this path: of a key that is given twice. */
unsigned outline_last_line(const struct outline *outline, const char *path);

#endif
