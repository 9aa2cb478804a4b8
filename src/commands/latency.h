/*
 * latency: how long this daemon takes for requests, for each protocol, as a histogram.
 *
 * The one idea: the requests that one turn of the loop serves share one measurement: from the
 * first input of the turn to the moment when all of its answers were handed to the system. So one
 * reading of the clock per turn is enough, and no request is ever said to be faster than it was.
 * Does not know about time that requests wait in the system before they are read.
 */
#ifndef HEADGATE_COMMANDS_LATENCY_H
#define HEADGATE_COMMANDS_LATENCY_H

#include <stddef.h>
#include <stdint.h>

enum latency_door { DOOR_RESP, DOOR_HTTP, DOOR_GRPC, DOORS };

/* X(nanoseconds, the same in seconds): the upper bounds of the buckets */
#define LATENCY_BOUNDS(X)                                                                                          \
    X(10000, "0.00001")                                                                                            \
    X(25000, "0.000025")                                                                                           \
    X(50000, "0.00005")                                                                                            \
    X(100000, "0.0001")                                                                                            \
    X(250000, "0.00025")                                                                                           \
    X(500000, "0.0005")                                                                                            \
    X(1000000, "0.001")                                                                                            \
    X(2500000, "0.0025")                                                                                           \
    X(5000000, "0.005")                                                                                            \
    X(10000000, "0.01")                                                                                            \
    X(25000000, "0.025")                                                                                           \
    X(50000000, "0.05")                                                                                            \
    X(100000000, "0.1")                                                                                            \
    X(250000000, "0.25")                                                                                           \
    X(500000000, "0.5")                                                                                            \
    X(1000000000, "1")

#define X(ns, seconds) +1
enum { LATENCY_BUCKETS = LATENCY_BOUNDS(X) + 1 }; /* the last one has no bound */
#undef X

/* All zero at the start. One thread writes, as base/metric.h says; any thread may read. */
struct latency {
    uint64_t requests[LATENCY_BUCKETS]; /* of each bucket by itself */
    uint64_t sum_ns;
};

/* What a thread measures. */
struct latencies {
    struct latency door[DOORS];
    uint64_t seen[DOORS]; /* requests of each door at the end of the last turn */
};

/*
 * A turn that took `ns` has ended; `requests` are the counts of each door's requests since the
 * start.
 */
void latencies_note(struct latencies *latencies, const uint64_t requests[DOORS], uint64_t ns);

void latency_add(struct latency *sum, const struct latency *of);
uint64_t latency_count(const struct latency *latency);
/* The bound in microseconds of the bucket that has the given percent of the requests; 0: there are none. */
uint64_t latency_percentile_us(const struct latency *latency, unsigned percent);

/* "resp", "http", "grpc". */
const char *latency_door_name(enum latency_door door);
/* The bound of a bucket in seconds: "0.00001", and "+Inf". */
const char *latency_bound(size_t bucket);

#endif
