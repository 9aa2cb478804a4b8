/*
 * path: one spelling of the path of a request, so that rules count it however a client has written it.
 *
 * The one idea: servers take many spellings for the same path (RFC 3986, 6.2.2). A path is brought to one segment by
 * segment. A byte that may stand in a segment as it is stands there so, and any other one, a lone "%" too, as "%" and
 * two digits, of which letters are capital: what is encoded and what is not stay apart, "/" above all. No path is
 * wrong, and only its first bytes are kept, so its work is one pass and its room is small. Pure.
 */
#ifndef HEADGATE_WIRE_PATH_H
#define HEADGATE_WIRE_PATH_H

#include "base/bytes.h"
#include "wire/command_query.h"

enum {
    PATH_ROOM_BYTES = COMMAND_SELECTOR_MAX_BYTES
}; /* of a path that are kept: more than a pattern of a rule has */

/* What is the same. In the order of the words that the config has for them. */
enum path_spelling {
    PATH_MERGE_SLASHES, /* encodings of a byte; "." and ".."; slashes one after the other, and one */
    PATH_KEEP_SLASHES,  /* the same but for slashes */
    PATH_IGNORE_CASE,   /* slashes, and letters of ASCII in both cases, which become small ones */
    PATH_AS_WRITTEN,    /* nothing: the text up to "?" */
};

/*
 * Returns the path of `text`, a target of HTTP ("/a?b", or "http://c/a"), in its spelling and without what follows "?"
 * or "#": a view of `text` where it is written so already, else of `room`. At most PATH_ROOM_BYTES are kept of what is
 * longer. What is no target but a name, such as "orders", stays as it is up to "?".
 */
struct bytes path_spell(struct bytes text, enum path_spelling spelling, char room[PATH_ROOM_BYTES]);

#endif
