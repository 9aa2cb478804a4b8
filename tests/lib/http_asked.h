/*
 * http_asked: requests of HTTP and their answers, as texts, by a node that is alone, for tests of src/http.
 *
 * The one idea: one client, whose session and last answer a test may look at.
 */
#ifndef HEADGATE_TESTS_LIB_HTTP_ASKED_H
#define HEADGATE_TESTS_LIB_HTTP_ASKED_H

#include "http/http.h"
#include "tests/lib/served.h"

enum { HTTP_ASKED_ANSWER_BYTES = 2 * 128 * 1024 };

struct http_asked {
    struct http_settings settings;
    struct http *http;
    struct http_session session;
    enum serve_status status;
    size_t consumed;
    char answer[HTTP_ASKED_ANSWER_BYTES];
};
extern struct http_asked asked;

void http_asked_begin(void);
/* The same with a limit of the reservations of one address; 0: none. */
void http_asked_begin_with(uint32_t address_reservations);
void http_asked_end(void);
void http_asked_limits_by(enum http_limit_fields fields);
struct turn http_asked_now(void);

/* What is answered to these bytes, one answer or several. */
const char *http_ask(const char *bytes);
const char *http_get(const char *target);
const char *http_post(const char *path, const char *body);

/* Parts of an answer: its status, its body, and a field of its head, "" if it has none. */
unsigned http_code(const char *text);
const char *http_body_of(const char *text);
const char *http_field(const char *text, const char *name);

#endif
