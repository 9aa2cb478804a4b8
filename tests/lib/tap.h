/*
 * tap: writes the Test Anything Protocol for unit tests, which run under prove.
 *
 * The one idea: one program for each module. tap_done prints the plan last, and main returns its
 * value. An OK that fails prints its place, and the program goes on. A program has one count of its
 * tests.
 */
#ifndef HEADGATE_TESTS_LIB_TAP_H
#define HEADGATE_TESTS_LIB_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * Under a sanitizer, and without the optimiser, everything takes many times longer: tests make fewer
 * rounds.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { TAP_SLOW = 1 };
#else
enum { TAP_SLOW = 0 };
#endif

__attribute__((format(printf, 4, 5))) bool tap_report(bool passed, const char *file, int line, const char *format,
                                                      ...);

/* OK(condition, "what holds %d", 1) is one test. Its value is the condition. */
#define OK(condition, ...) tap_report((condition), __FILE__, __LINE__, __VA_ARGS__)

/* Compares two numbers, and shows both if they differ. */
#define OK_U64(got, expected, ...)                                                                                 \
    do {                                                                                                           \
        uint64_t tap_got = (got), tap_expected = (expected);                                                       \
        if (!OK(tap_got == tap_expected, __VA_ARGS__))                                                             \
            printf("# got %" PRIu64 ", expected %" PRIu64 "\n", tap_got, tap_expected);                            \
    } while (0)
#define OK_I64(got, expected, ...)                                                                                 \
    do {                                                                                                           \
        int64_t tap_got = (got), tap_expected = (expected);                                                        \
        if (!OK(tap_got == tap_expected, __VA_ARGS__))                                                             \
            printf("# got %" PRId64 ", expected %" PRId64 "\n", tap_got, tap_expected);                            \
    } while (0)
#define OK_STRING(got, expected, ...)                                                                              \
    do {                                                                                                           \
        const char *tap_got = (got), *tap_expected = (expected);                                                   \
        if (!OK(strcmp(tap_got, tap_expected) == 0, __VA_ARGS__))                                                  \
            printf("# got \"%s\"\n# expected \"%s\"\n", tap_got, tap_expected);                                    \
    } while (0)

void tap_skip(const char *what, const char *why);

/* Prints the plan. Returns the exit status for main. */
int tap_done(void);

#endif
