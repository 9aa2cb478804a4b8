/*
 * settings_changes: what differs between the settings of a running daemon and those of its config as it is now.
 *
 * The one idea: the table of keys (settings_keys.h) says where each value is, so no key can be left out. Keys are
 * told apart by whether a running daemon takes their new values over; others need a restart. This file changes
 * nothing but in settings_take.
 */
#ifndef HEADGATE_EDGE_SETTINGS_SETTINGS_CHANGES_H
#define HEADGATE_EDGE_SETTINGS_SETTINGS_CHANGES_H

#include "edge/settings/settings.h"

enum {
    SETTINGS_CHANGES_MAX = SETTINGS_KEYS_MAX,
    SETTINGS_CHANGES_BYTES = 512,
    SETTINGS_RENEWED_MAX = 4,
};

/* Paths of keys, as "clients.idle_timeout", in the order of the table. */
struct settings_changes {
    uint32_t taken_count, restart_count;
    const char *taken[SETTINGS_CHANGES_MAX];   /* settings_take takes them over */
    const char *restart[SETTINGS_CHANGES_MAX]; /* without effect until the daemon is restarted */
    uint32_t renewed_count;
    const char *renewed[SETTINGS_RENEWED_MAX]; /* name the same file as before, which has something new */
};

/* What came of reading the config again. */
struct reload_report {
    struct settings_changes changes;
    uint64_t certificate_ends_s; /* since 1970; 0: no port speaks TLS */
    struct error limits_wait;    /* why changed limits wait for a restart; an empty text: they do not */
    struct error limits_differ;  /* that the limits of the file are not those in force; an empty text: they are */
};

/* `next` must have its secrets. What stands in files that the config only names is not compared, but for secrets. */
void settings_compare(const struct settings *now, const struct settings *next, struct settings_changes *changes);
/* The running daemon cannot take the limits of `next` over: `next` has those of `now`, and they wait for a restart. */
void settings_keep_limits(const struct settings *now, struct settings *next, struct settings_changes *changes);
/* Notes that the files of `path` have something new, unless a key that begins with `path` has changed itself. */
void settings_note_renewed(struct settings_changes *changes, const char *path);
/* Copies the values of `next` that a running daemon takes over. */
void settings_take(struct settings *now, const struct settings *next);
/* Writes the paths between commas, cut to the room (at least 1). Returns `text`. */
const char *settings_print_paths(const char *const *paths, uint32_t count, char *text, size_t room);

#endif
