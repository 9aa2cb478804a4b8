/*
 * plane_home: the home of a rule that is set without one.
 *
 * The one idea: the node that takes a change decides once, by the shares that it knows, and writes the home into the
 * rule's text. So all nodes have the same rule, whatever shares they know, and nobody decides again until the rule is
 * set anew. Rules of peers are not touched.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_HOME_H
#define HEADGATE_CLUSTER_PLANE_PLANE_HOME_H

#include "base/error.h"
#include "rules/rulebook.h"

#include <stdbool.h>

struct node;

/*
 * Makes the rule as this node would set it: without `home: none`, and with a home of keys if it leaves its home open
 * and either needs one (rule_wants_home), or has it in the book and may need one (as a region may come back, and
 * weights move). A list that the book has stays as it is while all its daemons are members. Where the rule gets a list,
 * *rule becomes another one. Returns a view of its text, which stands in `room`: RULE_TEXT_MAX_BYTES + 1 bytes.
 */
struct bytes plane_home_settle(const struct node *node, const struct rulebook *book, struct rule **rule, char *room);
/*
 * False: the sheet, which `stamp` makes, is of a rule that got its home with the same stamp, and its overrides do
 * without. Then neither should be, and `error` says why.
 */
bool plane_home_suits_sheet(const struct node *node, const struct rulebook *book, const struct rule *sheet,
                            struct rule_stamp stamp, struct error *error);
/* Says why the rule has the home that it was given. */
void plane_home_say(const struct node *node, const struct rule *rule, struct error *sentence);

#endif
