/*
 * grpc_asked: requests of ShouldRateLimit from short texts, and their answers as texts, for tests of src/grpc.
 *
 * The one idea: a test reads as the answer that it expects. Bytes and streams are grpc_client's business.
 */
#ifndef HEADGATE_TESTS_LIB_GRPC_ASKED_H
#define HEADGATE_TESTS_LIB_GRPC_ASKED_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum { GRPC_ASKED_MAX = 40 };

/* A descriptor, from "user=bob ip=1" and what else it says. */
struct grpc_asked {
    const char *entries;
    int64_t hits; /* -1: it says none */
    bool back;
    uint32_t limit;
    int unit; /* 0: it brings no limit */
};

/* The message of a request, of at most GRPC_ASKED_MAX descriptors, valid until the next one. */
struct bytes grpc_packed(const char *domain, uint32_t hits, const struct grpc_asked *asked, size_t count);
/* "OK: OK per-user 5/2 4 in 60000; Header: value" with each status and header, or "status 3: sentence". */
const char *grpc_told(int32_t stream);
/* The dynamic metadata of the answer, as JSON; "" where there is none. */
const char *grpc_told_metadata(int32_t stream);
/* As grpc_told without headers, of a request that is asked now. */
const char *grpc_ask_all(const char *domain, uint32_t hits, const struct grpc_asked *asked, size_t count);
/* Of one descriptor; the domain is "edge" where none is given. */
const char *grpc_ask(const char *domain, const char *entries);
const char *grpc_ask_hits(const char *entries, int64_t hits, bool back);

#endif
