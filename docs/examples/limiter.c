/*
 * Headgate inside a program: ten requests at once from each of two users, then one a while later.
 *
 *   cc limiter.c $(pkg-config --cflags --libs headgate) -o limiter && ./limiter
 */
#include <headgate/limiter.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(void)
{
    const struct headgate_limit limits[] = {
        {.name = "requests", .capacity = 5, .rate_tokens = 10, .period_ns = 1000000000},     /* 10/s */
        {.name = "exports", .capacity = 1000, .rate_tokens = 1000, .period_ns = 60000000000} /* 1000/m */
    };
    static const char secret[] = "random bytes of your own, where strangers choose the keys";
    const struct headgate_options options = {
        .limits = limits,
        .limit_count = sizeof limits / sizeof limits[0],
        .table_keys = 10000,
        .secret = secret,
        .secret_size = sizeof secret - 1,
    };
    char error[256];
    struct headgate_limiter *limiter = headgate_limiter_create(&options, error, sizeof error);
    if (!limiter) {
        (void)fprintf(stderr, "limiter: %s\n", error);
        return EXIT_FAILURE;
    }

    /* The short way: one token of the default limit, which is the first. */
    uint64_t now = now_ns();
    const char *const users[] = {"alice", "bob"};
    for (int user = 0; user < 2; user++) {
        int allowed = 0;
        for (int i = 0; i < 10; i++)
            allowed += headgate_can_access(limiter, users[user], now);
        printf("%s: %d of 10 allowed\n", users[user], allowed);
    }

    /* The long way: any limit, any dimension, any cost, and what to tell the client. */
    struct headgate_request request = {.value = "alice", .value_size = strlen("alice"), .cost = 2};
    struct headgate_verdict verdict;
    if (!headgate_check(limiter, &request, now, &verdict))
        printf("alice: come back in %.0f ms\n", (double)verdict.retry_after_ns / 1e6);
    if (headgate_check(limiter, &request, now + verdict.retry_after_ns, &verdict))
        printf("alice: allowed then\n");

    struct headgate_request export_request = {.limit = "exports",
                                              .dimension = "tenant",
                                              .value = "acme",
                                              .value_size = 4,
                                              .cost = 400};
    (void)headgate_check(limiter, &export_request, now, &verdict);
    printf("acme: %s, %llu of %llu left\n", verdict.allowed ? "allowed" : "refused",
           (unsigned long long)verdict.remaining, (unsigned long long)verdict.limit);

    struct headgate_limiter_stats stats;
    headgate_limiter_stats(limiter, &stats);
    printf("%llu allowed, %llu refused, %llu keys\n", (unsigned long long)stats.allowed,
           (unsigned long long)stats.refused, (unsigned long long)stats.used_keys);
    headgate_limiter_destroy(&limiter);
    return EXIT_SUCCESS;
}
