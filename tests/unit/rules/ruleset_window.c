/* Windows on two clocks: what is counted in which, and until when. */
#include "rules/match.h"

#include "tests/lib/ruleset_world.h"
#include "tests/lib/tap.h"

#define S 1000000000ull
#define DAY_S 86400ull

static const uint64_t now_ns = 5000 * S;
static const uint64_t wall_ns = 1800000000ull * S; /* 2027-01-15T08:00:00Z */

static struct match match;

static bool same_key(struct charge a, struct charge b)
{
    return key_id_equal(a.id, b.id);
}

static struct charge charge_at(struct world *world, const char *text, uint64_t now, uint64_t wall)
{
    struct request request = world_request(text);
    (void)ruleset_match(world->ruleset, &request, now, wall, &match);
    return match.charge[0];
}

static uint64_t rounded(uint64_t ns)
{
    return (ns + (1 << 26) - 1) >> 26 << 26;
}

static void windows(void)
{
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world, "- {id: f, algorithm: fixed_window, limit: 5, window: 1m, tiers: {t: 7/h}}\n"
                         "- {id: s, by: ip, algorithm: sliding_window, limit: 5, window: 1m}\n"
                         "- {id: l, by: job, algorithm: sliding_log, limit: 5, window: 1m}\n"),
       "windows: the rules are compiled");
    const uint64_t start = wall_ns / (60 * S) * 60 * S;
    struct charge at_start = charge_at(world, "u", now_ns, start);
    OK_U64(at_start.window_end_ns, now_ns + 60 * S, "a window ends a minute after it begins");
    OK_U64(at_start.window_ns, 60 * S, "it is a minute long");
    OK_U64(at_start.expires_ns, rounded(now_ns + 70 * S), "it is kept for ten seconds after its end");
    struct charge later = charge_at(world, "u", now_ns + 60 * S - 1, start + 60 * S - 1);
    OK(same_key(at_start, later) && later.expires_ns == at_start.expires_ns, "it is the same until its end");
    struct charge next = charge_at(world, "u", now_ns + 60 * S, start + 60 * S);
    OK(!same_key(at_start, next) && next.window_end_ns == now_ns + 120 * S, "then the next one begins");
    OK(!same_key(next, charge_at(world, "v", now_ns + 60 * S, start + 60 * S)), "users have each their own");
    OK_U64(charge_at(world, "u TIER t", now_ns, start).window_ns, 3600 * S, "a tier can have another window");

    struct charge sliding = charge_at(world, "ip=1", now_ns, start);
    struct charge sliding_next = charge_at(world, "ip=1", now_ns + 61 * S, start + 61 * S);
    OK(sliding.sliding && key_id_equal(sliding_next.previous, sliding.id), "a sliding window knows the one before");
    OK_U64(sliding.expires_ns, rounded(now_ns + 130 * S), "and is kept until the next one has ended, and as long");
    OK_U64(sliding.window_end_ns, now_ns + 60 * S, "though it ends before");

    at_start = charge_at(world, "u", now_ns, start);
    struct charge slewed = charge_at(world, "u", now_ns + 10 * S, start + 10 * S + 20000000);
    OK(same_key(slewed, at_start) && slewed.window_end_ns == at_start.window_end_ns,
       "clocks that move apart by 20 ms change nothing");
    struct charge jumped = charge_at(world, "u", now_ns + 10 * S, start + 40 * S);
    OK(same_key(jumped, at_start) && jumped.window_end_ns == now_ns + 30 * S,
       "a jump within the window moves its end");
    struct charge back = charge_at(world, "u", now_ns + 20 * S, start - 5 * S);
    OK(!same_key(back, at_start) && back.window_end_ns == now_ns + 25 * S, "a jump back is in the window before");
    struct charge log = charge_at(world, "job=1", now_ns, start);
    OK(log.expires_ns == 0 && log.window_ns == 0 &&
           same_key(log, charge_at(world, "job=1", now_ns, start + 90 * S)),
       "a sliding log has no windows");
    (void)charge_at(world, "u", 0, 0);
    (void)charge_at(world, "u ip=1", UINT64_MAX, UINT64_MAX);
    OK(true, "clocks at their ends do no harm");
    world_destroy(world);
}

static void quotas(void)
{
    struct world *world = world_create(10, 100, 100, false);
    OK(world_load(world, "- {id: day, algorithm: quota, limit: 5, window: day, zone: Europe/Berlin}\n"
                         "- {id: month, by: org, algorithm: quota, limit: 5, window: month, tiers: {t: 9/year}}\n"),
       "quotas: the rules are compiled");
    const uint64_t noon = 1774785600ull * S; /* 2026-03-29T12:00:00Z: that day has 23 hours in Berlin */
    struct charge day = charge_at(world, "u", now_ns, noon);
    OK_U64(day.window_ns, 23 * 3600 * S, "the day on which daylight saving begins has 23 hours");
    OK_U64(day.window_end_ns, now_ns + 10 * 3600 * S, "and ends at 22:00 UTC");
    OK(same_key(day, charge_at(world, "u", now_ns, noon - 13 * 3600 * S)), "its first moment is in it");
    OK(!same_key(day, charge_at(world, "u", now_ns, noon - 13 * 3600 * S - 1)), "the moment before is not");
    OK_U64(charge_at(world, "u", now_ns, 1792929600ull * S).window_ns, 25 * 3600 * S, "another has 25 hours");
    OK_U64(charge_at(world, "org=1", now_ns, noon).window_ns, 31 * DAY_S * S, "March has 31 days");
    OK_U64(charge_at(world, "org=1 TIER t", now_ns, noon).window_ns, 365 * DAY_S * S, "a tier counts by the year");
    OK(!match.charge[0].sliding && match.charge[0].previous.high == 0, "quotas do not slide");
    world_destroy(world);
}

int main(void)
{
    windows();
    quotas();
    return tap_done();
}
