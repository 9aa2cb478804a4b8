/*
 * redis: a real redis-server of a test's own, on a socket in a directory that goes away with it.
 */
#ifndef HEADGATE_TESTS_LIB_REDIS_H
#define HEADGATE_TESTS_LIB_REDIS_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <sys/types.h>

struct test_redis {
    pid_t pid;
    char directory[64];
    redisContext *client;
};

/* False: there is no redis-server here, or it does not answer. */
bool test_redis_start(struct test_redis *redis);
void test_redis_stop(struct test_redis *redis);

#endif
