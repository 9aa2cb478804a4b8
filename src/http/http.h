/*
 * http: serves HTTP/1 clients: bytes in, decisions of the commands, bytes out. docs/http.md says what it serves.
 *
 * The one idea: HTTP is a service of the listener beside RESP (struct service), so limits, deadlines, turns and buffers
 * are the same. It asks by the calls of commands/ask.h, so decisions are the same. Between the two lies only form:
 * message.h finds a request, routes.c its path, and the path's function fills an answer. No I/O; no allocation for a
 * request, but for those about rules.
 */
#ifndef HEADGATE_HTTP_HTTP_H
#define HEADGATE_HTTP_HTTP_H

#include "commands/commands.h"
#include "edge/clients/listener.h"
#include "edge/settings/http_settings.h"
#include "http/message.h"

struct http;
struct http_change;

/* What one connection remembers between requests. Lives in the listener's memory, zeroed before http_open. */
struct http_session {
    struct http_framer framer;
    bool known;              /* it has asked something, with the password if there is one */
    bool waits_last;         /* it waits for an answer, or has waited, and is closed then */
    bool waits_head;         /* the answer has no body */
    bool waits_check;        /* its secret is being compared: the request was not taken, and is served again */
    bool live;               /* it reads events: see live.h */
    uint8_t kept;            /* the settings that the waiting request began with: see options.h; 0: none are kept */
    uint8_t refused;         /* wrong passwords, one after the other */
    uint32_t waiting;        /* the ticket of the request that waits for its share, see patient.h; 0: none does */
    uint32_t reader_edition; /* of the user that reads events */
    const struct user *reader;  /* who reads events; NULL: user_default */
    struct http_change *change; /* of rules, whose outcome it waits for; NULL: none */
    char address[LISTENER_ADDRESS_BYTES];
};

/* What a client is told before its connection is closed, see struct service. */
extern const char http_too_many[], http_unfinished[];

/* `commands` outlives it, and is used from the first request on. NULL without memory. */
struct http *http_create(struct commands *commands, const struct http_settings *settings);
void http_destroy(struct http **http);
/* From now on each connection ends behind an answer. */
void http_leave(struct http *http);
/* Other settings, for requests that begin from now on. */
void http_take_settings(struct http *http, const struct http_settings *settings);

void http_open(struct http_session *session, const char *address);
void http_close(struct http *http, struct http_session *session);
/* As struct service asks of `serve`, with the time of this turn. For SERVE_DELAY see http_delay_ms. */
enum serve_status http_serve(struct http *http, struct http_session *session, struct bytes input,
                             struct output *output, struct turn turn, size_t *consumed);
/* As struct service asks of `resume`. */
bool http_resume(struct http *http, struct http_session *session, struct output *output, struct turn turn);
/* As struct service asks of `ends`. */
bool http_ends(const struct http_session *session);
uint32_t http_delay_ms(const struct http_session *session);
/* The work of the last http_serve, see struct serve_budget. */
uint32_t http_worked(const struct http *http);

#endif
