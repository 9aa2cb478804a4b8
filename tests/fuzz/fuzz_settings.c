/*
 * Any text: the reader of the config must refuse it in one sentence, or take it and print it so that it comes back the
 * same.
 */
#include "edge/settings/settings.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char *print(const struct settings *settings, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    assert(out);
    bool printed = settings_print(settings, out);
    assert(printed && fclose(out) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct settings first, second;
    struct error error = {0};
    size_t once_size, twice_size;
    if (sodium_init() < 0)
        return 0;
    if (!settings_parse(&first, (struct bytes){(const char *)bytes, size}, "fuzz", &error)) {
        assert(error.exit_status == 78 && strncmp(error.text, "fuzz:", 5) == 0);
        return 0;
    }
    char *once = print(&first, &once_size);
    bool same = settings_parse(&second, (struct bytes){once, once_size}, "printed", &error);
    assert(same);
    char *twice = print(&second, &twice_size);
    assert(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    first.node.limits = second.node.limits = NULL;
    /* where things stand means nothing */
    memcpy(second.region_line, first.region_line, sizeof first.region_line);
    memcpy(second.key_line, first.key_line, sizeof first.key_line);
    assert(memcmp(&first, &second, sizeof first) == 0);
    free(once);
    free(twice);
    return 0;
}
