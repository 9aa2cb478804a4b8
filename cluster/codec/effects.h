/*
 * effects: builds the effects that a step returns (struct effects in node_event.h).
 *
 * The one idea: messages lie behind each other in one arena, which a step fills and the next step clears, and an effect
 * names its message by offset and size.
 */
#ifndef HEADGATE_CLUSTER_CODEC_EFFECTS_H
#define HEADGATE_CLUSTER_CODEC_EFFECTS_H

#include "cluster/node.h"

void effects_clear(struct effects *effects);
/* Adds bytes to the message at the end of the arena. */
void effects_append(struct effects *effects, const void *data, size_t size);
/* Emits an effect whose message is arena[offset..arena_size). */
void effects_emit(struct effects *effects, enum effect_kind kind, size_t offset);
/* The same for the member `name` at `address`. */
void effects_emit_to(struct effects *effects, enum effect_kind kind, const char *name, const char *address,
                     size_t offset);
/* Adds a counter with its `part_count` parts. */
void effects_counter(struct effects *effects, const struct counter *counter, const struct counter_part *parts);
/* Adds a version that came into the rulebook; takes a reference. */
void effects_add_version(struct effects *effects, struct rule_version *version);
void effects_notice(struct effects *effects, enum notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * Peers can cause some notices at will; such a notice is given once a minute at most. True: the
 * notice is due now. `told_ns`: when the notice was last given; 0: never.
 */
bool effects_notice_is_due(uint64_t *told_ns, uint64_t now_ns);

#endif
