/*
 * served_worlds: serves the same commands in two equal worlds, one after the other, and compares
 * every byte of the replies.
 */
#ifndef HEADGATE_TESTS_LIB_SERVED_WORLDS_H
#define HEADGATE_TESTS_LIB_SERVED_WORLDS_H

#include "tests/lib/draw.h"
#include "tests/lib/served.h"

enum { SERVED_ANSWERS_BYTES = 8 * 1024 * 1024 };

/* All replies of one world. */
struct served_answers {
    size_t size;
    char text[SERVED_ANSWERS_BYTES];
};

/*
 * Writes words as client libraries do. `line` has blanks between words, and '~' for a blank within
 * a word. Returns the size.
 */
size_t served_words(char *out, size_t room, const char *line);

void served_serve(struct bytes input, struct served_answers *answers);

/* Says where the replies first differ. */
bool served_equal(const struct served_answers *one, const char *one_name, const struct served_answers *other,
                  const char *other_name, uint64_t seed);

#endif
