/*
 * Reads options in the order of argv; words may stand between options.
 */
#include "operator/options.h"

#include <string.h>

static int find(const struct option_reader *reader, const char *name, size_t size)
{
    for (size_t i = 0; i < reader->spec_count; i++)
        if (strlen(reader->specs[i].name) == size && memcmp(reader->specs[i].name, name, size) == 0)
            return (int)i;
    return -1;
}

int option_next(struct option_reader *reader, const char **value)
{
    *value = NULL;
    if (reader->next == reader->argc)
        return OPTION_END;
    const char *argument = reader->argv[reader->next++];
    if (!reader->words_only && strcmp(argument, "--") == 0) {
        reader->words_only = 1;
        return option_next(reader, value);
    }
    if (reader->words_only || strncmp(argument, "--", 2) != 0) {
        if (!reader->words_only && argument[0] == '-' && argument[1] != '\0') {
            fprintf(stderr, "%s: unknown option %s: options have long names, see --help\n", reader->command,
                    argument);
            return OPTION_WRONG;
        }
        *value = argument;
        return OPTION_WORD;
    }
    const char *name = argument + 2, *equals = strchr(name, '=');
    int index = find(reader, name, equals ? (size_t)(equals - name) : strlen(name));
    if (index < 0) {
        fprintf(stderr, "%s: unknown option %s: see --help\n", reader->command, argument);
        return OPTION_WRONG;
    }
    const struct option_spec *spec = &reader->specs[index];
    if (!spec->argument && equals) {
        fprintf(stderr, "%s: --%s takes no value\n", reader->command, spec->name);
        return OPTION_WRONG;
    }
    if (spec->argument && !equals && reader->next == reader->argc) {
        fprintf(stderr, "%s: --%s is followed by nothing: expected %s\n", reader->command, spec->name,
                spec->argument);
        return OPTION_WRONG;
    }
    if (spec->argument)
        *value = equals ? equals + 1 : reader->argv[reader->next++];
    return index;
}

void option_help(FILE *out, const struct option_spec *specs, size_t spec_count)
{
    enum { INDENT = 28 };
    for (size_t i = 0; i < spec_count; i++) {
        int width = fprintf(out, "  --%s%s%s", specs[i].name, specs[i].argument ? " " : "",
                            specs[i].argument ? specs[i].argument : "");
        const char *line = specs[i].help;
        fprintf(out, "%*s", width < INDENT ? INDENT - width : 2, "");
        for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
            fprintf(out, "%.*s\n%*s", (int)(end - line), line, INDENT, "");
        fprintf(out, "%s\n", line);
    }
}
