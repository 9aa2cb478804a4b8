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

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_COLUMNS = 11, NODES_CELL_BYTES = 64 };

static void fill_row(const struct headgate_reply *node, char cell[NODES_COLUMNS][NODES_CELL_BYTES])
{
    bool self = command_member_integer(node, "self") != 0;
    int64_t heard_ms = command_member_integer(node, "heard_ago_ms");
    uint64_t round_trip_ns = (uint64_t)command_member_integer(node, "round_trip_us") * 1000;
    const char *state = command_member_text(node, "state");
    const bool has_left = strcmp(state, "left") == 0;
    char text[UNITS_TEXT_BYTES];
    (void)snprintf(cell[0], NODES_CELL_BYTES, "%s%s", command_member_text(node, "node"), self ? " *" : "");
    (void)snprintf(cell[1], NODES_CELL_BYTES, "%s", command_member_text(node, "region"));
    (void)snprintf(cell[2], NODES_CELL_BYTES, "%s",
                   has_left && command_member_integer(node, "forgotten") != 0 ? "forgotten"
                   : command_member_integer(node, "passed_over") != 0         ? "passed over"
                                                                              : state);
    if (has_left) /* it takes no part, and a part of 0 says nothing of whether one is kept for it */
        (void)snprintf(cell[3], NODES_CELL_BYTES, "-");
    else
        (void)snprintf(cell[3], NODES_CELL_BYTES, "%.2f%%", strtod(command_member_text(node, "share"), NULL) * 100);
    (void)snprintf(cell[4], NODES_CELL_BYTES, "%s%s",
                   self           ? "-"
                   : heard_ms < 0 ? "never"
                                  : command_duration(text, heard_ms),
                   self || heard_ms < 0 ? "" : " ago");
    (void)snprintf(cell[5], NODES_CELL_BYTES, "%s",
                   round_trip_ns ? units_format_duration_short(text, sizeof text, round_trip_ns) : "-");
    (void)snprintf(cell[6], NODES_CELL_BYTES, "%" PRId64, command_member_integer(node, "lag_batches"));
    (void)snprintf(cell[7], NODES_CELL_BYTES, "%" PRId64, command_member_integer(node, "log_batches"));
    clock_cell(cell[8], command_member_text(node, "clock"), strtod(command_member_text(node, "clock_rate"), NULL),
               command_member_integer(node, "clock_jumps"));
    (void)snprintf(cell[9], NODES_CELL_BYTES, "%s",
                   command_member_integer(node, "config_differs") ? "DIFFERS" : "same");
    const char *key = command_member_text(node, "key_state");
    (void)snprintf(cell[10], NODES_CELL_BYTES, "%s",
                   strcmp(key, "differs") == 0                  ? "DIFFERS"
                   : strcmp(key, "missing") == 0                ? "MISSING"
                   : key[0] == '\0' || strcmp(key, "none") == 0 ? "-"
                                                                : key);
}

static void print_nodes_table(const struct headgate_reply *nodes)
{
    enum { ROWS_MAX = 65 };
    static char cell[ROWS_MAX][NODES_COLUMNS][NODES_CELL_BYTES] = {
        {"NODE", "REGION", "STATE", "SHARE", "HEARD", "ROUND TRIP", "LAG", "LOG", "CLOCK", "CONFIG", "KEY"}};
    static const bool right[NODES_COLUMNS] = {[3] = true, [4] = true, [5] = true, [6] = true, [7] = true};
    int width[NODES_COLUMNS] = {0};
    uint32_t rows = nodes->count < ROWS_MAX - 1 ? nodes->count + 1 : ROWS_MAX;
    for (uint32_t i = 1; i < rows; i++)
        fill_row(headgate_reply_at(nodes, i - 1), cell[i]);
    for (uint32_t i = 0; i < rows; i++)
        for (int c = 0; c < NODES_COLUMNS; c++)
            width[c] = (int)strlen(cell[i][c]) > width[c] ? (int)strlen(cell[i][c]) : width[c];
    for (uint32_t i = 0; i < rows; i++)
        for (int c = 0; c < NODES_COLUMNS; c++) {
            bool last = c == NODES_COLUMNS - 1;
            printf("%*s%s", last ? 0 : right[c] ? width[c] : -width[c], cell[i][c], last ? "\n" : "  ");
        }
    for (uint32_t i = 1; i < rows; i++) {
        const struct headgate_reply *node = headgate_reply_at(nodes, i - 1);
        const char *waits_for = command_member_text(node, "waits_for");
        if (waits_for[0] != '\0')
            printf("%s waits for %s\n", command_member_text(node, "node"), waits_for);
    }
}

static void print_nodes(const struct invocation *invocation, const struct headgate_reply *nodes)
{
    if (!invocation->json) {
        print_nodes_table(nodes);
        return;
    }
    struct json json;
    json_begin(&json, stdout, '[');
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct headgate_reply *node = headgate_reply_at(nodes, i);
        json_open(&json, NULL, '{');
        for (uint32_t k = 0; k + 1 < node->count; k += 2) {
            const struct headgate_reply *key = headgate_reply_at(node, k), *value = headgate_reply_at(node, k + 1);
            if (key->kind != HEADGATE_REPLY_TEXT)
                continue;
            if (strcmp(key->text, "self") == 0 || strcmp(key->text, "config_differs") == 0 ||
                strcmp(key->text, "decides") == 0 || strcmp(key->text, "forgotten") == 0 ||
                strcmp(key->text, "passed_over") == 0)
                json_bool(&json, key->text, value->integer != 0);
            else if (value->kind == HEADGATE_REPLY_INTEGER)
                json_integer(&json, key->text, value->integer);
            else if (value->kind == HEADGATE_REPLY_NIL)
                json_null(&json, key->text);
            else if (value->kind == HEADGATE_REPLY_TEXT &&
                     (strcmp(key->text, "share") == 0 || strcmp(key->text, "clock_rate") == 0))
                json_number(&json, key->text, strtod(value->text, NULL));
            else if (value->kind == HEADGATE_REPLY_TEXT)
                json_text(&json, key->text, value->text, value->size);
        }
        json_close(&json, '}');
    }
    json_close(&json, ']');
}

int command_nodes(const struct invocation *invocation)
{
    static const char *const words[1] = {"NODES"};
    return command_exchange(invocation, words, 1, HEADGATE_REPLY_ARRAY, print_nodes);
}
