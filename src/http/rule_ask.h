/*
 * rule_ask: what the paths of rules have in common: versions as ETags, and changes that are asked for. Internal to
 * src/http.
 *
 * The one idea: an ETag is the name of a version, as RULE HISTORY has it ("change"). A change that says which version
 * it was made from is refused once another one is there: If-Match is held against the rules when the change has its
 * turn, not only when it comes.
 */
#ifndef HEADGATE_HTTP_RULE_ASK_H
#define HEADGATE_HTTP_RULE_ASK_H

#include "http/call.h"

enum {
    ETAG_BYTES = 48,
    PLAN_MAX_BYTES = 48 << 10, /* of what a dry run tells of single rules */
    PLAN_RULES_MAX = 100,      /* that it tells of */
};

/* The name of a version, quoted, in `text`. */
void rule_etag(struct rule_stamp stamp, char text[ETAG_BYTES]);
/* The name of all rules with all versions. */
void book_etag(const struct rulebook *book, char text[ETAG_BYTES]);
/* Puts the field of the head. */
void put_etag(struct http_call *call, const char *etag);
/* Whether If-Match or If-None-Match has this ETag, or '*'. Weak ones match only if `weak`. */
bool etag_is_in(struct bytes field, const char *etag, bool weak);

/*
 * rule_expect.c: reads If-Match and If-None-Match of a change of a rule, or If-Match of a change of many rules, which
 * is made from all rules. False: the call is answered.
 */
bool http_read_expectation(struct http_call *call, struct rule_name name, struct rules_expectation *expects);
bool http_read_book_expectation(struct http_call *call, struct rules_expectation *expects);

enum http_change_kind { HTTP_CHANGE_PUT, HTTP_CHANGE_DELETE, HTTP_CHANGE_MANY };

/*
 * Makes the change, or only tries it (changes->dry_run), and answers the call; or the session waits for the outcome.
 * A DELETE of a rule that is not there changes nothing, and is answered once its end is on the disk.
 */
void http_change(struct http_call *call, enum http_change_kind kind, const struct rule_changes *changes);

/* rule_history.c: answers with the versions of the rule; 404 if there was never one. */
void http_rule_history(struct http_call *call, const struct rule_name *name);

/* rule_plan.c: puts "plan":[...], what each rule of the change would become. Puts nothing if the text has a mistake. */
void put_plan(struct http_call *call, struct output *output, const struct rule_changes *changes);

#endif
