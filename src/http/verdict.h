/*
 * verdict: a decision as an answer of HTTP: its JSON, and the fields of the head that tell of the limit.
 *
 * The one idea: a report has the figures of the rule that decided, the one that refused or else the one that is nearest
 * to its limit, as RESP's CHECK has. Times in the head are whole seconds, rounded up: whoever waits as long as
 * Retry-After says is not refused for having come too early. gRPC tells the same to gateways.
 */
#ifndef HEADGATE_HTTP_VERDICT_H
#define HEADGATE_HTTP_VERDICT_H

#include "commands/verdict_report.h"
#include "http/call.h"

/* Puts the object, without its closing bracket, so that more can follow. */
void put_verdict(struct output *output, const struct verdict_report *report);
/* Puts ,"reason":"share". */
void put_verdict_reason(struct output *output, enum verdict_reason reason);
/* Puts what one of them said, an object without its closing bracket, and with its reason at the end. */
void put_verdict_rule(struct output *output, const struct commands *commands, const struct match *match,
                      const struct decision *decision, uint32_t i);
/* Puts ,"rules":[...]: what each rule said. */
void put_verdict_rules(struct output *output, const struct commands *commands, const struct match *match,
                       const struct decision *decision);
/* Puts `fields` as lines of the head, the reason of a refusal, and Retry-After. */
void put_verdict_fields(struct output *output, const struct verdict_report *report, enum http_limit_fields fields);

#endif
