/*
 * return: gives tokens back.
 *
 * The one idea: a token is given back once, by the node that spent it. A peer that hears of a
 * return after the spend has ended ignores the return.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RETURN_H
#define HEADGATE_CLUSTER_SPEND_RETURN_H

#include "base/number.h"
#include "limit/charge.h"
#include "limit/kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry;
struct node;

/*
 * True: what the charge took counts as so many tokens of the entry, which has the charge's limit, or another tier of
 * its rule.
 */
bool counts_in_tokens(const struct node *node, const struct entry *entry, const struct charge *charge);

/*
 * True: the tokens that the reservation holds by the charge came back by themselves. Those of a LOG end, and so does a
 * cell. If a peer whose clock is behind still uses that cell, the cell is here again, by the peer's spends, and without
 * those that this node has forgotten: they are not given back.
 */
static inline bool charge_has_ended(const struct limit *limit, const struct charge *charge, uint64_t now_ns)
{
    return (kind_lists(limit->kind) || kind_expires(limit->kind)) && charge->expires_ns > 0 &&
           charge->expires_ns <= now_ns;
}

/*
 * The least of what several charges of a request took, or got back; none: UINT64_MAX. Charges that never deny were made
 * for nothing where they were over their limits: they have a say only among themselves.
 */
struct least_tokens {
    uint64_t of_denying, of_others;
};

static inline struct least_tokens least_tokens_of_none(void)
{
    return (struct least_tokens){UINT64_MAX, UINT64_MAX};
}

static inline void least_tokens_note(struct least_tokens *least, const struct charge *charge, uint64_t tokens)
{
    uint64_t *of = charge->shadow ? &least->of_others : &least->of_denying;
    *of = number_least(*of, tokens);
}

static inline uint64_t least_tokens(const struct least_tokens *least)
{
    return least->of_denying < UINT64_MAX ? least->of_denying : least->of_others;
}

/* Gives back the tokens of a reservation. The caller must have locked the keys. */
void return_held(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);

#endif
