/*
 * POST /v1/reload: the daemon reads its config again, as with RELOAD.
 */
#include "http/call.h"

static void put_paths(struct output *output, const char *before, const char *const *paths, uint32_t count)
{
    put_text(output, before);
    for (uint32_t i = 0; i < count; i++) {
        put_text(output, i > 0 ? "," : "");
        put_string(output, bytes_of(paths[i]));
    }
}

void http_reload(struct http_call *call)
{
    struct commands *commands = call->http->commands;
    struct reload_report report = {0};
    struct error error = {0};
    call->work += command_table[COMMAND_RELOAD].work;
    http_alone(commands, true);
    const bool good = commands->reload(commands->context, &report, &error);
    http_alone(commands, false);
    if (!good) {
        http_problem_of(call, 422, &error);
        return;
    }
    const struct settings_changes *changes = &report.changes;
    put_paths(&call->body, "{\"changed\":[", changes->taken, changes->taken_count);
    put_paths(&call->body, "],\"needs_restart\":[", changes->restart, changes->restart_count);
    put_text(&call->body, "],\"certificate_ends\":");
    if (report.certificate_ends_s > 0)
        put_number(&call->body, report.certificate_ends_s);
    else
        put_text(&call->body, "null");
    put_paths(&call->body, ",\"renewed\":[", changes->renewed, changes->renewed_count);
    put_text(&call->body, "]");
    if (report.limits_wait.text[0]) {
        put_word(&call->body, ",\"limits_wait\":", bytes_of(report.limits_wait.text));
    }
    if (report.limits_differ.text[0]) {
        put_word(&call->body, ",\"limits_differ\":", bytes_of(report.limits_differ.text));
    }
    put_text(&call->body, "}\n");
}
