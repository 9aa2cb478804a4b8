/*
 * headgate key: the key of a daemon, and which key a peer has there.
 */
#include "operator/command.h"
#include "operator/json.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

static void print(const struct invocation *invocation, const char *name, const char *text, const char *line)
{
    struct json json;
    if (!invocation->json) {
        printf("%s%s\n", line, text);
        return;
    }
    json_begin(&json, stdout, '{');
    json_string(&json, name, text);
    json_close(&json, '}');
}

static void print_key(const struct invocation *invocation, const struct headgate_reply *reply)
{
    print(invocation, "key", reply->text, "");
}

static void print_accepted(const struct invocation *invocation, const struct headgate_reply *reply)
{
    const char *name = invocation->word[1], *key = invocation->word[2];
    (void)reply;
    if (invocation->json)
        print(invocation, "accepted", name, "");
    else if (strcmp(key, "none") == 0)
        printf(
            "%s has no key at this daemon now, and the next key that it brings is learnt: say so to each daemon\n",
            name);
    else
        printf("%s has the key %s at this daemon from now on: say so to each daemon\n", name, key);
}

int command_key(const struct invocation *invocation)
{
    const char *words[4] = {"KEY", invocation->word[0]};
    const char *action = invocation->word[0];
    if (strcmp(action, "show") == 0 && invocation->word_count == 1)
        return command_exchange(invocation, words, 2, HEADGATE_REPLY_TEXT, print_key);
    if (strcmp(action, "rotate") == 0 && invocation->word_count == 1)
        return command_exchange(invocation, words, 2, HEADGATE_REPLY_TEXT, print_key);
    if (strcmp(action, "accept") == 0 && invocation->word_count == 3) {
        words[2] = invocation->word[1];
        words[3] = invocation->word[2];
        return command_exchange(invocation, words, 4, HEADGATE_REPLY_STATUS, print_accepted);
    }
    fprintf(stderr, "headgate key: expected show, rotate, or accept node fingerprint, not \"%s\" with %u words\n",
            action, invocation->word_count - 1);
    return EX_USAGE;
}
