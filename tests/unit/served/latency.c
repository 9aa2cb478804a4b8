/* The histogram of latencies: each turn's requests are in one bucket, and percentiles are bounds of buckets. */
#include "commands/latency.h"
#include "tests/lib/served.h"

static void note(struct latencies *latencies, uint64_t resp, uint64_t http, uint64_t ns)
{
    latencies_note(latencies, (const uint64_t[DOORS]){[DOOR_RESP] = resp, [DOOR_HTTP] = http}, ns);
}

int main(void)
{
    struct latencies latencies = {0};
    struct latency sum = {0};
    const struct latency *resp = &latencies.door[DOOR_RESP], *http = &latencies.door[DOOR_HTTP];
    OK_U64(latency_percentile_us(resp, 99), 0, "without requests there is no percentile");
    note(&latencies, 0, 0, 77);
    OK_U64(latency_count(resp) + latency_count(http), 0, "a turn without requests counts nothing");
    note(&latencies, 98, 1, 10000);
    OK_U64(resp->requests[0], 98, "a bound belongs to its bucket");
    note(&latencies, 100, 1, 10001);
    OK_U64(resp->requests[1], 2, "the next nanosecond to the next one");
    OK_U64(latency_count(http), 1, "the count of the other protocol did not grow");
    OK_U64(resp->sum_ns, 98 * 10000 + 2 * 10001, "the sum is exact");
    OK_U64(latency_percentile_us(resp, 98), 10, "98 of 100 requests");
    OK_U64(latency_percentile_us(resp, 99), 25, "99 of them");
    note(&latencies, 300, 1, 1000000001);
    OK_U64(resp->requests[LATENCY_BUCKETS - 1], 200, "the last bucket has no bound");
    OK_U64(latency_percentile_us(resp, 99), UINT64_MAX, "which is told");
    latency_add(&sum, resp);
    latency_add(&sum, http);
    OK_U64(latency_count(&sum), 301, "threads add up");
    OK_STRING(latency_bound(0), "0.00001", "the first bound is 10 us");
    OK_STRING(latency_bound(LATENCY_BUCKETS - 1), "+Inf", "the last one is none");
    for (size_t i = 1; i < LATENCY_BUCKETS - 1; i++)
        OK(strtod(latency_bound(i), NULL) > strtod(latency_bound(i - 1), NULL), "bounds grow: %s",
           latency_bound(i));
    return tap_done();
}
