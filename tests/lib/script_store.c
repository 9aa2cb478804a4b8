#include "tests/lib/script_store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool script_store_start(struct script_store *store)
{
    return test_redis_start(&store->redis) && script_store_load(store, central_script);
}

void script_store_stop(struct script_store *store)
{
    test_redis_stop(&store->redis);
}

bool script_store_load(struct script_store *store, const char *script)
{
    redisReply *reply = redisCommand(store->redis.client, "SCRIPT LOAD %s", script);
    assert(reply != NULL);
    const bool good = reply->type == REDIS_REPLY_STRING && reply->len == 40;
    if (good)
        memcpy(store->sha, reply->str, 41);
    else
        printf("# %s\n", reply->str);
    freeReplyObject(reply);
    return good;
}

struct central_answer script_store_call(const struct script_store *store, enum central_way way,
                                        const struct central_charge *charges, uint32_t count, uint64_t now_us)
{
    struct central_words words;
    struct central_answer answer = {.count = 0};
    int64_t numbers[1 + CHARGES_MAX * CENTRAL_FIGURES];
    central_script_call(&words, store->sha, "test:", way, charges, count, SCRIPT_SPAN_US, now_us);
    redisReply *reply = redisCommandArgv(store->redis.client, words.count, words.word, words.size);
    assert(reply != NULL);
    if (reply->type == REDIS_REPLY_ERROR)
        printf("# %s\n", reply->str);
    assert(reply->type == REDIS_REPLY_ARRAY && reply->elements <= sizeof numbers / sizeof numbers[0]);
    for (size_t i = 0; i < reply->elements; i++)
        numbers[i] = reply->element[i]->integer;
    const bool good = central_script_read(&answer, numbers, reply->elements, count);
    assert(good);
    freeReplyObject(reply);
    return answer;
}
