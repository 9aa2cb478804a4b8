#include "tests/lib/settings_lines.h"

#include <stdio.h>
#include <string.h>

struct settings lines_settings;
struct error lines_error;

bool lines_read(const char *lines)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "node: a\nregion: x\nsecret: long\nlisten: {gossip: '10.0.0.9:7071'}\n"
                   "limits: [{name: default, capacity: 5, rate: 1/s}]\n%s",
                   lines);
    lines_error.text[0] = '\0';
    return settings_parse(&lines_settings, bytes_of(text), "c.yaml", &lines_error);
}

uint64_t lines_digest(const char *lines)
{
    return lines_read(lines) ? lines_settings.node.config_digest : 0;
}

bool lines_refused(const char *lines, const char *why)
{
    const bool is_refused = !lines_read(lines) && strstr(lines_error.text, why) != NULL;
    if (!is_refused)
        printf("# %s\n", lines_error.text);
    return is_refused;
}
