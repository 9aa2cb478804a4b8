/*
 * script_store: the script of the central store in a real redis-server of a test's own, called at times that the test
 * gives it.
 */
#ifndef HEADGATE_TESTS_LIB_SCRIPT_STORE_H
#define HEADGATE_TESTS_LIB_SCRIPT_STORE_H

#include "edge/central/central_script.h"
#include "tests/lib/redis.h"

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_SPAN_US UINT64_C(100000) /* of what is taken in advance */

struct script_store {
    struct test_redis redis;
    char sha[64];
};

/* False: there is no redis-server here, or it does not answer. */
bool script_store_start(struct script_store *store);
void script_store_stop(struct script_store *store);
/* Calls are of this script from now on. False: Redis refuses the script. */
bool script_store_load(struct script_store *store, const char *script);
/* `now_us` 0: by the store's own clock. */
struct central_answer script_store_call(const struct script_store *store, enum central_way way,
                                        const struct central_charge *charges, uint32_t count, uint64_t now_us);

#endif
