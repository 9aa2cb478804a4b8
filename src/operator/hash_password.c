/*
 * headgate hash-password: makes the slow hash of a password, for password_hash of a user in a config.
 */
#include "edge/process/secret_checks.h"
#include "operator/command.h"
#include "operator/json.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

static const char NAME[] = "headgate hash-password";

/* The first line of standard input, without its end. A terminal does not show what is typed. */
static bool read_line(char *line, size_t room)
{
    struct termios shown, hidden;
    const bool is_terminal = tcgetattr(STDIN_FILENO, &shown) == 0;
    if (is_terminal) {
        hidden = shown;
        hidden.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
        fputs("password: ", stderr);
    }
    const bool has_line = fgets(line, (int)room, stdin) != NULL;
    if (is_terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
        fputs("\n", stderr);
    }
    if (has_line)
        line[strcspn(line, "\n")] = '\0';
    return has_line;
}

int command_hash_password(const struct invocation *invocation)
{
    char line[SECRET_BYTES_MAX + 3], hash[SECRET_HASH_BYTES];
    if (sodium_init() < 0)
        return EX_OSERR;
    const bool has_line = read_line(line, sizeof line);
    const size_t size = has_line ? strlen(line) : 0;
    if (size == 0 || size > SECRET_BYTES_MAX) {
        sodium_memzero(line, sizeof line);
        fprintf(stderr, "%s: expected a password of 1 to %d bytes as the first line of the standard input\n", NAME,
                SECRET_BYTES_MAX);
        return EX_DATAERR;
    }
    const bool made = secret_hash_make((struct bytes){line, size}, hash);
    sodium_memzero(line, sizeof line);
    if (!made) {
        fprintf(stderr, "%s: a hash takes 64 MiB of memory, and there are not so many\n", NAME);
        return EX_OSERR;
    }
    if (invocation->json) {
        struct json json;
        json_begin(&json, stdout, '{');
        json_string(&json, "password_hash", hash);
        json_close(&json, '}');
    } else {
        puts(hash);
    }
    return EX_OK;
}
