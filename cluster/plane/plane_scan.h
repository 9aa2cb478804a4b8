/*
 * plane_scan: fetching versions of rules that others have and this node lacks.
 *
 * The one idea: the newest are asked for first, page by page, until both books agree on all that is
 * older. What was fetched comes into force as a change of its own.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_SCAN_H
#define HEADGATE_CLUSTER_PLANE_PLANE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct node;
struct plane;
struct plane_page;
struct plane_work;
struct rule_record;

void plane_scan_step(struct node *node, struct effects *effects);
void plane_scan_abandon(struct plane *plane);
/* That peer's book is known to be another, and it is worth asking. */
bool plane_differs(const struct node *node, uint32_t member);
bool plane_page_expected(const struct plane *plane, uint32_t member, const struct plane_page *page);
/* One of an expected page's; then, when all were taken, the page itself. */
void plane_page_version(struct node *node, const struct rule_record *record);
void plane_page_take(struct node *node, const struct plane_page *page, struct effects *effects);
void plane_heard(struct node *node, uint32_t member, uint64_t digest, uint64_t lamport);
void plane_scan_end(struct node *node, const struct plane_work *work, struct effects *effects);

#endif
