/*
 * headgate weights: the weights of regions: shows them, sets them, and what became of earlier ones; and suggests
 * weights by what each region was asked for lately.
 */
#include "operator/command.h"
#include "operator/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

enum { REGIONS_MAX = 32, NANOS = 1000000000, LEAST_PART = 20 };

static double member_number(const struct headgate_reply *map, const char *name)
{
    return strtod(command_member_text(map, name), NULL);
}

/* ---- what is in force ---- */

static void print_all_json(const struct headgate_reply *reply)
{
    const struct json_types types = {.flags = (const char *const[]){"by_demand", NULL},
                                     .numbers = (const char *const[]){"weight", "complete", "in_force",
                                                                      "spent_per_s", "refused_per_s", NULL}};
    struct json json;
    json_init(&json, stdout);
    json_map(&json, NULL, reply, &types);
}

static void print_all(const struct invocation *invocation, const struct headgate_reply *reply)
{
    const struct headgate_reply *regions = command_member(reply, "regions"),
                                *waits = command_member(reply, "wait_for");
    const int64_t version = command_member_integer(reply, "version"),
                  complete = command_member_integer(reply, "complete");
    if (invocation->json) {
        print_all_json(reply);
        return;
    }
    if (version == complete)
        printf("weights %" PRId64 "%s are in force at all daemons\n", version,
               version == 0 ? ", those of the config," : "");
    else
        printf("weights %" PRId64
               " wait: smaller ones are in force, larger ones when all daemons have heard them\n",
               version);
    printf("%-24s%12s%12s%14s%14s\n", "REGION", "WEIGHT", "IN FORCE", "GIVEN/S", "REFUSED/S");
    for (uint32_t i = 0; regions && i < regions->count; i++) {
        const struct headgate_reply *row = headgate_reply_at(regions, i);
        printf("%-24s%12.9g%12.9g%14.1f%14.1f\n", command_member_text(row, "region"), member_number(row, "weight"),
               member_number(row, "in_force"), member_number(row, "spent_per_s"),
               member_number(row, "refused_per_s"));
    }
    for (uint32_t i = 0; waits && i < waits->count; i++) {
        const struct headgate_reply *row = headgate_reply_at(waits, i);
        printf("waits for %s: %s\n", command_member_text(row, "node"), command_member_text(row, "advice"));
    }
    if (command_member_integer(reply, "by_demand") != 0)
        printf("by demand: %s looks at it in %" PRId64 " s in which all daemons are heard\n",
               command_member_text(reply, "proposer"), command_member_integer(reply, "looks_in_s"));
}

/* ---- set ---- */

static void print_set(const struct invocation *invocation, const struct headgate_reply *reply)
{
    struct json json;
    if (!invocation->json) {
        printf("weights %" PRId64 " are made: headgate weights says when they are in force\n", reply->integer);
        return;
    }
    json_begin(&json, stdout, '{');
    json_integer(&json, "set", reply->integer);
    json_close(&json, '}');
}

/* ---- history ---- */

static void print_version(const struct headgate_reply *row)
{
    const struct headgate_reply *regions = command_member(row, "regions");
    const time_t seconds = (time_t)(command_member_integer(row, "unix_ms") / 1000);
    struct tm utc;
    char when[32] = "at an unknown time";
    if (seconds > 0 && gmtime_r(&seconds, &utc))
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &utc);
    printf("%" PRId64 "  %s  by %s%s ", command_member_integer(row, "version"), when,
           command_member_text(row, "author"), command_member_integer(row, "complete") ? "" : "  (waits)");
    for (uint32_t i = 0; regions && i < regions->count; i++) {
        const struct headgate_reply *part = headgate_reply_at(regions, i);
        printf(" %s=%.9g", command_member_text(part, "region"), member_number(part, "weight"));
    }
    printf("\n");
}

static void print_history_json(const struct headgate_reply *reply)
{
    const struct json_types types = {.flags = (const char *const[]){"complete", NULL},
                                     .numbers = (const char *const[]){"weight", NULL}};
    struct json json;
    json_begin(&json, stdout, '{');
    json_list(&json, "history", reply, &types);
    json_close(&json, '}');
}

static void print_history(const struct invocation *invocation, const struct headgate_reply *reply)
{
    if (invocation->json) {
        print_history_json(reply);
        return;
    }
    if (reply->count == 0)
        printf("the weights are those of the config\n");
    for (uint32_t i = 0; i < reply->count; i++)
        print_version(headgate_reply_at(reply, i));
}

/* ---- suggest ---- */

struct suggestion {
    uint32_t count;
    const char *region[REGIONS_MAX];
    double weight[REGIONS_MAX], spent[REGIONS_MAX], refused[REGIONS_MAX], asked[REGIONS_MAX], asked_all;
    int64_t nanos[REGIONS_MAX]; /* what is suggested, in billionths of the whole */
};

/*
 * Half of the way from the present weights to the part that each region was asked for lately (given, and refused for
 * its weight alone), so that repeating it does not swing, and no region below a twentieth of an even part. Whole
 * hundredths; what is left goes to the region that was asked for most.
 */
static void suggest(struct suggestion *all)
{
    const double least = 1.0 / LEAST_PART / all->count;
    double wanted[REGIONS_MAX], sum = 0;
    int64_t left = NANOS;
    uint32_t most = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        wanted[i] = all->asked_all > 0 ? (all->weight[i] + all->asked[i] / all->asked_all) / 2 : all->weight[i];
        wanted[i] = wanted[i] < least ? least : wanted[i];
        sum += wanted[i];
        most = all->asked[i] > all->asked[most] ? i : most;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        const int64_t hundredths = (int64_t)(wanted[i] / sum * 100);
        all->nanos[i] = (hundredths > 0 ? hundredths : 1) * (NANOS / 100);
        left -= all->nanos[i];
    }
    all->nanos[most] += left;
}

static void print_suggestion_json(const struct suggestion *all)
{
    struct json json;
    json_begin(&json, stdout, '{');
    json_open(&json, "suggested", '[');
    for (uint32_t i = 0; i < all->count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "region", all->region[i]);
        json_number(&json, "weight", all->weight[i]);
        json_number(&json, "spent_per_s", all->spent[i]);
        json_number(&json, "refused_per_s", all->refused[i]);
        json_number(&json, "suggested", (double)all->nanos[i] / NANOS);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

static void print_suggestion(const struct invocation *invocation, const struct headgate_reply *reply)
{
    const struct headgate_reply *regions = command_member(reply, "regions");
    struct suggestion all = {0};
    for (uint32_t i = 0; regions && i < regions->count && i < REGIONS_MAX; i++, all.count++) {
        const struct headgate_reply *row = headgate_reply_at(regions, i);
        all.region[i] = command_member_text(row, "region");
        all.weight[i] = member_number(row, "weight");
        all.spent[i] = member_number(row, "spent_per_s");
        all.refused[i] = member_number(row, "refused_per_s");
        all.asked[i] = all.spent[i] + all.refused[i];
        all.asked_all += all.asked[i];
    }
    suggest(&all);
    if (invocation->json) {
        print_suggestion_json(&all);
        return;
    }
    if (all.asked_all <= 0) {
        printf("nobody was asked for anything lately: there is nothing to suggest\n");
        return;
    }
    printf("headgate weights set");
    for (uint32_t i = 0; i < all.count; i++)
        printf(" %s=%.9g", all.region[i], (double)all.nanos[i] / NANOS);
    printf(
        "\nHalf of the way to what each region was asked for lately: given there, and refused there for its weight "
        "alone.\n");
}

/* ---- the command ---- */

static int usage(const char *sentence, const char *word)
{
    fprintf(stderr, "headgate weights: %s, not \"%s\"\n", sentence, word);
    return EX_USAGE;
}

int command_weights(const struct invocation *invocation)
{
    const char *words[COMMAND_WORDS_MAX + 1] = {"WEIGHTS"},
                                          *action = invocation->word_count > 0 ? invocation->word[0] : "";
    const uint32_t count = invocation->word_count;
    if (strcmp(action, "set") == 0) {
        if (count < 2) {
            fprintf(stderr, "headgate weights: a word is missing: expected set region=weight ...\n");
            return EX_USAGE;
        }
        for (uint32_t i = 0; i < count; i++)
            words[i + 1] = invocation->word[i];
        return command_exchange(invocation, words, count + 1, HEADGATE_REPLY_INTEGER, print_set);
    }
    if (count > 1)
        return usage("one word too many: expected set region=weight ..., history or suggest", invocation->word[1]);
    if (strcmp(action, "history") == 0) {
        words[1] = "HISTORY";
        return command_exchange(invocation, words, 2, HEADGATE_REPLY_ARRAY, print_history);
    }
    if (count == 0 || strcmp(action, "suggest") == 0)
        return command_exchange(invocation, words, 1, HEADGATE_REPLY_ARRAY,
                                count == 0 ? print_all : print_suggestion);
    return usage("expected set region=weight ..., history or suggest", action);
}
