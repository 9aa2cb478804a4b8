/*
 * server_fence says which files a daemon that serves may open: those of its config, now and at a reload, its state, and
 * what libraries read.
 */
#include "server_state.h"

#include "edge/process/fence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* Of the config and of what it names, the directories: renewed files come under the same names. */
static void add_config(struct fence *fence, const struct settings *settings, const char *config_path)
{
    const char *const files[] = {config_path,
                                 settings->tls_certificate,
                                 settings->tls_key,
                                 settings->tls_client_ca,
                                 settings->peers_tls_ca,
                                 settings->peers_tls_certificate,
                                 settings->peers_tls_key,
                                 settings->secret.file,
                                 settings->hash_seed.file,
                                 settings->password.file,
                                 settings->central.password_file,
                                 settings->central.tls_ca,
                                 settings->central.tls_certificate,
                                 settings->central.tls_key};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        fence_add_place(fence, files[i], FENCE_READ);
    for (uint32_t i = 0; i < settings->secrets.count; i++)
        fence_add_place(fence, settings->secrets.secret[i].file, FENCE_READ);
    for (uint32_t i = 0; i < settings->users.count; i++)
        fence_add_place(fence, settings->users.user[i].secret_file, FENCE_READ);
}

static void tell(struct server *server, enum fence_state state)
{
    switch (state) {
    case FENCE_ON:
        server->sandbox.files = true;
        log_write(&server->log, LOG_LEVEL_DEBUG, "sandbox: the kernel keeps other files from the daemon now");
        break;
    case FENCE_NOT_HERE:
        break; /* enter_sandbox says it */
    case FENCE_NO_KERNEL:
        log_write(&server->log, LOG_LEVEL_INFO,
                  "sandbox: this kernel keeps no files from the daemon (no Landlock)");
        break;
    case FENCE_FAILED:
        log_write(&server->log, LOG_LEVEL_WARNING,
                  "sandbox: the kernel does not keep files from the daemon (%s); "
                  "going on without, sandbox: false says no more of it",
                  strerror(errno));
        break;
    }
}

bool server_build_fence(struct server *server, struct error *error)
{
    const struct settings *settings = server->settings;
    if (!settings->sandbox)
        return true;
    struct fence *fence = calloc(1, sizeof *fence);
    if (fence == NULL)
        return error_set(error, EX_OSERR, "not enough memory to list the files that the daemon may open");
    fence_add_system(fence);
    add_config(fence, settings, server->config_path);
    if (server->persist.directory[0])
        fence_add(fence, server->persist.directory, FENCE_WRITE);
    fence_add_place(fence, settings->refusal_log, FENCE_ADD);
    tell(server, fence_build(fence));
    free(fence);
    return true;
}
