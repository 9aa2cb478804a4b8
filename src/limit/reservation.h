/*
 * reservation: tokens that were taken before their use is known, and who must give back what is not used.
 *
 * The one idea: a fixed pool of reservations, each with the charges that it was taken by, and a heap by the moment
 * when each ends by itself. What taking and giving back mean is the caller's: nothing here touches a limit. No
 * clock, no allocation after creation; when the pool is full nothing more can be reserved.
 */
#ifndef HEADGATE_LIMIT_RESERVATION_H
#define HEADGATE_LIMIT_RESERVATION_H

#include "base/hash.h"
#include "limit/charge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a client is given. Nobody can guess one; none is given twice. */
struct reservation_id {
    uint8_t byte[16];
};

struct reservations;

/* Room for so many reservations and so many charges of them altogether; both above 0. NULL without memory. */
struct reservations *reservations_create(uint32_t room, uint32_t charges_room);
void reservations_destroy(struct reservations **reservations);

/*
 * Keeps `count` charges (0..CHARGES_MAX) until they are closed. `secret`: 128 bits that nobody knows and that never
 * come again, of which the id is made. False, with nothing kept: the pool is full.
 */
bool reservations_open(struct reservations *reservations, const struct charge *charges, size_t count,
                       struct key_id secret, uint64_t expires_ns, struct reservation_id *id);

/* Whether there is such a reservation. An ended one is none, whether or not it was taken out already. */
bool reservations_has(const struct reservations *reservations, struct reservation_id id, uint64_t now_ns);

/* Copies the charges of an existing reservation; how many there are. */
size_t reservations_charges(const struct reservations *reservations, struct reservation_id id,
                            struct charge charges[CHARGES_MAX]);

/* An existing reservation ends at another time; its charges, as many as before, are replaced. */
void reservations_renew(struct reservations *reservations, struct reservation_id id, const struct charge *charges,
                        uint64_t expires_ns);

/* Forgets an existing reservation. */
void reservations_close(struct reservations *reservations, struct reservation_id id);

/* When an existing reservation ends. */
uint64_t reservations_end_ns(const struct reservations *reservations, struct reservation_id id);
/* How many tokens of a key all reservations hold. */
uint64_t reservations_held(const struct reservations *reservations, struct key_id key);

/* When the next one ends; UINT64_MAX: there is none. */
uint64_t reservations_next_ns(const struct reservations *reservations);
/* One that has ended by `now_ns`, the earliest; false: none has. */
bool reservations_ended(const struct reservations *reservations, uint64_t now_ns, struct reservation_id *id);

uint32_t reservations_count(const struct reservations *reservations);

/* Asserts every invariant: for tests and the simulator. */
void reservations_check(const struct reservations *reservations);

#endif
