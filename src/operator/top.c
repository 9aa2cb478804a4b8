/*
 * headgate top: asks a daemon again and again, and draws what has changed, until q is typed.
 *
 * In a terminal it draws over its own screen, and goes on while the daemon is away. Otherwise, and with --json, it
 * prints what it sees as many times as it was told to, once if it was told nothing, and ends when the daemon does not
 * answer.
 */
#include "operator/top.h"

#include "edge/process/clock.h"
#include "operator/command.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

enum {
    TOP_INTERVAL_MS = 1000,
    TOP_INTERVAL_MIN_MS = 100, /* INFO costs a daemon as much as a thousand decisions */
    TOP_ROWS = 24,             /* of a terminal that does not say how large it is */
    TOP_COLUMNS = 80,
};
#define SCREEN_BEGIN "\033[?1049h\033[?25l"
#define SCREEN_END "\033[?25h\033[?1049l"
#define SCREEN_HOME "\033[H"
#define SCREEN_LINE "\033[K\n"
#define SCREEN_REST "\033[J"

struct watch {
    const struct invocation *invocation;
    struct headgate_client *client; /* NULL: not connected */
    struct top seen[2];
    uint32_t count;                  /* looks that were successful */
    bool drawn;                      /* on a screen of its own */
    int signals;                     /* a descriptor that tells of them while that is so */
    int interrupted;                 /* by the signal of that number; 0: by none */
    uint64_t interval_ms, looks_max; /* 0: no end */
    bool has_interval;               /* somebody named one */
};

static uint64_t now_ms(void)
{
    return clock_monotonic_ns() / 1000000;
}

/* ---- the terminal ---- */

/* Signals are read from a descriptor, so that the terminal is left as it was. */
static bool begin_screen(struct watch *watch, struct termios *before)
{
    sigset_t signals;
    if (tcgetattr(STDIN_FILENO, before) != 0)
        return false;
    struct termios plain = *before;
    plain.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    watch->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0)
        return false;
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &plain);
    (void)fputs(SCREEN_BEGIN, stdout);
    return true;
}

static void end_screen(const struct termios *before)
{
    (void)fputs(SCREEN_END, stdout);
    (void)fflush(stdout);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, before);
}

static void size_screen(uint32_t *rows, uint32_t *columns)
{
    struct winsize size;
    *rows = TOP_ROWS;
    *columns = TOP_COLUMNS;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0) {
        *rows = size.ws_row;
        *columns = size.ws_col;
    }
}

/* Waits for so long. False: q was typed, or a signal came, or there is nobody any more. */
static bool wait_and_listen(struct watch *watch, uint64_t until_ms)
{
    for (uint64_t now = now_ms(); now < until_ms; now = now_ms()) {
        struct pollfd heard[2] = {{.fd = watch->drawn ? STDIN_FILENO : -1, .events = POLLIN},
                                  {.fd = watch->drawn ? watch->signals : -1, .events = POLLIN}};
        struct signalfd_siginfo signal;
        char key;
        (void)poll(heard, 2, (int)(until_ms - now));
        if (heard[0].revents != 0 && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q'))
            return false;
        if (heard[1].revents != 0 && read(watch->signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
            watch->interrupted = (int)signal.ssi_signo;
            return false;
        }
    }
    return true;
}

/* ---- looks ---- */

static void print_look(struct watch *watch)
{
    const struct top *now = &watch->seen[(watch->count - 1) % 2];
    const struct top *before = watch->count > 1 ? &watch->seen[watch->count % 2] : NULL;
    uint32_t rows, columns;
    if (watch->invocation->json) {
        top_print_json(stdout, before, now);
    } else if (watch->drawn) {
        size_screen(&rows, &columns);
        (void)fputs(SCREEN_HOME, stdout);
        top_print(stdout, before, now, rows - 1, columns, SCREEN_LINE);
        (void)fputs("q ends" SCREEN_REST, stdout);
    } else {
        top_print(stdout, before, now, UINT32_MAX, INT32_MAX, "\n");
    }
    (void)fflush(stdout);
}

/* The daemon's answer, or an exit status; `watch->client` is NULL if the daemon is away. */
static int look(struct watch *watch)
{
    static const char *const words[1] = {"INFO"};
    const struct invocation *invocation = watch->invocation;
    const struct headgate_reply *reply;
    int status = EX_SOFTWARE;
    if (watch->client == NULL)
        watch->client =
            command_connect(invocation->name, invocation->at, invocation->timeout_ms, &invocation->access, &status);
    if (watch->client == NULL)
        return status;
    const enum headgate_client_status asked = headgate_client_command(watch->client, 1, words, NULL, &reply);
    if (asked != HEADGATE_CLIENT_OK) {
        status = command_failed(invocation->name, watch->client, asked);
        headgate_client_destroy(&watch->client);
        return status;
    }
    if (reply->kind != HEADGATE_REPLY_TEXT || !top_read(&watch->seen[watch->count % 2], reply->text, now_ms()))
        return command_unexpected(invocation->name, invocation->at);
    watch->count++;
    print_look(watch);
    return EX_OK;
}

/* On a screen, one that was seen is asked again until it is back: what was drawn stays, and says so. */
static bool goes_on(const struct watch *watch, int status)
{
    return watch->drawn && status == EX_UNAVAILABLE && watch->count > 0;
}

static int keep_looking(struct watch *watch)
{
    for (uint64_t next_ms = now_ms();;) {
        if (watch->drawn)
            (void)fputs("\r", stdout);
        const int status = look(watch);
        if (status != EX_OK && !goes_on(watch, status))
            return status;
        if (watch->looks_max > 0 && watch->count >= watch->looks_max)
            return EX_OK;
        next_ms += watch->interval_ms;
        if (next_ms < now_ms())
            next_ms = now_ms();
        if (!wait_and_listen(watch, next_ms))
            return watch->interrupted != 0 ? 128 + watch->interrupted : EX_OK;
    }
}

/* ---- the words ---- */

/* "interval 2s" and "count 3". False: stderr says what is wrong. */
static bool read_words(struct watch *watch)
{
    const struct invocation *invocation = watch->invocation;
    for (uint32_t i = 0; i < invocation->word_count; i += 2) {
        const char *name = invocation->word[i];
        const bool has_value = i + 1 < invocation->word_count;
        const char *value = has_value ? invocation->word[i + 1] : "nothing";
        uint64_t ns = 0;
        if (strcmp(name, "interval") == 0 && has_value && units_parse_duration(bytes_of(value), &ns) &&
            ns >= TOP_INTERVAL_MIN_MS * UINT64_C(1000000) && ns <= UINT64_C(3600000000000)) {
            watch->interval_ms = ns / 1000000;
            watch->has_interval = true;
        } else if (strcmp(name, "count") != 0 || !has_value ||
                   !units_parse_count(bytes_of(value), &watch->looks_max) || watch->looks_max == 0) {
            fprintf(stderr,
                    "headgate top: \"%s %s\": expected interval and a duration from 100ms to 1h, or count and how "
                    "many times to look\n",
                    name, value);
            return false;
        }
    }
    return true;
}

int command_top(const struct invocation *invocation)
{
    const bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    struct termios before;
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return command_no_memory(invocation->name);
    *watch = (struct watch){.invocation = invocation, .interval_ms = TOP_INTERVAL_MS};
    int status = EX_USAGE;
    if (read_words(watch)) {
        if (watch->looks_max == 0 && !watch->has_interval && (!is_terminal || invocation->json))
            watch->looks_max = 1; /* what comes next waits for the end */
        /* A first mistake is told where it stays: not on the screen that is left. */
        watch->client =
            command_connect(invocation->name, invocation->at, invocation->timeout_ms, &invocation->access, &status);
        watch->drawn = watch->client && is_terminal && !invocation->json && begin_screen(watch, &before);
        status = watch->client ? keep_looking(watch) : status;
        if (watch->drawn)
            end_screen(&before);
    }
    headgate_client_destroy(&watch->client);
    free(watch);
    return status;
}
