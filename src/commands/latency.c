#include "commands/latency.h"

#include "base/metric.h"

static const uint64_t bounds_ns[] = {
#define X(ns, seconds) ns,
    LATENCY_BOUNDS(X)
#undef X
};

static size_t bucket_of(uint64_t ns)
{
    size_t bucket = 0;
    while (bucket < LATENCY_BUCKETS - 1 && ns > bounds_ns[bucket])
        bucket++;
    return bucket;
}

void latencies_note(struct latencies *latencies, const uint64_t requests[DOORS], uint64_t ns)
{
    for (size_t door = 0; door < DOORS; door++) {
        const uint64_t count = requests[door] - latencies->seen[door];
        if (count == 0)
            continue;
        latencies->seen[door] = requests[door];
        metric_add(&latencies->door[door].requests[bucket_of(ns)], count);
        metric_add(&latencies->door[door].sum_ns, count * ns);
    }
}

void latency_add(struct latency *sum, const struct latency *of)
{
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        sum->requests[i] += metric_get(&of->requests[i]);
    sum->sum_ns += metric_get(&of->sum_ns);
}

uint64_t latency_count(const struct latency *latency)
{
    uint64_t count = 0;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        count += latency->requests[i];
    return count;
}

uint64_t latency_percentile_us(const struct latency *latency, unsigned percent)
{
    const uint64_t count = latency_count(latency);
    uint64_t seen = 0;
    if (count == 0)
        return 0;
    for (size_t i = 0; i < LATENCY_BUCKETS - 1; i++) {
        seen += latency->requests[i];
        if (seen * 100 >= count * percent)
            return bounds_ns[i] / 1000;
    }
    return UINT64_MAX;
}

const char *latency_door_name(enum latency_door door)
{
    static const char *const names[DOORS] = {[DOOR_RESP] = "resp", [DOOR_HTTP] = "http", [DOOR_GRPC] = "grpc"};
    return names[door];
}

const char *latency_bound(size_t bucket)
{
    static const char *const bounds[] = {
#define X(ns, seconds) seconds,
        LATENCY_BOUNDS(X)
#undef X
    };
    return bucket < LATENCY_BUCKETS - 1 ? bounds[bucket] : "+Inf";
}
