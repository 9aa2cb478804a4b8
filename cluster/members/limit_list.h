/*
 * limit_list: the limits of configs as versions that travel.
 *
 * The one idea: a reload makes the list of limits in a daemon's file a version, and of two versions every peer keeps
 * the newer one, whatever the order in which it hears them. Peers may differ for a moment, as they may in rules: each
 * is bound by the list that it has. Daemons that began with different lists are of one config when the versions know
 * both lists; a version that does not know the list of a daemon's own config is not taken, and the accord decides.
 *
 * It does not bring a list into force: plane/plane_limits.h does.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_LIMIT_LIST_H
#define HEADGATE_CLUSTER_MEMBERS_LIMIT_LIST_H

#include "cluster/node.h"

struct limits_record;
struct member;
struct message;

void limit_list_init(struct node *node);
/* Makes a version of the list that a reload has read. Nothing may speak against it. */
void limit_list_make(struct node *node, const struct named_limits *limits, uint64_t wall_ms);
/* Notes what the file has, which is no version: the same list as the newest version, or none was made of it. */
void limit_list_note_file(struct node *node, const struct named_limits *limits);
/* What the store kept. A list that the operator has changed since, while the daemon was down, counts more. */
void limit_list_restore(struct node *node, struct bytes text, uint64_t number, struct effects *effects);
/* The store has lost what it had. */
void limit_list_retell(struct node *node);

void limit_list_hear(struct node *node, const struct message *message, uint32_t sender, struct effects *effects);
struct limits_record limit_list_say(const struct node *node);
/* True: no member lacks what this node has. */
bool limit_list_is_at_rest(const struct node *node);
/*
 * False while a peer is heard that has a newer version: a joining node must not admit before it has it. A version that
 * nobody says for `silent_after` is not awaited.
 */
bool limit_list_is_known(const struct node *node);
/* True: the member is known to be of a release without versions of limits. */
bool limit_list_is_beyond(const struct member *member);
/* True: a config with that digest differs from this node's own in nothing but a list that the versions know. */
bool limit_list_knows(const struct node *node, uint64_t config);
/* Gives the store what it lacks. */
void limit_list_step(struct node *node, struct effects *effects);

#endif
