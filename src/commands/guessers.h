/*
 * guessers: addresses that send wrong passwords, and whether another password of theirs is looked at.
 *
 * The one idea: each address has a bucket of GUESSES_MAX wrong passwords, which one every GUESS_NS refills; an address
 * whose bucket is empty is barred until it has one again. So whoever reconnects after each hint gains nothing. The
 * table is bounded: where it is full, the address that is least to blame makes room. No clock, no allocation.
 */
#ifndef HEADGATE_COMMANDS_GUESSERS_H
#define HEADGATE_COMMANDS_GUESSERS_H

#include "base/bytes.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GUESSES_MAX = 20,      /* wrong passwords of an address at once */
    GUESSERS_SETS = 256,   /* of the table */
    GUESSERS_IN_A_SET = 4, /* addresses */
};
#define GUESS_NS ((uint64_t)10000000000)

/* All zero: nobody has guessed. */
struct guessers {
    struct guesser {
        uint64_t address;  /* its hash */
        uint64_t clear_ns; /* when its bucket is full again; 0: the place is free */
    } set[GUESSERS_SETS][GUESSERS_IN_A_SET];
};

/* The address of "1.2.3.4:5" or "[v6]:5", as the calls below take it. All addresses of a /64 of IPv6 are one. */
uint64_t guessers_address(const struct hash_key *key, struct bytes peer);

/* For how long no password of that address is looked at; 0: one is. */
uint64_t guessers_barred_ns(const struct guessers *guessers, uint64_t address, uint64_t now_ns);
/* A password of that address was wrong. True: it is barred from now on. */
bool guessers_note(struct guessers *guessers, uint64_t address, uint64_t now_ns);

#endif
