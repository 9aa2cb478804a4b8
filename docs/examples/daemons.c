/*
 * Asks the nearest of several daemons that answers: a line of the input is who asks.
 *
 *   cc daemons.c $(pkg-config --cflags --libs headgate) -o daemons && ./daemons host:port ... <ids
 */
#include <headgate/daemons.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const struct headgate_daemons_options options = {
        .addresses = (const char *const *)(argv + 1), /* the nearest first */
        .address_count = (size_t)(argc - 1),
        .client = {.timeout_ms = 500},
        .absence = HEADGATE_ABSENCE_LOCAL, /* 10 a minute where no daemon answers */
        .local = {.capacity = 10, .rate_tokens = 10, .period_ns = 60000000000},
    };
    char error[256], id[256];
    struct headgate_daemons *daemons = headgate_daemons_create(&options, error, sizeof error);
    if (!daemons) {
        (void)fprintf(stderr, "daemons: %s\n", error);
        return EXIT_FAILURE;
    }
    while (fgets(id, sizeof id, stdin)) {
        id[strcspn(id, "\n")] = '\0';
        const char *const words[] = {"CHECK", id};
        struct headgate_daemons_answer answer;
        if (headgate_daemons_ask(daemons, 2, words, &answer) != HEADGATE_CLIENT_OK)
            (void)fprintf(stderr, "daemons: %s\n", headgate_daemons_message(daemons));
        printf("%s: %s, said by %s%s\n", id, answer.verdict.allowed ? "go ahead" : "not now",
               answer.decided ? argv[1 + answer.daemon] : "nobody",
               answer.maybe_charged ? ", and perhaps charged" : "");
        (void)fflush(stdout);
    }
    headgate_daemons_destroy(&daemons);
    return EXIT_SUCCESS;
}
