/*
 * yaml_text: lines and characters of a text in YAML, which libyaml does not tell.
 *
 * The one idea: libyaml says where it gave up, in bytes or lines, and takes any character that an escape can name. The
 * sentences about a text need its line, whether a tab indents it, and which of its characters a terminal can show.
 * Knows nothing of keys and values: see yaml_tree.h. Pure.
 */
#ifndef HEADGATE_BASE_YAML_TEXT_H
#define HEADGATE_BASE_YAML_TEXT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* The line (from 1) that has the byte at that offset. */
unsigned yaml_text_line(struct bytes text, size_t offset);
/* The indentation of that line (from 1) holds a tab. */
bool yaml_text_has_tab(struct bytes text, unsigned line);

/* ---- texts that libyaml has read: they are UTF-8 ---- */

/* Removes the first character of a text that is not empty. False: it would not be read back when written as itself. */
bool yaml_text_take_printable(struct bytes *text);
/* False: some character would not be read back when written as itself, as those of the escapes "\0" and "\u2028". */
bool yaml_text_is_printable(struct bytes text);

#endif
