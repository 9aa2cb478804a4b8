/* Lookups that end, that are given up, and that nobody may begin any more. No name server is asked. */
#include "edge/process/resolver.h"

#include "tests/lib/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

struct asker {
    uv_loop_t loop;
    struct resolver resolver;
    unsigned told, closed;
    char why[128], address[INET6_ADDRSTRLEN];
};

static void on_resolved(void *context, const char *why, const struct addrinfo *addresses)
{
    struct asker *asker = context;
    struct sockaddr_in v4;
    asker->told++;
    asker->why[0] = asker->address[0] = '\0';
    if (why != NULL) {
        (void)snprintf(asker->why, sizeof asker->why, "%s", why);
    } else if (addresses->ai_family == AF_INET) {
        memcpy(&v4, addresses->ai_addr, sizeof v4);
        (void)inet_ntop(AF_INET, &v4.sin_addr, asker->address, sizeof asker->address);
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct resolver *resolver = handle->data;
    struct asker *asker = resolver->context;
    asker->closed++;
}

static bool open_asker(struct asker *asker)
{
    *asker = (struct asker){.told = 0};
    return uv_loop_init(&asker->loop) == 0 && resolver_init(&asker->resolver, &asker->loop, on_resolved, asker);
}

static bool close_asker(struct asker *asker)
{
    resolver_close(&asker->resolver, on_closed);
    (void)uv_run(&asker->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&asker->loop) == 0 && asker->closed == 1;
}

static void run_until_told(struct asker *asker, unsigned told)
{
    while (asker->told < told)
        (void)uv_run(&asker->loop, UV_RUN_ONCE);
}

static void answers(void)
{
    struct asker asker;
    OK(open_asker(&asker) && resolver_begin(&asker.resolver, "127.0.0.7", "80"), "a lookup begins");
    OK(resolver_is_busy(&asker.resolver) && !resolver_begin(&asker.resolver, "127.0.0.8", "80"), "one at a time");
    run_until_told(&asker, 1);
    OK(strcmp(asker.address, "127.0.0.7") == 0 && !asker.why[0], "its addresses are told");
    OK(!resolver_is_busy(&asker.resolver) && resolver_begin(&asker.resolver, "127.0.0.7", "no port"),
       "another one");
    run_until_told(&asker, 2);
    OK(asker.why[0] && !asker.address[0], "why there are none is told: %s", asker.why);
    OK(close_asker(&asker), "it closes");
}

static void given_up(void)
{
    enum { ROUNDS = 2000 };
    unsigned begun = 0, closed = 0, told = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct asker asker;
        if (!open_asker(&asker))
            break;
        begun += resolver_begin(&asker.resolver, "127.0.0.7", "80");
        closed += close_asker(&asker);
        told += asker.told;
    }
    OK(closed == ROUNDS && begun > 0, "%u of %u resolvers close while something is looked up", begun, ROUNDS);
    OK(told == 0, "nothing is told after that");
}

int main(void)
{
    answers();
    given_up();
    return tap_done();
}
