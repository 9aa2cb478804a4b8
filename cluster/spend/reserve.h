/*
 * reserve: reservations: tokens that are held until the cost of a request is known.
 *
 * The one idea: the tokens of a reservation are spent, and are given back when the reservation ends
 * without a commit. A reservation lives on one node; peers are told of its spends only.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RESERVE_H
#define HEADGATE_CLUSTER_SPEND_RESERVE_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct await;
struct charge;
struct hold;
struct node;
struct verdict;

/*
 * Decides one request and opens its reservation; now_ns must come from decide_time_ns. Without room
 * all verdicts say VERDICT_LOG_FULL, and nothing is charged. `await`: see struct run; a reservation that
 * waits takes no room.
 */
bool reserve_decide(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                    struct verdict *verdicts, struct hold *asked, struct await *await);

/* The tokens of that key that reservations hold. */
uint64_t reserved_tokens(struct node *node, struct key_id id);
/* So many tokens that the charge holds of a LOG are held no longer: any client may ask for them back. */
void reserve_let_go(struct node *node, const struct charge *held, uint64_t tokens);
/* Returns the tokens of ended reservations. Alone, like the next. */
void reserve_step(struct node *node);
/*
 * When the next reservation ends; UINT64_MAX: there is none, or only another step can make room to
 * tell its return.
 */
uint64_t reserve_next_ns(const struct node *node);

#endif
