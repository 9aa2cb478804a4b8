/*
 * array: memory of arrays that grow.
 *
 * The one idea: an owner keeps a pointer to the first element, the number of elements that fit (the room), and how many
 * there are. Room at least doubles when it grows, so that an element is copied about once in all.
 */
#ifndef HEADGATE_BASE_ARRAY_H
#define HEADGATE_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room for `count` elements of an array. `first`: the address of the owner's pointer, which may be NULL while
 * *room is 0; the elements may move. False: memory is short, and the array is as before.
 */
bool array_reserve(void *first, size_t *room, size_t count, size_t element_bytes);
#define ARRAY_RESERVE(first, room, count)                                                                          \
    array_reserve(&(first), &(room), (count),                                                                      \
                  sizeof *(first)) /* NOLINT(bugprone-sizeof-expression): of pointers too */

/* The same where the process cannot go on without the memory, and ends. */
void array_require(void *first, size_t *room, size_t count, size_t element_bytes);
#define ARRAY_REQUIRE(first, room, count)                                                                          \
    array_require(&(first), &(room), (count),                                                                      \
                  sizeof *(first)) /* NOLINT(bugprone-sizeof-expression): of pointers too */

#endif
