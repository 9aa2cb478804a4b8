/* Seeds that once broke a law, one a line, as seeds.txt has them. */
#include "tests/sim/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

unsigned known_read(const char *path, struct known_seed *known, unsigned room)
{
    char line[512];
    unsigned count = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(EX_NOINPUT);
    }
    while (count < room && fgets(line, sizeof line, file) != NULL) {
        char *end;
        known[count].seed = strtoull(line, &end, 10);
        const bool early_without = strncmp(end, " - ", 3) == 0;
        known[count].without_rules = early_without || strncmp(end, " / ", 3) == 0;
        known[count].early = early_without || strncmp(end, " = ", 3) == 0;
        known[count].mild = strncmp(end, " ~ ", 3) == 0;
        count += end != line;
    }
    (void)fclose(file);
    return count;
}
