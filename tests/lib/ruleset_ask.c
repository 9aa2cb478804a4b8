#include "tests/lib/ruleset_ask.h"

const uint64_t now_ns = 5000 * S;

const uint64_t wall_ns = 1800000000ull * S; /* 2027-01-15T08:00:00Z */

struct match match;

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t add_all(char *out, size_t room, const struct matched *matched, uint32_t count)
{
    char names[CHARGES_MAX][160];
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ruled *rule = matched[i].rule;
        (void)snprintf(names[i], sizeof names[i], "%s%.*s:%s", matched[i].candidate ? "canary of " : "",
                       (int)rule->id.size, rule->id.data, match_why_name((enum match_why)matched[i].why));
    }
    qsort(names, count, sizeof names[0], by_text);
    for (uint32_t i = 0; i < count; i++)
        size += (size_t)snprintf(out + size, room - size, "%s%s", i > 0 ? " " : "", names[i]);
    return size;
}

const char *ruleset_ask(struct world *world, const char *text)
{
    static char out[4096];
    struct request request = world_request(text);
    bool charges = ruleset_match(world->ruleset, &request, now_ns, wall_ns, &match);
    out[0] = '\0';
    switch (match.status) {
    case MATCH_CHARGES:
        break;
    case MATCH_DENIED:
        (void)snprintf(out, sizeof out, "DENIED by %s", match.passed[match.denied_by].rule->id.data);
        return charges || match.count > 0 ? "denied with charges?" : out;
    case MATCH_UNKNOWN_SERVICE:
        return charges ? "unknown service, with charges?" : "UNKNOWN SERVICE";
    case MATCH_UNKNOWN_RULE:
        return charges ? "unknown, with charges?" : "UNKNOWN";
    case MATCH_RULE_NOT_CONCERNED:
        return charges ? "not concerned, with charges?" : "NOT CONCERNED";
    }
    size_t size = add_all(out, sizeof out, match.rule, match.count);
    if (match.passed_count > 0) {
        size += (size_t)snprintf(out + size, sizeof out - size, " | ");
        (void)add_all(out + size, sizeof out - size, match.passed, match.passed_count);
    }
    return charges ? out : "no charges?";
}
