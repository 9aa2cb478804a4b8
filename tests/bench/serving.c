/*
 * serving: what a CAN_ACCESS costs a daemon from the bytes of the command to those of the answer, in nanoseconds, as
 * many at a time as a pipeline brings. What the kernel and the event loop cost comes on top.
 *
 * Keys are drawn evenly: a thousand, which stay near, or a million, each of which memory has to be asked for. Time
 * passes as fast as a daemon's would under such load. The node is alone. All kinds alternate in rounds; the fastest
 * round counts, since whatever else the machine does slows it down, never speeds it up.
 */
#include "base/random.h"
#include "tests/served.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    COMMANDS = 1 << 18, /* of a round */
    COMMAND_BYTES = 48,
    ROUNDS = 7,
    TABLE_KEYS = 2000000,
    GAP_NS = 200, /* of simulated time, between commands */
};

static const int depths[] = {1, 16, 64};
static const uint32_t key_counts[] = {1000, 1000000};

enum { DEPTHS = sizeof depths / sizeof depths[0], KEY_COUNTS = sizeof key_counts / sizeof key_counts[0] };

static uint64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One after the other; at[i] is where command i begins, at[COMMANDS] where they end. */
struct commands_text {
    char *text;
    size_t *at;
};

static struct commands_text write_commands(uint32_t keys, uint64_t seed)
{
    struct commands_text commands = {malloc((size_t)COMMANDS * COMMAND_BYTES),
                                     malloc((COMMANDS + 1) * sizeof *commands.at)};
    struct random random;
    size_t size = 0;
    if (!commands.text || !commands.at)
        exit(1);
    random_seed(&random, seed);
    for (int i = 0; i < COMMANDS; i++) {
        char key[24];
        int length = snprintf(key, sizeof key, "key:%u", (unsigned)random_below(&random, keys));
        commands.at[i] = size;
        size += (size_t)snprintf(commands.text + size, COMMAND_BYTES, "*2\r\n$10\r\nCAN_ACCESS\r\n$%d\r\n%s\r\n",
                                 length, key);
    }
    commands.at[COMMANDS] = size;
    return commands;
}

static double run(const struct commands_text *commands, int depth)
{
    uint64_t began_ns = clock_ns();
    for (int i = 0; i < COMMANDS; i += depth) {
        size_t consumed, first = commands->at[i], end = commands->at[i + depth];
        struct output output = output_over(served.reply, sizeof served.reply);
        const struct turn turn = {served.now_ns, served.wall_ns};
        const struct bytes input = {commands->text + first, end - first};
        (void)commands_serve(&served.commands, &served.session, input, &output, turn, &consumed);
        if (consumed != input.size || output.size != 4 * (size_t)depth)
            exit(1);
        served.now_ns += GAP_NS * (uint64_t)depth;
        served.wall_ns += GAP_NS * (uint64_t)depth;
    }
    return (double)(clock_ns() - began_ns) / COMMANDS;
}

int main(int argc, char **argv)
{
    double fastest_ns[KEY_COUNTS][DEPTHS] = {{0}};
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : ROUNDS;
    served_open_with(TABLE_KEYS);
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < KEY_COUNTS; k++) {
            struct commands_text commands = write_commands(key_counts[k], (uint64_t)round);
            for (int d = 0; d < DEPTHS; d++) {
                double ns = run(&commands, depths[d]);
                if (round == 0 || ns < fastest_ns[k][d])
                    fastest_ns[k][d] = ns;
            }
            free(commands.text);
            free(commands.at);
        }
    printf("ns a CAN_ACCESS, pipelined      ");
    for (int d = 0; d < DEPTHS; d++)
        printf("%7d", depths[d]);
    for (int k = 0; k < KEY_COUNTS; k++) {
        printf("\n  of %7u keys               ", (unsigned)key_counts[k]);
        for (int d = 0; d < DEPTHS; d++)
            printf("%7.0f", fastest_ns[k][d]);
    }
    printf("\n");
    served_close();
    return 0;
}
