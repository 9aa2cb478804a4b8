/*
 * shelf: a row of things in order, of which a copy costs next to nothing.
 *
 * The one idea: the row lies in pieces, and a copy shares them; a piece is copied when it is about to change and
 * somebody else has it, too. So a change can be prepared beside what is in use, a part at a time, and then take its
 * place. Things have counted references, all in one thread; the shelf has one of each. What order means is the owner's.
 * Where there is no memory, it asserts.
 */
#ifndef HEADGATE_RULES_SHELF_H
#define HEADGATE_RULES_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHELF_PIECE_MAX = 256 };

struct shelf_kind {
    void (*retain)(void *thing);
    void (*release)(void *thing);
    uint64_t (*digest)(const void *thing); /* NULL: nobody asks for them */
};

struct shelf_piece;

/* Where a piece stands in this row: in a copy it may stand elsewhere. */
struct shelf_place {
    struct shelf_piece *piece;
    size_t first; /* how many things are in front of it */
};

struct shelf {
    const struct shelf_kind *kind;
    size_t count;
    size_t place_count, place_room;
    struct shelf_place *place;
};

void shelf_init(struct shelf *shelf, const struct shelf_kind *kind);
void shelf_close(struct shelf *shelf);
/* `copy` is not initialised yet. */
void shelf_copy(struct shelf *copy, const struct shelf *shelf);

/* For index < count. */
void *shelf_at(const struct shelf *shelf, size_t index);
/* How many things are in front of the first for which `before` is false. */
size_t shelf_search(const struct shelf *shelf, bool (*before)(const void *context, const void *thing),
                    const void *context);
/* The digests of the first `count`, by exclusive or: the same in whatever order. */
uint64_t shelf_digest(const struct shelf *shelf, size_t count);

/* These take over a reference. */
void shelf_insert(struct shelf *shelf, size_t index, void *thing);
void shelf_replace(struct shelf *shelf, size_t index, void *thing);
void shelf_remove(struct shelf *shelf, size_t index);

#endif
