#include "tests/lib/tls_files.h"

#include "edge/process/certificate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATHS = 32 };

static char directory[] = "/tmp/headgate-tls-XXXXXX";
static char paths[PATHS][128];
static uint32_t path_count;

bool tls_files_open(void)
{
    return mkdtemp(directory) != NULL;
}

const char *tls_files_path(const char *name)
{
    char *path = paths[path_count++ % PATHS];
    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

bool tls_files_make(const char *name, bool is_ca, const char *signer, int64_t ends_s)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", NULL};
    char files[4][64];
    struct error error;
    (void)snprintf(files[0], 64, "%s.pem", name);
    (void)snprintf(files[1], 64, "%s.key", name);
    (void)snprintf(files[2], 64, "%s.pem", signer);
    (void)snprintf(files[3], 64, "%s.key", signer);
    struct certificate_options options = {.name = name,
                                          .hosts = is_ca ? NULL : hosts,
                                          .begins_s = -7200,
                                          .ends_s = ends_s,
                                          .to = {tls_files_path(files[0]), tls_files_path(files[1])}};
    if (signer[0])
        options.signer = (struct certificate_files){tls_files_path(files[2]), tls_files_path(files[3])};
    const bool good = certificate_make(&options, &error);
    if (!good)
        printf("# %s\n", error.text);
    return good;
}

struct tls_files tls_files_of(const char *certificate, const char *key, const char *client_ca)
{
    return (struct tls_files){tls_files_path(certificate), tls_files_path(key),
                              client_ca[0] ? tls_files_path(client_ca) : ""};
}

bool tls_files_remove(void)
{
    static const char *const names[] = {"ca", "other", "node", "late", "stranger", "brief", "leaf", "trusted"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int key = 0; key < 2; key++) {
            char name[32];
            (void)snprintf(name, sizeof name, "%s.%s", names[i], key ? "key" : "pem");
            (void)unlink(tls_files_path(name));
        }
    return rmdir(directory) == 0;
}
