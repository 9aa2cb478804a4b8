/*
 * shapes: the requests that are known by how they are written, and the charges that they come to
 * under the rules in force.
 *
 * The one idea: CAN_ACCESS of a key is a shape from the start; a few other shapes are learned from
 * parsed requests. A request of a known shape is neither parsed nor matched, only hashed. Internal
 * to the commands.
 */
#ifndef HEADGATE_COMMANDS_SHAPES_H
#define HEADGATE_COMMANDS_SHAPES_H

#include "commands/learning.h"
#include "rules/match_shape.h"
#include "wire/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct commands;
struct turn;

enum {
    SHAPE_ACCESS, /* CAN_ACCESS of a key; the shapes with higher numbers are learned */
    SHAPES_MAX = 5,
};

struct known_shape {
    struct shape form; /* of a learned shape */
    struct shape_match match;
    uint32_t work;   /* of one such request, see commands.h */
    uint8_t command; /* enum command_id */
    bool patient;    /* the request may wait */
};

struct shapes {
    uint64_t edition; /* the edition of the rules; 0: no shape is known */
    /* SHAPE_ACCESS: the value of the request decides over nothing but the ids of its keys */
    bool access_is_known;
    /* SHAPE_ACCESS: moreover, each request comes to one key, and that key may deny it, at once */
    bool access_is_single;
    struct learning learning; /* of the learned shapes */
    struct known_shape known[SHAPES_MAX];
};

/* The work of a request for a decision that comes to so many keys. */
uint32_t shape_work(uint32_t key_count);
/*
 * Brings the known shapes up to the rules in force. Must be called before requests join that may
 * come under other rules than the requests before them.
 */
void shapes_renew(struct commands *commands, struct turn turn);
/*
 * Finds the shape of the request at the front of `input`. Returns the size of the request, and fills
 * `shape` and `ids`. 0: the request has no known shape.
 */
size_t shapes_find(struct shapes *shapes, struct bytes input, uint32_t *shape, struct key_id *ids);
/* The same for a request of that shape, which is known. 0: the request has another one. */
size_t shapes_read(const struct shapes *shapes, uint32_t shape, struct bytes input, struct key_id *ids);
/* So many requests of that shape were found and read. */
void shapes_note(struct shapes *shapes, uint32_t shape, uint32_t count);
/*
 * Gives the chance to learn the shape of a request. `words` were parsed from `frame` and came to
 * `match`. The new shape may replace only a shape that no pending request has.
 */
void shapes_learn(struct commands *commands, struct bytes frame, const struct resp_command *words,
                  enum command_id command, const struct match *match);

#endif
