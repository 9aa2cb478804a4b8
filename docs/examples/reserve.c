/*
 * Holds tokens for a job whose cost is known only when it is done: at most 20 of alice's, until it says what it used.
 *
 *   cc reserve.c $(pkg-config --cflags --libs headgate) -o reserve && ./reserve USED [host:port]
 */
#include <headgate/client.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum headgate_client_status work(struct headgate_client *client, uint64_t used)
{
    static const char *const words[] = {"RESERVE", "user=alice", "TTL", "5000", "COST", "20"};
    struct headgate_client_reservation held;
    uint64_t charged;
    enum headgate_client_status status =
        headgate_client_reserve(client, sizeof words / sizeof *words, words, &held);
    if (status != HEADGATE_CLIENT_OK)
        return status;
    if (!held.verdict.allowed) {
        printf("not now: again in %" PRId64 " ms\n", held.verdict.retry_after_ms);
        return HEADGATE_CLIENT_OK;
    }
    status = headgate_client_commit(client, held.id, used, &charged);
    if (status == HEADGATE_CLIENT_OK)
        printf("20 were held, %" PRIu64 " were charged\n", charged);
    return status;
}

int main(int argc, char **argv)
{
    const struct headgate_client_options options = {.address = argc > 2 ? argv[2] : NULL}; /* 127.0.0.1:7070 */
    struct headgate_client *client = headgate_client_create(&options);
    enum headgate_client_status status = HEADGATE_CLIENT_USAGE;
    if (client)
        status = headgate_client_connect(client);
    if (status == HEADGATE_CLIENT_OK)
        status = work(client, argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
    if (status != HEADGATE_CLIENT_OK)
        (void)fprintf(stderr, "reserve: %s\n", client ? headgate_client_message(client) : "out of memory");
    headgate_client_destroy(&client);
    return status == HEADGATE_CLIENT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
