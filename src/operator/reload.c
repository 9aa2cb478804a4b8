/*
 * headgate reload: the daemon reads its config again.
 */
#include "edge/settings/settings_shared.h"
#include "operator/command.h"
#include "operator/json.h"

#include <stdio.h>
#include <time.h>

/* A text of an array; "": it is none. */
static const char *path_at(const struct headgate_reply *paths, uint32_t index)
{
    const struct headgate_reply *path = headgate_reply_at(paths, index);
    return path->kind == HEADGATE_REPLY_TEXT ? path->text : "";
}

static uint32_t count_of(const struct headgate_reply *paths)
{
    return paths != NULL && paths->kind == HEADGATE_REPLY_ARRAY ? paths->count : 0;
}

/* A line with all of them; nothing if there are none. */
static void print_paths(const char *before, const struct headgate_reply *paths)
{
    if (count_of(paths) == 0)
        return;
    printf("%s", before);
    for (uint32_t i = 0; i < count_of(paths); i++)
        printf("%s%s", i > 0 ? ", " : "", path_at(paths, i));
    printf("\n");
}

/* Those of the keys that a restart of one daemon alone does not change. */
static void print_shared(const struct headgate_reply *paths)
{
    uint32_t printed = 0;
    for (uint32_t i = 0; i < count_of(paths); i++)
        if (settings_is_shared(path_at(paths, i)))
            printf("%s%s", printed++ > 0 ? ", " : "daemons that differ in ", path_at(paths, i));
    if (printed > 0)
        printf(" do not decide side by side: " SETTINGS_SHARED_ADVICE "\n");
}

static void print_text(const struct headgate_reply *reply)
{
    const struct headgate_reply *changed = command_member(reply, "changed");
    const struct headgate_reply *renewed = command_member(reply, "renewed");
    const struct headgate_reply *needs_restart = command_member(reply, "needs_restart");
    const char *limits_wait = command_member_text(reply, "limits_wait");
    const char *limits_differ = command_member_text(reply, "limits_differ");
    const time_t ends = (time_t)command_member_integer(reply, "certificate_ends");
    char day[16];
    struct tm utc;
    printf("the daemon has read its config again\n");
    print_paths("changed, and in force now: ", changed);
    print_paths("the same setting, but the file is new, and in use now: ", renewed);
    print_paths("changed, but not in force until the daemon is restarted: ", needs_restart);
    if (limits_wait[0])
        printf("the limits wait: %s\n", limits_wait);
    if (limits_differ[0])
        printf("%s\n", limits_differ);
    print_shared(needs_restart);
    if (count_of(changed) + count_of(renewed) + count_of(needs_restart) == 0)
        printf("nothing has changed since it was last read, and nothing waits for a restart\n");
    else
        printf("all other settings are in force as before\n");
    if (ends > 0 && gmtime_r(&ends, &utc) != NULL && strftime(day, sizeof day, "%Y-%m-%d", &utc) > 0)
        printf("the certificate for clients ends: %s\n", day);
}

static void print_reload(const struct invocation *invocation, const struct headgate_reply *reply)
{
    struct json json;
    json_init(&json, stdout);
    if (invocation->json)
        json_map(&json, NULL, reply, NULL);
    else
        print_text(reply);
}

int command_reload(const struct invocation *invocation)
{
    static const char *const words[] = {"RELOAD"};
    return command_exchange(invocation, words, 1, HEADGATE_REPLY_ARRAY, print_reload);
}
