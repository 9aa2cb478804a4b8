/*
 * served_worlds: for tests that serve the same commands in two equal worlds, one after the other, and compare every
 * byte that was answered.
 */
#ifndef HEADGATE_TESTS_LIB_SERVED_WORLDS_H
#define HEADGATE_TESTS_LIB_SERVED_WORLDS_H

#include "tests/lib/draw.h"
#include "tests/lib/served.h"

enum { SERVED_ANSWERS_BYTES = 8 * 1024 * 1024 };

/* What one world said. */
struct served_answers {
    size_t size;
    char text[SERVED_ANSWERS_BYTES];
};

/* Words parted by blanks, in which '~' is a blank, as client libraries write them; the size. */
size_t served_words(char *out, size_t room, const char *line);

void served_serve(struct bytes input, struct served_answers *answers);

/* Says where they first differ. */
bool served_equal(const struct served_answers *one, const char *one_name, const struct served_answers *other,
                  const char *other_name, uint64_t seed);

#endif
