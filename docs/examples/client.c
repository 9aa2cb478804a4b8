/*
 * Asks a daemon: may alice spend a token?
 *
 *   cc client.c $(pkg-config --cflags --libs headgate) -o client && ./client [host:port]
 */
#include <headgate/client.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const struct headgate_client_options options = {.address = argc > 1 ? argv[1] : NULL}; /* 127.0.0.1:7070 */
    struct headgate_client *client = headgate_client_create(&options);
    enum headgate_client_status status = HEADGATE_CLIENT_USAGE;
    bool allowed = false;
    if (client)
        status = headgate_client_connect(client);
    if (status == HEADGATE_CLIENT_OK)
        status = headgate_client_can_access(client, "alice", 5, 1, &allowed);
    if (status == HEADGATE_CLIENT_OK)
        printf("%s\n", allowed ? "go ahead" : "not now");
    else
        (void)fprintf(stderr, "client: %s\n", client ? headgate_client_message(client) : "out of memory");
    headgate_client_destroy(&client);
    return status == HEADGATE_CLIENT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
