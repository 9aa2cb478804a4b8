/*
 * limiter: what headgate/limiter.h is made of, but for what the system is asked for.
 */
#ifndef HEADGATE_LIMIT_LIMITER_H
#define HEADGATE_LIMIT_LIMITER_H

#include "headgate/limiter.h"

/* See headgate_limiter_create. `prepare` is shown the memory of all keys before it is touched. */
struct headgate_limiter *limiter_create(const struct headgate_options *options,
                                        void (*prepare)(void *memory, size_t bytes), char *error,
                                        size_t error_room);

/* The memory of all keys. */
void *limiter_memory(struct headgate_limiter *limiter, size_t *bytes);

#endif
