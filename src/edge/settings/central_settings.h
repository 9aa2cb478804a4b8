/*
 * central_settings: the central store of the config. Plain data, which the settings fill and the server hands to each
 * thread's link. Two reads of a config are compared with the contents of the files that they name.
 */
#ifndef HEADGATE_EDGE_SETTINGS_CENTRAL_SETTINGS_H
#define HEADGATE_EDGE_SETTINGS_CENTRAL_SETTINGS_H

#include "cluster/node.h"
#include "edge/central/central_script.h"
#include "edge/settings/user_settings.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CENTRAL_SENTINELS_BYTES = 257,
    CENTRAL_DIGEST_BYTES = 32,
};

struct central_settings {
    char address[NODE_ADDRESS_BYTES];        /* "": the config has none, or sentinels know it */
    char sentinels[CENTRAL_SENTINELS_BYTES]; /* "host:port, host:port"; "": none */
    char master[USER_NAME_BYTES];            /* the name that they know the store by */
    char user[USER_NAME_BYTES];              /* "": the store's default user */
    char password[USER_SECRET_BYTES];        /* as the config has it; "": it stands elsewhere, or there is none */
    char password_file[USER_SECRET_BYTES];
    char password_env[USER_NAME_BYTES];
    unsigned password_line;         /* of the config, which says that it is in one of these */
    char secret[USER_SECRET_BYTES]; /* the password, from wherever it comes; never printed */
    char prefix[CENTRAL_PREFIX_BYTES];
    bool tls;
    /* files in PEM; "": the system's authorities, and no certificate of this daemon */
    char tls_ca[USER_SECRET_BYTES];
    char tls_certificate[USER_SECRET_BYTES];
    char tls_key[USER_SECRET_BYTES];
    char tls_name
        [NODE_ADDRESS_BYTES]; /* which the store's certificate must be for; "": the host that is connected to */
    unsigned char tls_digest[CENTRAL_DIGEST_BYTES]; /* of what stands in these files */
    uint64_t timeout_ns;
};

/* True: they name the same store, and it is asked in the same way. */
bool central_settings_equal(const struct central_settings *a, const struct central_settings *b);

#endif
