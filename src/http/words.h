/*
 * words: what a gateway's request says, in its query and in fields of its head, as a query of the commands.
 *
 * The one idea: service_id, endpoint, tier, priority, cost and rule are what they are in JSON; every other name is a
 * dimension, and its value an identifier. An endpoint that is a path has one spelling (path.h). The query, which the
 * operator of the gateway writes, goes before the fields, which the config names. An empty value is an absent one: a
 * gateway writes it where its client said nothing. A value or endpoint that is too long is no error, since gateways may
 * let requests pass where their question is wrong. Pure.
 */
#ifndef HEADGATE_HTTP_WORDS_H
#define HEADGATE_HTTP_WORDS_H

#include "base/bytes.h"
#include "edge/settings/http_settings.h"
#include "http/message.h"
#include "wire/command.h"
#include "wire/command_query.h"
#include "wire/output.h"
#include "wire/path.h"

#include <stdbool.h>

enum { HTTP_WORD_BYTES = 64 };

struct http_words {
    struct command_query *query;
    unsigned denied_status;      /* that a refusal is answered with; 0: not said */
    unsigned said;               /* which of the names that are no dimensions were */
    char field[HTTP_WORD_BYTES]; /* the one that is wrong */
    char error[COMMAND_ERROR_BYTES];
    const struct hash_key *hash_key; /* tells long values apart */
    enum path_spelling spelling;     /* of the endpoint */
    struct output *decoded;          /* has what is not said as it is written */
    char hashed[COMMAND_IDS_MAX][COMMAND_HASHED_BYTES];
};

/* The words fill `query`, which has views of `words` where values are too long, and of `decoded`. */
void http_words_init(struct http_words *words, struct command_query *query, const struct hash_key *hash_key,
                     enum path_spelling spelling, struct output *decoded);
/* Adds the names of `query` ("a=b&c=d"); the words are views of it and of `decoded`. False: field and error say why. */
bool http_words_add_query(struct http_words *words, struct bytes query);
/* Adds what the fields of the head say that was not said yet. */
bool http_words_add_fields(struct http_words *words, const struct http_message *message,
                           const struct http_settings *settings);
/* The path of a gateway that sends it behind its own. */
bool http_words_add_endpoint(struct http_words *words, struct bytes path);
/* There is an identifier. */
bool http_words_end(struct http_words *words);

#endif
