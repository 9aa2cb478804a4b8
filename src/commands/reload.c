/*
 * RELOAD: the daemon reads its config again.
 */
#include "commands/call.h"

static void answer_paths(struct answer *answer, const char *name, const char *const *paths, uint32_t count)
{
    answer_text(answer, name);
    answer_array(answer, count);
    for (uint32_t i = 0; i < count; i++)
        answer_text(answer, paths[i]);
}

void call_reload(struct call *call)
{
    struct answer *answer = &call->answer;
    struct reload_report report = {0};
    struct error error;
    if (!call->commands->reload(call->commands->context, &report, &error)) {
        answer_error(answer, "ERR %s", error.text);
        return;
    }
    const struct settings_changes *changes = &report.changes;
    const bool limits_wait = report.limits_wait.text[0] != '\0';
    const bool limits_differ = report.limits_differ.text[0] != '\0';
    answer_map(answer, 4u + limits_wait + limits_differ);
    answer_paths(answer, "changed", changes->taken, changes->taken_count);
    answer_paths(answer, "needs_restart", changes->restart, changes->restart_count);
    answer_text(answer, "certificate_ends");
    if (report.certificate_ends_s > 0)
        answer_integer(answer, (int64_t)report.certificate_ends_s);
    else
        answer_null(answer);
    answer_paths(answer, "renewed", changes->renewed, changes->renewed_count);
    if (limits_wait) {
        answer_text(answer, "limits_wait");
        answer_text(answer, report.limits_wait.text);
    }
    if (limits_differ) {
        answer_text(answer, "limits_differ");
        answer_text(answer, report.limits_differ.text);
    }
}
