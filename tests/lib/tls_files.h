/*
 * tls_files: certificates and keys in a directory of the test's own.
 *
 * The one idea: files are called by name, and the directory is gone afterwards.
 */
#ifndef HEADGATE_TESTS_LIB_TLS_FILES_H
#define HEADGATE_TESTS_LIB_TLS_FILES_H

#include "edge/clients/tls.h"

#include <stdbool.h>
#include <stdint.h>

/* False: there is no directory. */
bool tls_files_open(void);
/* The path of a file, valid until 32 others were asked for. */
const char *tls_files_path(const char *name);
/* Makes NAME.pem and NAME.key, signed by `signer`, or by itself if that is "". False: it prints why not. */
bool tls_files_make(const char *name, bool is_ca, const char *signer, int64_t ends_s);
struct tls_files tls_files_of(const char *certificate, const char *key, const char *client_ca);
/* Removes the files that tests make. False: others are there. */
bool tls_files_remove(void);

#endif
