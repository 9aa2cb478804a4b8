/*
 * options: long options and their help from one table per command.
 *
 * "--name value", "--name=value", flags without a value, and "--", after which everything is a word.
 */
#ifndef HEADGATE_OPERATOR_OPTIONS_H
#define HEADGATE_OPERATOR_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

struct option_spec {
    const char *name;     /* without the dashes */
    const char *argument; /* what its value is called; NULL for a flag */
    const char *help;     /* lines are broken with \n */
};

struct option_reader {
    const char *command; /* "headgate load": for sentences about mistakes */
    const struct option_spec *specs;
    size_t spec_count;
    char **argv; /* argv[0 .. argc), options and words */
    int argc, next;
    int words_only; /* after "--" */
};

enum { OPTION_WORD = -1, OPTION_END = -2, OPTION_WRONG = -3 };

/*
 * The index of the next option's spec, with its value (NULL for a flag); or OPTION_WORD with the word in
 * *value, OPTION_END, or OPTION_WRONG: then a sentence was written to stderr.
 */
int option_next(struct option_reader *reader, const char **value);

/* One line or more per option, aligned. */
void option_help(FILE *out, const struct option_spec *specs, size_t spec_count);

#endif
