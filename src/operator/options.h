/*
 * options: long options and their help from one table per command.
 *
 * Reads "--name value", "--name=value", flags without a value, and "--", after which every argument
 * is a word. Words may stand between options. Of an option that is given twice the last value counts.
 * The caller checks values.
 */
#ifndef HEADGATE_OPERATOR_OPTIONS_H
#define HEADGATE_OPERATOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

enum {
    OPTIONS_MAX = 48,      /* of a command */
    OPTION_WORDS_MAX = 66, /* more than any command takes */
};

/* What a command was given; the strings are argv's. */
struct arguments {
    const char *value[OPTIONS_MAX];     /* by the index of the option's spec; NULL: not given; a flag has "" */
    const char *word[OPTION_WORDS_MAX]; /* further words are left out */
    uint32_t word_count;
};

/* Reads all options and words. False: stderr says which one is wrong. */
bool arguments_read(struct option_reader *reader, struct arguments *arguments);

/* What a command takes: options as bits, and words behind the first `skipped` ones. `words`: how help calls them. */
struct arguments_expected {
    uint64_t allowed;
    uint32_t skipped, words_min, words_max;
    const char *words;
};
/* False: stderr says which option or word is too much or missing. */
bool arguments_fit(const struct option_reader *reader, const struct arguments *arguments,
                   const struct arguments_expected *expected);

/* Prints the options aligned, at least one line each. */
void option_help(FILE *out, const struct option_spec *specs, size_t spec_count);

#endif
