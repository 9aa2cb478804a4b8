/*
 * rules_overrides: the overrides of a rule that stand in a file of their own (`overrides_file`).
 *
 * The one idea: a daemon knows rules and no files, and a rule's text is bounded. So the lines of the file become sheets
 * (`overrides_of`): rules of a few hundred overrides each, named after the rule. A line goes to a sheet by its hash, so
 * that a change of a customer is a change of one sheet.
 */
#ifndef HEADGATE_OPERATOR_RULES_OVERRIDES_H
#define HEADGATE_OPERATOR_RULES_OVERRIDES_H

#include "base/error.h"
#include "operator/rules.h"

#include <stdbool.h>

#define RULES_SHEET_SUFFIX ".overrides-" /* between the id of a rule and the number of a sheet of it */

/*
 * Reads the files that rules of the list name, beside `path` (NULL: in the working directory), and adds their sheets at
 * the end; the rules name no file any more. False: `error` names the file and the line.
 */
bool rules_overrides_read(struct rule_list *list, const char *path, struct error *error);
/*
 * Adds an empty sheet for each sheet in force, not named in the list, of a rule of the list that was read with a file
 * of overrides: what the file does not say any more ends with the same change. Of a rule that was read without one the
 * sheets stay, which a sentence says. Asks the daemon. Returns an exit status that was explained.
 */
int rules_overrides_end(struct rules_invocation *invocation, struct rule_list *list);
/*
 * Refuses a list under which more than half of the overrides end that are in force in sheets of a rule of the list.
 * Sheets that the list does not name stay, unless the invocation prunes. Asks the daemon. Returns an exit status that
 * was explained.
 */
int rules_overrides_guard(struct rules_invocation *invocation, const struct rule_list *list);
/* True if some of the first `count` rules of the list is a sheet of the rule. */
bool rules_overrides_has_sheets(const struct rule_list *list, size_t count, const struct rule *rule);
/* True if rules_overrides_read may have made a sheet of this name of the rule. */
bool rules_overrides_is_sheet(const struct rule *rule, const char *service, const char *id);

#endif
