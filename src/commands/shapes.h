/*
 * shapes: the requests that are known by how they are written, and what they come to under the rules in force.
 *
 * The one idea: CAN_ACCESS of a key is a shape from the start; a few others are learned from what is parsed. A request
 * of a known shape is neither parsed nor matched, only hashed. Internal to the commands.
 */
#ifndef HEADGATE_COMMANDS_SHAPES_H
#define HEADGATE_COMMANDS_SHAPES_H

#include "rules/match_shape.h"
#include "wire/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct commands;
struct turn;

enum {
    SHAPE_ACCESS, /* CAN_ACCESS of a key; the shapes behind it are learned */
    SHAPES_MAX = 5,
};

struct known_shape {
    struct shape form; /* of a learned one */
    struct shape_match match;
    uint8_t command; /* enum command_id */
};

struct shapes {
    uint64_t edition;              /* of the rules; 0: nothing is known */
    bool access_is_known;          /* SHAPE_ACCESS: values decide over nothing but the ids of keys */
    bool access_is_single;         /* and each request comes to one key, by which it may be denied */
    uint64_t recognised;           /* requests of learned shapes */
    uint32_t next, last;           /* to be replaced; that was recognised last */
    uint32_t trust, passed;        /* 0: few are looked at; requests that were not */
    uint32_t unknown, learn_every; /* so many unknown ones until one is remembered; and then until the next */
    bool useful;                   /* something was recognised since one was remembered */
    struct known_shape known[SHAPES_MAX];
};

/* Brings what is known up to the rules in force. Must be called before requests join that may come
 * under other rules than the requests before them. */
void shapes_renew(struct commands *commands, struct turn turn);
/* The size of the request of a learned shape at the front of `input`, its `shape` and its ids. Else 0. */
size_t shapes_find(struct shapes *shapes, struct bytes input, uint32_t *shape, struct key_id *ids);
/*
 * `words` were parsed of `frame` and matched: their shape may be worth learning, in the place of one that no pending
 * request has.
 */
void shapes_learn(struct commands *commands, struct bytes frame, const struct resp_command *words,
                  enum command_id command, const struct match *match);

#endif
