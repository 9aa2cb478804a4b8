#include "rules/shelf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct shelf_piece {
    uint32_t references, count;
    uint64_t digest; /* of all its things */
    void *thing[SHELF_PIECE_MAX];
};

/* ---- pieces ---- */

static uint64_t digest_of(const struct shelf *shelf, const void *thing)
{
    return shelf->kind->digest ? shelf->kind->digest(thing) : 0;
}

static void release_piece(const struct shelf *shelf, struct shelf_piece *piece)
{
    assert(piece->references > 0);
    if (--piece->references > 0)
        return;
    for (uint32_t i = 0; i < piece->count; i++)
        shelf->kind->release(piece->thing[i]);
    free(piece);
}

/* The piece at that place, nobody else's from now on. */
static struct shelf_piece *own_piece(struct shelf *shelf, size_t place)
{
    struct shelf_piece *piece = shelf->place[place].piece;
    if (piece->references == 1)
        return piece;
    struct shelf_piece *own = malloc(sizeof *own);
    assert(own && "out of memory");
    *own = (struct shelf_piece){.references = 1, .count = piece->count, .digest = piece->digest};
    memcpy(own->thing, piece->thing, piece->count * sizeof(void *));
    for (uint32_t i = 0; i < own->count; i++)
        shelf->kind->retain(own->thing[i]);
    piece->references--;
    shelf->place[place].piece = own;
    return own;
}

/* An empty piece at that place. */
static void add_piece(struct shelf *shelf, size_t place, size_t first)
{
    if (shelf->place_count == shelf->place_room) {
        size_t room = shelf->place_room ? 2 * shelf->place_room : 8;
        struct shelf_place *grown = realloc(shelf->place, room * sizeof *grown);
        assert(grown && "out of memory");
        shelf->place = grown;
        shelf->place_room = room;
    }
    struct shelf_piece *piece = malloc(sizeof *piece);
    assert(piece && "out of memory");
    piece->references = 1;
    piece->count = 0;
    piece->digest = 0;
    memmove(&shelf->place[place + 1], &shelf->place[place], (shelf->place_count - place) * sizeof *shelf->place);
    shelf->place[place] = (struct shelf_place){.piece = piece, .first = first};
    shelf->place_count++;
}

static void drop_piece(struct shelf *shelf, size_t place)
{
    release_piece(shelf, shelf->place[place].piece);
    shelf->place_count--;
    memmove(&shelf->place[place], &shelf->place[place + 1], (shelf->place_count - place) * sizeof *shelf->place);
}

/* The last place that begins at that index or before it; 0 if there is none. */
static size_t place_of(const struct shelf *shelf, size_t index)
{
    size_t low = 0, high = shelf->place_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (shelf->place[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void shift(struct shelf *shelf, size_t place, size_t by)
{
    for (; place < shelf->place_count; place++)
        shelf->place[place].first += by;
    shelf->count += by;
}

/* The upper half of a full piece goes to one of its own. */
static void split(struct shelf *shelf, size_t place)
{
    const uint32_t half = SHELF_PIECE_MAX / 2;
    struct shelf_piece *lower = own_piece(shelf, place);
    add_piece(shelf, place + 1, shelf->place[place].first + half);
    struct shelf_piece *upper = shelf->place[place + 1].piece;
    upper->count = lower->count - half;
    memcpy(upper->thing, &lower->thing[half], upper->count * sizeof(void *));
    lower->count = half;
    for (uint32_t i = 0; i < upper->count; i++)
        upper->digest ^= digest_of(shelf, upper->thing[i]);
    lower->digest ^= upper->digest;
}

/* ---- beginning and end ---- */

void shelf_init(struct shelf *shelf, const struct shelf_kind *kind)
{
    *shelf = (struct shelf){.kind = kind};
}

void shelf_close(struct shelf *shelf)
{
    for (size_t i = 0; i < shelf->place_count; i++)
        release_piece(shelf, shelf->place[i].piece);
    free(shelf->place);
    shelf_init(shelf, shelf->kind);
}

void shelf_copy(struct shelf *copy, const struct shelf *shelf)
{
    shelf_init(copy, shelf->kind);
    if (shelf->place_count == 0)
        return;
    copy->place = malloc(shelf->place_count * sizeof *copy->place);
    assert(copy->place && "out of memory");
    memcpy(copy->place, shelf->place, shelf->place_count * sizeof *copy->place);
    copy->place_count = copy->place_room = shelf->place_count;
    copy->count = shelf->count;
    for (size_t i = 0; i < copy->place_count; i++)
        copy->place[i].piece->references++;
}

/* ---- reading ---- */

void *shelf_at(const struct shelf *shelf, size_t index)
{
    assert(index < shelf->count);
    const struct shelf_place *place = &shelf->place[place_of(shelf, index)];
    return place->piece->thing[index - place->first];
}

size_t shelf_search(const struct shelf *shelf, bool (*before)(const void *context, const void *thing),
                    const void *context)
{
    size_t low = 0, high = shelf->place_count; /* pieces: those below `low` are in front as a whole */
    while (low < high) {
        size_t middle = high == shelf->place_count ? high - 1 : low + (high - low) / 2; /* most come at the end */
        const struct shelf_piece *piece = shelf->place[middle].piece;
        if (before(context, piece->thing[piece->count - 1]))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == shelf->place_count)
        return shelf->count;
    const struct shelf_place *place = &shelf->place[low];
    uint32_t from = 0, to = place->piece->count - 1; /* the last one is not in front */
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (before(context, place->piece->thing[middle]))
            from = middle + 1;
        else
            to = middle;
    }
    return place->first + from;
}

uint64_t shelf_digest(const struct shelf *shelf, size_t count)
{
    uint64_t digest = 0;
    assert(count <= shelf->count);
    for (size_t i = 0; i < shelf->place_count && shelf->place[i].first < count; i++) {
        const struct shelf_piece *piece = shelf->place[i].piece;
        size_t part = count - shelf->place[i].first;
        if (part >= piece->count)
            digest ^= piece->digest;
        for (size_t k = 0; k < part && part < piece->count; k++)
            digest ^= digest_of(shelf, piece->thing[k]);
    }
    return digest;
}

/* ---- changing ---- */

void shelf_insert(struct shelf *shelf, size_t index, void *thing)
{
    assert(index <= shelf->count);
    size_t place = place_of(shelf, index);
    if (shelf->place_count > 0 && index == shelf->place[place].first && place > 0 &&
        shelf->place[place - 1].piece->count < SHELF_PIECE_MAX)
        place--; /* at the end of the piece before */
    if (shelf->place_count == 0 || (index == shelf->count && shelf->place[place].piece->count == SHELF_PIECE_MAX)) {
        add_piece(shelf, shelf->place_count, shelf->count);
        place = shelf->place_count - 1;
    } else if (shelf->place[place].piece->count == SHELF_PIECE_MAX) {
        split(shelf, place);
        place += index > shelf->place[place + 1].first;
    }
    struct shelf_piece *piece = own_piece(shelf, place);
    size_t at = index - shelf->place[place].first;
    memmove(&piece->thing[at + 1], &piece->thing[at], (piece->count - at) * sizeof(void *));
    piece->thing[at] = thing;
    piece->count++;
    piece->digest ^= digest_of(shelf, thing);
    shift(shelf, place + 1, 1);
}

void shelf_replace(struct shelf *shelf, size_t index, void *thing)
{
    assert(index < shelf->count);
    size_t place = place_of(shelf, index);
    struct shelf_piece *piece = own_piece(shelf, place);
    void **there = &piece->thing[index - shelf->place[place].first];
    piece->digest ^= digest_of(shelf, *there) ^ digest_of(shelf, thing);
    shelf->kind->release(*there);
    *there = thing;
}

void shelf_remove(struct shelf *shelf, size_t index)
{
    assert(index < shelf->count);
    size_t place = place_of(shelf, index);
    struct shelf_piece *piece = own_piece(shelf, place);
    size_t at = index - shelf->place[place].first;
    void *thing = piece->thing[at];
    piece->digest ^= digest_of(shelf, thing);
    piece->count--;
    memmove(&piece->thing[at], &piece->thing[at + 1], (piece->count - at) * sizeof(void *));
    shelf->kind->release(thing);
    if (piece->count == 0)
        drop_piece(shelf, place--);
    shift(shelf, place + 1, (size_t)-1);
}
