/*
 * plane_scan: fetches versions of rules that others have and this node lacks.
 *
 * The one idea: the newest versions are asked for first, page by page, until both books agree on
 * all older ones. All fetched versions come into force as one change.
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
/* True if that peer has another book, as far as this node knows, and is worth asking. */
bool plane_differs(const struct node *node, uint32_t member);
bool plane_page_expected(const struct plane *plane, uint32_t member, const struct plane_page *page);
/* A version of an expected page; after all its versions, plane_page_take takes the page itself. */
void plane_page_version(struct node *node, const struct rule_record *record);
void plane_page_take(struct node *node, const struct plane_page *page, struct effects *effects);
void plane_heard(struct node *node, uint32_t member, uint64_t digest, uint64_t lamport);
void plane_scan_end(struct node *node, const struct plane_work *work, struct effects *effects);

#endif
