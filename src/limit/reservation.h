/*
 * reservation: tokens that a client takes before it knows how many it needs.
 *
 * The one idea: a fixed pool of reservations, each with the charges that took its tokens, and a heap by the time when
 * each reservation ends. The caller takes the tokens and gives them back: nothing here touches a limit. No clock, no
 * allocation after creation; while the pool is full, nothing more can be reserved. A tenant and a holder (whoever asks)
 * may have bounds of their own, so that they leave room for others.
 */
#ifndef HEADGATE_LIMIT_RESERVATION_H
#define HEADGATE_LIMIT_RESERVATION_H

#include "base/hash.h"
#include "limit/charge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name of a reservation, given to its client. Random enough that no client can hint another's; none is given
 * twice.
 */
struct reservation_id {
    uint8_t byte[16];
};

struct reservations;

/* Room for `room` reservations with `charges_room` charges altogether; both above 0. NULL without memory. */
struct reservations *reservations_create(uint32_t room, uint32_t charges_room);
void reservations_destroy(struct reservations **reservations);

/*
 * What a reservation that is being renewed waits for, where another peer decides (cluster/spend/renewal.c). All zero:
 * for nothing.
 */
struct renewal {
    bool is_awaited;
    uint32_t origin_uid; /* of the batch */
    uint64_t batch;      /* the first one by which all new spends are told; 0: some are not told yet */
    /* the time by a clock that runs while the machine sleeps, when the spends were made that count, and the new ones */
    uint64_t known_sleepless_ns, new_sleepless_ns;
};

/* Whose a reservation is. Two holders of one number count as one holder. */
struct reservation_owner {
    uint16_t tenant; /* the tenant of its first charge */
    uint64_t holder; /* the hash of the client's address, for instance; 0: nobody, whom no bound concerns */
};

/* From now on the reservations of one tenant, or of one holder, are at most `most`. */
void reservations_bound_tenants(struct reservations *reservations, uint32_t most);
void reservations_bound_holders(struct reservations *reservations, uint32_t most);

enum reservations_room {
    RESERVATIONS_ROOM,
    RESERVATIONS_FULL,        /* as many as there can be exist */
    RESERVATIONS_TENANT_FULL, /* as many as this tenant may have exist */
    RESERVATIONS_HOLDER_FULL, /* as many as this holder may have exist */
};
enum reservations_room reservations_room(const struct reservations *reservations, struct reservation_owner owner);

/*
 * Keeps `count` charges (0..CHARGES_MAX) until the reservation is closed. The id is made from `secret`: 128 random bits
 * that must not be used again. False, with nothing kept: the pool is full, or the owner's part of it.
 */
bool reservations_open(struct reservations *reservations, const struct charge *charges, size_t count,
                       struct reservation_owner owner, struct key_id secret, uint64_t expires_ns,
                       struct reservation_id *id);

/* Whether the reservation exists at now_ns. One that has ended does not, even if it is not closed yet. */
bool reservations_has(const struct reservations *reservations, struct reservation_id id, uint64_t now_ns);

/* Copies the charges of an existing reservation; returns how many there are. */
size_t reservations_charges(const struct reservations *reservations, struct reservation_id id,
                            struct charge charges[CHARGES_MAX]);

/* An existing reservation ends at another time; its charges, as many as before, are replaced. */
void reservations_renew(struct reservations *reservations, struct reservation_id id, const struct charge *charges,
                        uint64_t expires_ns);

/* What an existing reservation waits for; belongs to the pool until it is closed. NULL: there is none of that id. */
struct renewal *reservations_renewal(struct reservations *reservations, struct reservation_id id);

/* Forgets an existing reservation. */
void reservations_close(struct reservations *reservations, struct reservation_id id);

/* When an existing reservation ends. */
uint64_t reservations_end_ns(const struct reservations *reservations, struct reservation_id id);
/* How many tokens of a key all reservations hold. */
uint64_t reservations_held(const struct reservations *reservations, struct key_id key);

/* When the next reservation ends; UINT64_MAX: there is none. */
uint64_t reservations_next_ns(const struct reservations *reservations);
/* The earliest reservation that has ended by now_ns; false: none has. */
bool reservations_ended(const struct reservations *reservations, uint64_t now_ns, struct reservation_id *id);

uint32_t reservations_count(const struct reservations *reservations);

/* ---- from one process to the next ---- */

/* An existing reservation, but for what it waits for. */
struct reservation_kept {
    struct reservation_id id;
    struct reservation_owner owner;
    uint64_t expires_ns;
    bool is_former; /* of a former process; its keys do not lack yet what it holds */
    size_t count;   /* of its charges */
    struct charge charge[CHARGES_MAX];
};

/* Copies the first reservation at *place or behind it; *place, 0 at first, moves behind it. False: there is none. */
bool reservations_keep_next(const struct reservations *reservations, uint32_t *place,
                            struct reservation_kept *kept);
/*
 * Opens a reservation under the id that it had in a pool of another process. Bounds of owners do not concern it. False,
 * with nothing changed: the pool is full or has too few places, or that id is open already.
 */
bool reservations_reopen(struct reservations *reservations, const struct reservation_kept *kept);

/* How many are open of which `is_former` is true. */
uint32_t reservations_former_count(const struct reservations *reservations);
/* True: that existing reservation is one of them. */
bool reservations_is_former(const struct reservations *reservations, struct reservation_id id);
/* The next of them, as reservations_keep_next does it. */
bool reservations_next_former(const struct reservations *reservations, uint32_t *place,
                              struct reservation_kept *former);
/* It is one like any other from now on, with these charges, as many as before. */
void reservations_taken_over(struct reservations *reservations, struct reservation_id id,
                             const struct charge *charges);

/* Asserts every invariant: for tests and the simulator. */
void reservations_check(const struct reservations *reservations);

#endif
