/*
 * live: GET /v1/live, the state of this daemon once a second, as server-sent events.
 *
 * The one idea: an event has the whole state and no differences, so that a reader that is too slow for some events
 * misses nothing: counts are those since the daemon's start, and a reader subtracts. All readers of a thread get the
 * same bytes, which are made once. A reader is admitted while fewer places are taken by its address (a /64) than are
 * free, and is answered with 503 otherwise: so readers of one address take half of the places, and those of several
 * addresses never take the last one from another address. Whoever calls has the clock; here is no timer and no I/O.
 */
#ifndef HEADGATE_HTTP_LIVE_H
#define HEADGATE_HTTP_LIVE_H

#include "http/http.h"

enum {
    HTTP_LIVE_STEP_MS = 1000,         /* from one event to the next */
    HTTP_LIVE_MAX = LIVE_READERS_MAX, /* connections of a daemon that read events */
};

/* Makes the event that http_feed gives until the next request is served. Call it inside the gate. */
void http_make_event(struct http *http, struct turn turn);
/* As struct service asks of `feed`: false if the reader's user is gone or may not read. Call it inside the gate. */
bool http_feed(const struct http *http, const struct http_session *session, struct output *output);

/* The connection reads events no more. */
void http_end_live(struct http_session *session, struct commands *commands);

#endif
