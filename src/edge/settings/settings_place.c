#include "edge/settings/settings_place.h"

#include "edge/process/tls_files.h"
#include "edge/settings/settings_keys.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

void settings_note_lines(const struct settings_reader *reader, struct settings *settings)
{
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const struct yaml_node *node = reader_node(reader, key->path);
        settings->key_line[key - settings_keys] = node != NULL ? node->line : 0;
    }
}

unsigned settings_line(const struct settings *settings, const char *path)
{
    for (const struct settings_key *key = settings_keys; key->path; key++)
        if (strcmp(key->path, path) == 0)
            return settings->key_line[key - settings_keys];
    return 0;
}

bool settings_locate(const struct settings *settings, const char *file, const char *path, struct error *error)
{
    char sentence[ERROR_TEXT_BYTES];
    const unsigned line = settings_line(settings, path);
    (void)snprintf(sentence, sizeof sentence, "%s", error->text);
    if (line == 0)
        return error_set(error, error->exit_status, "%s: %s", file, sentence);
    return error_set(error, error->exit_status, "%s:%u: %s", file, line, sentence);
}

bool settings_tell_fault(const struct settings *settings, const char *file, const char *group,
                         const struct tls_fault *fault, struct error *error)
{
    char path[YAML_TREE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s.%s", group, fault->member);
    (void)error_set(error, EX_CONFIG, "%s is '%s': expected %s", path, fault->path, fault->expected);
    return settings_locate(settings, file, path, error);
}
