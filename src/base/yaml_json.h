/*
 * yaml_json: JSON for a reader of YAML. Pure.
 *
 * The one idea: JSON is a part of YAML but for one thing. Many programs write a character beyond 16 bits as two
 * escapes, "\ud83d\ude00". YAML has one escape for such a character, "\U0001f600".
 */
#ifndef HEADGATE_BASE_YAML_JSON_H
#define HEADGATE_BASE_YAML_JSON_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* True: the text has two such escapes somewhere, and may be JSON. */
bool yaml_json_has_pairs(struct bytes text);

/*
 * Writes the text with one escape in the place of two, which takes at most text.size bytes. Lines stay as they are.
 * Returns the bytes written; 0: the text is no object or array of JSON, and may mean something else by such escapes.
 */
size_t yaml_json_join_pairs(struct bytes text, char *joined);

#endif
