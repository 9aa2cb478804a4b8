/*
 * central_reader: bounds what a connection of hiredis reads of the store's answers.
 *
 * The one idea: hiredis asks its functions for each object of an answer before it goes on, and whoever gives it none
 * ends the connection. So an answer that nobody asked for, which hiredis takes for a mistake of its caller and ends the
 * process, ends the connection instead, and so does an array that is larger than any of the script's. Knows nothing of
 * what answers mean.
 */
#ifndef HEADGATE_EDGE_CENTRAL_CENTRAL_READER_H
#define HEADGATE_EDGE_CENTRAL_CENTRAL_READER_H

#include <hiredis/async.h>
#include <stdbool.h>

struct central_reader {
    const redisAsyncContext *redis;
    redisReplyObjectFunctions usual, guarded;
};

/* Must be called before the connection has read anything. `reader` must outlive the connection. */
void central_reader_guard(struct central_reader *reader, redisAsyncContext *redis);
/* True: what has come, and is no whole answer yet, is longer than any answer. */
bool central_reader_is_flooded(const redisAsyncContext *redis);
/* Why the connection ends, as a sentence to an operator. */
const char *central_reader_reason(const redisAsyncContext *redis);

#endif
