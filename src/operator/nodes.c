/*
 * headgate nodes: the daemons of the cluster as one daemon sees them, as a table or as JSON.
 *
 * Fields of a row are found by name. The table leaves out fields that it does not know, which a
 * newer daemon may send; JSON shows all fields.
 */
#include "base/units.h"
#include "operator/clock_cell.h"
#include "operator/command.h"
#include "operator/json.h"
#include "operator/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill_row(const struct headgate_reply *node, char cell[][SHEET_CELL_BYTES])
{
    bool self = command_member_integer(node, "self") != 0;
    int64_t heard_ms = command_member_integer(node, "heard_ago_ms");
    uint64_t round_trip_ns = (uint64_t)command_member_integer(node, "round_trip_us") * 1000;
    const char *state = command_member_text(node, "state");
    const bool has_left = strcmp(state, "left") == 0;
    char text[UNITS_TEXT_BYTES];
    (void)snprintf(cell[0], SHEET_CELL_BYTES, "%s%s", command_member_text(node, "node"), self ? " *" : "");
    (void)snprintf(cell[1], SHEET_CELL_BYTES, "%s", command_member_text(node, "region"));
    (void)snprintf(cell[2], SHEET_CELL_BYTES, "%s",
                   has_left && command_member_integer(node, "forgotten") != 0 ? "forgotten"
                   : command_member_integer(node, "passed_over") != 0         ? "passed over"
                                                                              : state);
    if (has_left) /* it takes no part, and a part of 0 says nothing of whether one is kept for it */
        (void)snprintf(cell[3], SHEET_CELL_BYTES, "-");
    else
        (void)snprintf(cell[3], SHEET_CELL_BYTES, "%.2f%%", strtod(command_member_text(node, "share"), NULL) * 100);
    (void)snprintf(cell[4], SHEET_CELL_BYTES, "%s%s",
                   self           ? "-"
                   : heard_ms < 0 ? "never"
                                  : command_duration(text, heard_ms),
                   self || heard_ms < 0 ? "" : " ago");
    (void)snprintf(cell[5], SHEET_CELL_BYTES, "%s",
                   round_trip_ns ? units_format_duration_short(text, sizeof text, round_trip_ns) : "-");
    (void)snprintf(cell[6], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(node, "lag_batches"));
    (void)snprintf(cell[7], SHEET_CELL_BYTES, "%" PRId64, command_member_integer(node, "log_batches"));
    clock_cell(cell[8], command_member_text(node, "clock"), strtod(command_member_text(node, "clock_rate"), NULL),
               command_member_integer(node, "clock_jumps"));
    (void)snprintf(cell[9], SHEET_CELL_BYTES, "%s",
                   command_member_integer(node, "config_differs") ? "DIFFERS" : "same");
    const char *key = command_member_text(node, "key_state");
    (void)snprintf(cell[10], SHEET_CELL_BYTES, "%s",
                   strcmp(key, "differs") == 0                  ? "DIFFERS"
                   : strcmp(key, "missing") == 0                ? "MISSING"
                   : key[0] == '\0' || strcmp(key, "none") == 0 ? "-"
                                                                : key);
}

static void print_nodes_table(const struct headgate_reply *nodes)
{
    static const char *const title[] = {"NODE", "REGION", "STATE", "SHARE",  "HEARD", "ROUND TRIP",
                                        "LAG",  "LOG",    "CLOCK", "CONFIG", "KEY"};
    struct sheet sheet = {.title = title, .columns = 11, .right = 31u << 3};
    for (uint32_t i = 0; i < nodes->count; i++) {
        char(*cell)[SHEET_CELL_BYTES] = sheet_add(&sheet);
        if (cell)
            fill_row(headgate_reply_at(nodes, i), cell);
    }
    sheet_print(&sheet);
    sheet_close(&sheet);
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct headgate_reply *node = headgate_reply_at(nodes, i);
        const char *waits_for = command_member_text(node, "waits_for");
        if (waits_for[0] != '\0')
            printf("%s waits for %s\n", command_member_text(node, "node"), waits_for);
    }
}

static void print_nodes(const struct invocation *invocation, const struct headgate_reply *nodes)
{
    const struct json_types types = {.flags = (const char *const[]){"self", "config_differs", "decides",
                                                                    "forgotten", "passed_over", NULL},
                                     .numbers = (const char *const[]){"share", "clock_rate", NULL}};
    if (!invocation->json) {
        print_nodes_table(nodes);
        return;
    }
    struct json json;
    json_init(&json, stdout);
    json_list(&json, NULL, nodes, &types);
}

int command_nodes(const struct invocation *invocation)
{
    static const char *const words[1] = {"NODES"};
    return command_exchange(invocation, words, 1, HEADGATE_REPLY_ARRAY, print_nodes);
}
