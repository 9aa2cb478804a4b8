/*
 * options: long options and their help from one table per command.
 *
 * Reads "--name value", "--name=value", flags without a value, and "--", after which every argument
 * is a word. The caller checks values.
 */
#ifndef HEADGATE_OPERATOR_OPTIONS_H
#define HEADGATE_OPERATOR_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

struct option_spec {
    const char *name;     /* without the dashes */
    const char *argument; /* the name of the value; NULL: a flag */
    const char *help;     /* \n breaks lines */
};

struct option_reader {
    const char *command; /* for sentences about mistakes: "headgate load" */
    const struct option_spec *specs;
    size_t spec_count;
    char **argv; /* argv[0 .. argc): options and words */
    int argc, next;
    int words_only; /* "--" was read */
};

static inline struct option_reader option_reader_of(const char *command, const struct option_spec *specs,
                                                    size_t spec_count, int argc, char **argv)
{
    return (struct option_reader){.command = command,
                                  .specs = specs,
                                  .spec_count = spec_count,
                                  .argv = argv,
                                  .argc = argc};
}

enum { OPTION_WORD = -1, OPTION_END = -2, OPTION_WRONG = -3 };

/*
 * Returns the index of the next option's spec, with its value (NULL for a flag); or OPTION_WORD
 * with the word in *value; or OPTION_END; or OPTION_WRONG after a sentence on stderr.
 */
int option_next(struct option_reader *reader, const char **value);

/* Prints the options aligned, at least one line each. */
void option_help(FILE *out, const struct option_spec *specs, size_t spec_count);

#endif
