/*
 * Any text: the reader of the config must refuse it in one sentence, or take it and print it so that it comes back the
 * same.
 */
#include "edge/settings/settings.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Where things stand means nothing. */
static void forget_lines(struct settings *settings)
{
    memset(settings->region_line, 0, sizeof settings->region_line);
    memset(settings->key_line, 0, sizeof settings->key_line);
    settings->secret.line = settings->hash_seed.line = settings->password.line = settings->central.password_line =
        0;
    for (uint32_t i = 0; i < settings->secrets.count; i++)
        settings->secrets.secret[i].line = 0;
    for (uint32_t i = 0; i < settings->users.count; i++)
        settings->users.user[i].secret_line = 0;
}

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
    forget_lines(&first);
    forget_lines(&second);
    assert(memcmp(&first, &second, sizeof first) == 0);
    free(once);
    free(twice);
    return 0;
}
