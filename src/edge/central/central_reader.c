#include "edge/central/central_reader.h"

#include <stddef.h>

#if HIREDIS_MAJOR >= 1
typedef size_t elements_t;
#else
typedef int elements_t;
#endif

enum {
    ELEMENTS_MAX = 1024,    /* more than any answer of the script, or of a sentinel, has */
    ANSWER_MAX = 256 << 10, /* bytes, of a string or an error */
};

/*
 * False: nobody asked for the object. The functions are called for one answer at a time, while the call that it
 * answers is still in its list. An error that nobody asked for is one that hiredis expects, where a server has too many
 * clients.
 */
static bool is_asked(const redisReadTask *task)
{
    const struct central_reader *reader = task->privdata;
    return task->parent != NULL || reader->redis->replies.head != NULL || task->type == REDIS_REPLY_ERROR;
}

static const redisReplyObjectFunctions *usual(const redisReadTask *task)
{
    const struct central_reader *reader = task->privdata;
    return &reader->usual;
}

static void *make_string(const redisReadTask *task, char *text, size_t size)
{
    return is_asked(task) ? usual(task)->createString(task, text, size) : NULL;
}

static void *make_array(const redisReadTask *task, elements_t elements)
{
    return is_asked(task) && elements <= ELEMENTS_MAX ? usual(task)->createArray(task, elements) : NULL;
}

static void *make_integer(const redisReadTask *task, long long number)
{
    return is_asked(task) ? usual(task)->createInteger(task, number) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
    return is_asked(task) ? usual(task)->createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double number, char *text, size_t size)
{
    return is_asked(task) ? usual(task)->createDouble(task, number, text, size) : NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
    return is_asked(task) ? usual(task)->createBool(task, value) : NULL;
}
#endif

void central_reader_guard(struct central_reader *reader, redisAsyncContext *redis)
{
    *reader =
        (struct central_reader){.redis = redis, .usual = *redis->c.reader->fn, .guarded = *redis->c.reader->fn};
    reader->guarded.createString = make_string;
    reader->guarded.createArray = make_array;
    reader->guarded.createInteger = make_integer;
    reader->guarded.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
    reader->guarded.createDouble = make_double;
    reader->guarded.createBool = make_bool;
#endif
    redis->c.reader->fn = &reader->guarded;
    redis->c.reader->privdata = reader;
}

bool central_reader_is_flooded(const redisAsyncContext *redis)
{
    const redisReader *reader = redis->c.reader;
    return reader->len - reader->pos > ANSWER_MAX;
}

const char *central_reader_reason(const redisAsyncContext *redis)
{
    if (redis->err == REDIS_ERR_OOM)
        return "it answers what nobody asked, or more than it may";
    return redis->errstr[0] != '\0' ? redis->errstr : "the connection was lost";
}
