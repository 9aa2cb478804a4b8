/*
 * guessers: the addresses that send wrong passwords, and whether the daemon compares another
 * password of an address.
 *
 * The one idea: each address has a bucket of GUESSES_MAX wrong passwords, and one more may come
 * every GUESS_NS. An address whose bucket is empty is barred until its bucket has room for one
 * again. A client gains nothing by reconnecting after each wrong password. The table is bounded:
 * when it is full, the address with the fewest wrong passwords makes room. No clock, no allocation.
 */
#ifndef HEADGATE_COMMANDS_GUESSERS_H
#define HEADGATE_COMMANDS_GUESSERS_H

#include "base/bytes.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GUESSES_MAX = 20,      /* wrong passwords of one address at once */
    GUESSERS_SETS = 256,   /* sets of the table */
    GUESSERS_IN_A_SET = 4, /* addresses of one set */
};
#define GUESS_NS ((uint64_t)10000000000)

/* All zero: no address has sent a wrong password. */
struct guessers {
    struct guesser {
        uint64_t address;  /* hash of the address */
        uint64_t clear_ns; /* when the bucket of the address is full again; 0: the place is free */
    } set[GUESSERS_SETS][GUESSERS_IN_A_SET];
};

/*
 * The address of a peer "1.2.3.4:5" or "[v6]:5", as the calls below take it. All addresses of a /64
 * of IPv6 count as one.
 */
uint64_t guessers_address(const struct hash_key *key, struct bytes peer);

/* For how long no password of the address may be compared; 0: the next one may. */
uint64_t guessers_barred_ns(const struct guessers *guessers, uint64_t address, uint64_t now_ns);
/* Counts a wrong password of the address. True: the address is barred from now on. */
bool guessers_note(struct guessers *guessers, uint64_t address, uint64_t now_ns);

#endif
