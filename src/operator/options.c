#include "operator/options.h"

#include <assert.h>
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

bool arguments_read(struct option_reader *reader, struct arguments *arguments)
{
    const char *value;
    int option;
    assert(reader->spec_count <= OPTIONS_MAX);
    *arguments = (struct arguments){0};
    while ((option = option_next(reader, &value)) != OPTION_END) {
        if (option == OPTION_WRONG)
            return false;
        if (option >= 0)
            arguments->value[option] = value ? value : "";
        else if (arguments->word_count < OPTION_WORDS_MAX)
            arguments->word[arguments->word_count++] = value;
    }
    return true;
}

bool arguments_fit(const struct option_reader *reader, const struct arguments *arguments,
                   const struct arguments_expected *expected)
{
    const uint32_t most = expected->skipped + expected->words_max;
    for (size_t i = 0; i < reader->spec_count; i++)
        if (arguments->value[i] && !(expected->allowed >> i & 1)) {
            fprintf(stderr, "%s: --%s makes no sense here\n", reader->command, reader->specs[i].name);
            return false;
        }
    if (arguments->word_count > most)
        fprintf(stderr, "%s: \"%s\" is one word too many: expected %s\n", reader->command, arguments->word[most],
                expected->words_max > 0 ? expected->words : "none");
    else if (arguments->word_count < expected->skipped + expected->words_min)
        fprintf(stderr, "%s: a word is missing: expected %s\n", reader->command, expected->words);
    else
        return true;
    return false;
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
