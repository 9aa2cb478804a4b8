/*
 * cluster_impostor: sends a node messages in bob's name that no sound peer would send.
 *
 * The one idea: the impostor has the cluster's secret, so its messages are sealed and understood.
 * impostor_begin writes a sound message from an active bob to ann; the test changes the message and
 * sends it.
 */
#ifndef HEADGATE_TESTS_LIB_CLUSTER_IMPOSTOR_H
#define HEADGATE_TESTS_LIB_CLUSTER_IMPOSTOR_H

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "tests/lib/cluster_harness.h"

extern struct message impostor;
extern uint64_t impostor_number;

/* Members, origins and columns of the message are bob (0) and ann (1). */
void impostor_begin(enum message_kind kind, uint64_t bob_made, uint64_t ann_applied);

void impostor_deliver(struct effects *effects, struct message_writer *writer, enum event_kind kind);

/* Sends the message, with a batch of bob's unless `batch` is NULL. Takes ownership of the batch. */
void impostor_say(struct batch *batch);

/* Asks ann for a part of her table. */
void impostor_request(uint64_t prefix, uint32_t bits);

/* Replies with a page that has impostor.page_owed, and impostor.page_beyond if any of it is set. */
void impostor_reply(uint64_t prefix, uint32_t bits, bool split, const struct spend *numbers, uint32_t count);

/*
 * Sends a page with all rules of bob's book: a joining ann must not admit before she has heard it.
 */
void impostor_rules(unsigned nonsense);

/* Makes a batch of bob's with one spend. */
struct batch *impostor_batch(uint64_t first, uint64_t last, struct key_id id, uint16_t limit, uint64_t tokens);

/* Ann is active, and takes the impostor for bob. */
void impostor_world(void);

#endif
