/*
 * headgate hot and fingerprint: which keys are refused most, and which key a fingerprint stands for.
 */
#include "operator/command.h"
#include "operator/json.h"

#include <inttypes.h>

enum { HOT_WORDS_MAX = COMMAND_WORDS_MAX + 1 };

static const char *or_name(const char *text, const char *otherwise)
{
    return text[0] ? text : otherwise;
}

/* ---- hot ---- */

static void print_key(const struct headgate_reply *key)
{
    const int64_t error = command_member_integer(key, "error");
    printf("  %12" PRId64, command_member_integer(key, "count"));
    if (error > 0)
        printf(" (-%" PRId64 " at most)", error);
    const char *name = command_member_text(key, "name");
    printf("  %s%s%s\n", command_member_text(key, "fingerprint"), name[0] ? "  " : "", name);
}

static void print_rule(const struct headgate_reply *row)
{
    const struct headgate_reply *keys = command_member(row, "keys");
    const char *service = command_member_text(row, "service"), *tier = command_member_text(row, "tier");
    const int64_t sampled = command_member_integer(row, "sampled");
    char text[UNITS_TEXT_BYTES];
    printf("%s%s%s%s%s: %" PRId64 " requests %s, in the last %s", or_name(service, "limit"), service[0] ? "/" : " ",
           command_member_text(row, "rule"), tier[0] ? " tier " : "", tier, command_member_integer(row, "total"),
           sampled > 1 ? "asked" : "refused",
           command_duration(text, 1000 * command_member_integer(row, "seconds")));
    if (sampled > 1)
        printf(" (one in %" PRId64 " was looked at)", sampled);
    printf("\n");
    for (uint32_t i = 0; keys && i < keys->count; i++)
        print_key(headgate_reply_at(keys, i));
}

static void print_hot(const struct invocation *invocation, const struct headgate_reply *reply)
{
    struct json json;
    json_init(&json, stdout);
    if (invocation->json)
        json_list(&json, NULL, reply, NULL);
    else if (reply->count == 0)
        printf("nothing to show\n");
    for (uint32_t i = 0; i < reply->count && !invocation->json; i++)
        print_rule(headgate_reply_at(reply, i));
}

int command_hot(const struct invocation *invocation)
{
    const char *words[HOT_WORDS_MAX] = {"HOT"};
    for (uint32_t i = 0; i < invocation->word_count; i++)
        words[i + 1] = invocation->word[i];
    return command_exchange(invocation, words, invocation->word_count + 1, HEADGATE_REPLY_ARRAY, print_hot);
}

/* ---- fingerprint ---- */

static void print_fingerprint(const struct invocation *invocation, const struct headgate_reply *reply)
{
    const struct headgate_reply *rules = command_member(reply, "rules");
    struct json json;
    if (invocation->json) {
        json_init(&json, stdout);
        json_map(&json, NULL, reply, NULL);
        return;
    }
    printf("%s ", command_member_text(reply, "fingerprint"));
    for (uint32_t i = 0; i < invocation->word_count; i++)
        printf(" %s", invocation->word[i]);
    printf("\n");
    for (uint32_t i = 0; rules && i < rules->count; i++) {
        const struct headgate_reply *row = headgate_reply_at(rules, i);
        const char *service = command_member_text(row, "service");
        printf("%s  under %s%s%s\n", command_member_text(row, "fingerprint"), or_name(service, "limit"),
               service[0] ? "/" : " ", command_member_text(row, "rule"));
    }
}

int command_fingerprint(const struct invocation *invocation)
{
    const char *words[COMMAND_REQUEST_WORDS_MAX];
    const size_t count = command_request_words(invocation, "FINGERPRINT", NULL, words);
    return command_exchange(invocation, words, count, HEADGATE_REPLY_ARRAY, print_fingerprint);
}
