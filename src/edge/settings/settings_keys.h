/*
 * settings_keys: the table of all keys of the config.
 *
 * The one idea: one row for each key has its path, the form of its value, its place in struct
 * settings and its bounds. The row decides whether the key is known, reads simple values, and prints
 * them, so that the three agree. Values that depend on other keys are read in settings.c and
 * settings_cluster.c.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_KEYS_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_KEYS_H

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

enum { SETTINGS_VALUE_BYTES = 256 }; /* the longest value */

enum key_form {
    KEY_MAP,             /* its keys follow, with its name and a dot before theirs */
    KEY_LIST,            /* of at most `most` maps, whose keys follow likewise */
    KEY_ENTRY,           /* a value in such a map; the one who reads the list knows its form */
    KEY_TEXT,            /* char[]; "": the key may be absent */
    KEY_DURATION,        /* uint64_t, ns */
    KEY_DURATION_OR_OFF, /* uint64_t, ns; 0: off */
    KEY_COUNT,           /* uint64_t */
    KEY_SMALL_COUNT,     /* uint32_t */
    KEY_SIZE,            /* uint64_t, bytes */
    KEY_BOOL,            /* bool, one of two choices */
    KEY_CHOICE,          /* an enum: the index of the choice */
    KEY_SECRET,          /* struct settings_secret: its text, or none */
    KEY_SECRETS,         /* struct settings_secrets: a list of values, or of maps whose keys follow */
    KEY_HEADERS,         /* struct http_settings, of which its sources */
};

struct settings_key {
    const char *path; /* NULL ends the table */
    enum key_form form;
    size_t at; /* the offset of its value in struct settings */
    /* Of durations, counts and sizes. `most` 0: the bounds depend on other keys. */
    uint64_t least, most;
    const struct reader_choices *choices;
};

extern const struct settings_key settings_keys[];

/* The name of `key` within `group` ("": the file, "listen": that map), or NULL if it stands elsewhere. */
const char *settings_key_name(const struct settings_key *key, const char *group);

/* Reads all values whose rows have bounds or choices; what is absent keeps its default. */
bool settings_read_simple(const struct settings_reader *reader, struct settings *settings);

/* Why `key` would have no effect under the other settings, as the end of a sentence; NULL: it has one. */
const char *settings_key_idle(const struct settings_key *key, const struct settings *settings);

#endif
