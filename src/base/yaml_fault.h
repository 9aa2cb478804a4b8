/*
 * yaml_fault: why a text is not YAML, as a sentence for whoever wrote it.
 *
 * The one idea: libyaml knows where it gave up, people want to know what to change: the line, and the usual causes (no
 * text at all, a tab that indents) by their names. What the text is for is not known here.
 */
#ifndef HEADGATE_BASE_YAML_FAULT_H
#define HEADGATE_BASE_YAML_FAULT_H

#include "base/bytes.h"
#include "base/error.h"

#include <yaml.h>

/*
 * `parser`, which read `text`, has failed. Fills `error` with "file:line: ..." and `exit_status` (EX_OSERR if memory
 * was short) and returns false.
 */
bool yaml_fault(const yaml_parser_t *parser, struct bytes text, const char *file, int exit_status,
                struct error *error);

#endif
