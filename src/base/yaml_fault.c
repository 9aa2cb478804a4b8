#include "base/yaml_fault.h"

#include <sysexits.h>

static unsigned line_at(struct bytes text, size_t offset)
{
    unsigned line = 1;
    for (size_t i = 0; i < offset && i < text.size; i++)
        line += text.data[i] == '\n';
    return line;
}

/* The indentation of that line (from 1) holds a tab. */
static bool has_tab(struct bytes text, unsigned line)
{
    unsigned at = 1;
    for (size_t i = 0; i < text.size; i++) {
        if (at == line && text.data[i] == '\t')
            return true;
        if (at == line && text.data[i] != ' ' && text.data[i] != '-')
            return false;
        at += text.data[i] == '\n';
    }
    return false;
}

bool yaml_fault(const yaml_parser_t *parser, struct bytes text, const char *file, int exit_status,
                struct error *error)
{
    const char *problem = parser->problem ? parser->problem : "it cannot be read";
    if (parser->error == YAML_MEMORY_ERROR)
        return error_set(error, EX_OSERR, "out of memory while reading %s", file);
    if (parser->error == YAML_READER_ERROR)
        return error_set(error, exit_status, "%s:%u: this is not text (%s at byte %zu): expected YAML in UTF-8",
                         file, line_at(text, parser->problem_offset), problem, parser->problem_offset);
    unsigned line = (unsigned)parser->problem_mark.line + 1;
    for (unsigned near = line; near >= 1 && near + 1 >= line; near--)
        if (has_tab(text, near))
            return error_set(error, exit_status, "%s:%u: a tab is used for indentation: expected spaces", file,
                             near);
    return error_set(error, exit_status, "%s:%u: this is not YAML (%s, column %zu): expected `key: value`", file,
                     line, problem, parser->problem_mark.column + 1);
}
