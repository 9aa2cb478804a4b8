/*
 * settings_weights reads weights_by_demand, and refuses it, and floors, where they have no effect.
 */
#include "edge/settings/settings_weights.h"

#include "edge/settings/settings.h"
#include "edge/settings/settings_reader.h"

#include <string.h>

#define DAY (UINT64_C(86400) * 1000000000)
#define WHOLE_BILLIONTHS UINT64_C(1000000000)
#define MOST_BILLIONTHS (WHOLE_BILLIONTHS / 10 * 9)

enum { INTERVALS_LEAST = 100 };

static bool check_floors(const struct settings *settings, const struct settings_reader *reader)
{
    const struct node_options *node = &settings->node;
    uint64_t sum = 0, most = WHOLE_BILLIONTHS;
    for (uint32_t i = 0; i < node->region_count; i++) {
        const uint64_t floor = node->regions[i].floor_billionths;
        sum += floor;
        most = floor == 0 ? MOST_BILLIONTHS : most;
        if (floor > 0 && node->weights_by_demand_ns == 0)
            return reader_fail(reader, "regions",
                               "region %s has a floor, which has no effect: expected weights_by_demand with it",
                               node->regions[i].region);
    }
    return sum <= most ||
           reader_fail(reader, "regions", "regions have floors that sum to %llu.%09llu: expected at most %s",
                       (unsigned long long)(sum / WHOLE_BILLIONTHS), (unsigned long long)(sum % WHOLE_BILLIONTHS),
                       most == WHOLE_BILLIONTHS ? "1" : "0.9, as there are regions without one");
}

bool settings_read_weights(struct settings *settings, const struct settings_reader *reader)
{
    struct node_options *node = &settings->node;
    static const char path[] = "weights_by_demand";
    const char *text = reader_text(reader, path);
    if (!read_duration_or_off(reader, path, INTERVALS_LEAST * node->interval_ns, DAY, &node->weights_by_demand_ns))
        return false;
    if (node->weights_by_demand_ns == 0)
        return check_floors(settings, reader);
    if (node->region_count < 2)
        return reader_wrong(reader, path, text, "off, as there is one region, which has all");
    if (node->takeover_after_ns > 0)
        return reader_wrong(reader, path, text, "off, as weights cannot be set while takeover_after is set");
    if (strcmp(settings->state_dir, "none") == 0)
        return reader_wrong(reader, path, text,
                            "off, or a state_dir, as weights that are set must outlive a restart");
    return check_floors(settings, reader);
}
