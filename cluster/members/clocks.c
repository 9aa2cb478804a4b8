/*
 * clocks judges the clocks of all members by their rates and jumps, gives notices of changes, and
 * decides by how much this node's own time is slowed. The median is of this node's clock as well.
 */
#include "cluster/members/clocks.h"

#include "base/held_clock.h"
#include "cluster/codec/effects.h"
#include "cluster/members/clock_rate.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/publish_state.h"

#include <stdlib.h>

enum {
    MILLION = 1000000,
    OFF_PPM = 10000,      /* a clock that is off by so much is named */
    ON_PPM = 5000,        /* a named clock that is off by less is as it should be again */
    HOLD_STEP_PPM = 1000, /* smaller changes of the own rate do not change how time is held */
    WINDOW_INTERVALS = 8, /* in a window at least: a member at rest says something every third one */
    WALL_MAX_MS = 1000000000,
    WALL_OFF_MS = 5000, /* a wall clock that differs by so much is named */
    WALL_ON_MS = 2500,  /* a named one that differs by less is as it should be again */
};

#define WINDOW_LEAST_NS UINT64_C(2000000000)
#define CLOCK_MAX_NS (UINT64_C(1) << 61)
#define JUMP_GAP_NS UINT64_C(60000000000) /* between two notices of jumps of one clock */

static uint64_t window_ns(const struct node *node)
{
    const uint64_t intervals_ns = WINDOW_INTERVALS * node->options.interval_ns;
    return intervals_ns > WINDOW_LEAST_NS ? intervals_ns : WINDOW_LEAST_NS;
}

void clocks_note_time(struct node *node, const struct event *event)
{
    const uint64_t raw_ns = event->clock_ns > 0 ? event->clock_ns : node->now_ns;
    if (raw_ns > node->clocks.raw_ns)
        node->clocks.raw_ns = raw_ns;
    node->clocks.wall_ms = event->wall_ms;
}

/* The message that took least tells most. */
static void note_wall(struct node *node, struct peer_clock *clock, uint64_t here_ns, uint64_t wall_ms)
{
    const uint64_t ours_ms = node->clocks.wall_ms;
    if (wall_ms == 0 || ours_ms == 0 || clock->open.least_at_ns != here_ns)
        return;
    const uint64_t apart_ms = wall_ms > ours_ms ? wall_ms - ours_ms : ours_ms - wall_ms;
    const int64_t bounded_ms = apart_ms < WALL_MAX_MS ? (int64_t)apart_ms : WALL_MAX_MS;
    clock->wall_ms = wall_ms > ours_ms ? bounded_ms : -bounded_ms;
    clock->wall_known = true;
}

void clocks_hear(struct node *node, const struct message *message, struct member *member, uint64_t echo)
{
    struct peer_clock *clock = &member->clock;
    const struct member_record *record = &message->members[message->sender];
    const struct clock_sample sample = {
        .here_ns = node->clocks.raw_ns,
        .there_ns = record->clock_ns,
        .asked_ns = echo > 0 ? node->publishing.made_raw_ns[echo % ECHOES_MAX] : 0,
    };
    if (record->clock_ns == 0 || record->clock_ns >= CLOCK_MAX_NS || sample.here_ns >= CLOCK_MAX_NS ||
        message->number <= clock->number)
        return; /* a message that comes late may be older than a jump */
    clock->number = message->number;
    node->clocks.look |= clock_take(clock, &sample, window_ns(node)) != CLOCK_NOTHING;
    note_wall(node, clock, sample.here_ns, record->wall_ms);
}

static bool is_measured(const struct node *node, const struct member *member)
{
    return member->used && member_needed(member) && !member->silent &&
           clock_is_measured(&member->clock, node->clocks.raw_ns, window_ns(node));
}

static int compare_ppm(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Of an even number the lower one of the two in the middle. */
static int32_t median_ppm(int32_t *ppm, uint32_t count)
{
    qsort(ppm, count, sizeof *ppm, compare_ppm);
    return ppm[(count - 1) / 2];
}

/* How much faster a clock of the rate `ppm` is than one of the rate `than_ppm`. Both are above a hundredth. */
static int32_t faster_ppm(int32_t ppm, int32_t than_ppm)
{
    const int64_t than = MILLION + (than_ppm > -MILLION + MILLION / 100 ? than_ppm : -MILLION + MILLION / 100);
    return (int32_t)(((int64_t)ppm - than_ppm) * MILLION / than);
}

/* Off with hysteresis: `surely` says whether it is off, `rate` by how much. */
static int32_t off_ppm(int32_t was, int32_t surely, int32_t rate)
{
    const int32_t least = was == 0 ? OFF_PPM : ON_PPM;
    if (surely < least && surely > -least)
        return 0;
    return rate != 0 ? rate : surely;
}

static void judge_own(struct clocks *clocks, int32_t median, int32_t surely)
{
    clocks->rate_ppm = faster_ppm(0, median);
    clocks->off_ppm = off_ppm(clocks->off_ppm, faster_ppm(0, surely), clocks->rate_ppm);
    int32_t wanted = clocks->off_ppm > 0 && median < 0 ? -median : 0;
    if (wanted > HELD_CLOCK_PPM_MAX)
        wanted = HELD_CLOCK_PPM_MAX;
    if (wanted == 0 || abs(wanted - (int32_t)clocks->held_ppm) >= HOLD_STEP_PPM)
        clocks->held_ppm = (uint32_t)wanted;
}

/*
 * A median of some clocks only would name the wrong one. Nobody waits for long: a clock that jumps
 * all the time is never measured.
 */
static bool is_awaited(const struct node *node, const struct member *member)
{
    const struct peer_clock *clock = &member->clock;
    return member->used && member_needed(member) && !member->silent && clock->first_ns > 0 &&
           !is_measured(node, member) &&
           node->clocks.raw_ns - clock->first_ns < 2 * CLOCK_WINDOWS * window_ns(node);
}

/* What is not measured keeps its last rate: a clock that was fast is no less so while nobody is heard. */
static void compare(struct node *node)
{
    int32_t rate[NODE_PEERS_MAX + 1] = {0}, surely[NODE_PEERS_MAX + 1] = {0};
    uint32_t count = 1; /* the own clock, against itself */
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (is_awaited(node, member))
            return;
        if (!is_measured(node, member))
            continue;
        rate[count] = member->clock.rate_ppm;
        surely[count++] = clock_surely_ppm(&member->clock, 0);
    }
    if (count == 1)
        return;
    node->clocks.known = true;
    node->clocks.median_ppm = median_ppm(rate, count);
    judge_own(&node->clocks, node->clocks.median_ppm, median_ppm(surely, count));
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!is_measured(node, member))
            continue;
        struct peer_clock *clock = &member->clock;
        clock->off_ppm = off_ppm(clock->off_ppm, clock_surely_ppm(clock, node->clocks.median_ppm),
                                 faster_ppm(clock->rate_ppm, node->clocks.median_ppm));
    }
}

static bool changed(int32_t told_ppm, int32_t ppm)
{
    return (told_ppm > 0) != (ppm > 0) || (told_ppm < 0) != (ppm < 0);
}

static double percent(int32_t ppm)
{
    return (double)abs(ppm) / (MILLION / 100.0);
}

static void tell_own(struct clocks *clocks, struct effects *effects)
{
    const int32_t ppm = clocks->off_ppm;
    if (!changed(clocks->told_ppm, ppm))
        return;
    clocks->told_ppm = ppm;
    if (ppm == 0)
        effects_notice(effects, NOTICE_INFO, "the clock of this daemon runs as the others do again");
    else
        effects_notice(effects, NOTICE_WARNING,
                       "the clock of this daemon runs %.1f%% %s against the median of all%s", percent(ppm),
                       ppm > 0 ? "fast" : "slow",
                       ppm > 0 ? ", to which its time is slowed" : ", and its limits refill as slowly");
}

static void tell_off(struct member *member, struct effects *effects)
{
    const int32_t ppm = member->clock.off_ppm;
    if (!changed(member->clock.told_ppm, ppm))
        return;
    member->clock.told_ppm = ppm;
    if (ppm == 0)
        effects_notice(effects, NOTICE_INFO, "the clock of %s runs as the others do again", member->name);
    else
        effects_notice(effects, NOTICE_WARNING, "the clock of %s runs %.1f%% %s against the median of all",
                       member->name, percent(ppm), ppm > 0 ? "fast" : "slow");
}

/*
 * Windows and quotas begin and end by wall clocks. Which of the two is wrong is for the operator to find out. What a
 * message tells that has waited while this process stood still is gone two windows later.
 */
static void tell_wall(const struct node *node, struct member *member, struct effects *effects)
{
    struct peer_clock *clock = &member->clock;
    const uint64_t now_ns = node->clocks.raw_ns;
    const int64_t apart_ms = llabs(clock->wall_ms);
    if (!clock->wall_known || member->silent || !member_needed(member) ||
        (apart_ms >= (clock->wall_told ? WALL_ON_MS : WALL_OFF_MS)) == clock->wall_told) {
        clock->wall_turned_ns = 0;
        return;
    }
    if (clock->wall_turned_ns == 0)
        clock->wall_turned_ns = now_ns > 0 ? now_ns : 1;
    if (now_ns - clock->wall_turned_ns < 2 * window_ns(node))
        return;
    clock->wall_turned_ns = 0;
    clock->wall_told = !clock->wall_told;
    if (clock->wall_told)
        effects_notice(effects, NOTICE_WARNING,
                       "the wall clock of %s is %.1f s %s that of this daemon: windows and quotas go by them",
                       member->name, (double)apart_ms / 1000.0, clock->wall_ms > 0 ? "ahead of" : "behind");
    else
        effects_notice(effects, NOTICE_INFO, "the wall clocks of %s and of this daemon agree again", member->name);
}

static bool jump_is_due(uint64_t *told_ns, uint64_t now_ns)
{
    if (*told_ns > 0 && now_ns - *told_ns < JUMP_GAP_NS)
        return false;
    *told_ns = now_ns;
    return true;
}

static void tell_jump(struct node *node, struct effects *effects, const char *name, int64_t jumped_ns,
                      uint64_t *told_ns, uint32_t *jumps)
{
    node->stats.clock_jumps++;
    ++*jumps;
    if (jump_is_due(told_ns, node->clocks.raw_ns))
        effects_notice(effects, NOTICE_WARNING, "the clock of %s has jumped %.1f s %s", name,
                       (double)llabs(jumped_ns) / 1e9,
                       jumped_ns > 0 ? "ahead" : "back, or has stood still for as long");
}

/* True: more than half of the clocks, at least two, have jumped to one side, so it is this node's that has jumped. */
static bool own_has_jumped(const struct node *node, int64_t *jumped_ns)
{
    uint32_t known = 0, ahead = 0, back = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member->used || !member_needed(member) || member->silent || member->clock.first_ns == 0)
            continue;
        known++;
        ahead += member->clock.jumped_ns > 0;
        back += member->clock.jumped_ns < 0;
        if (member->clock.jumped_ns != 0)
            *jumped_ns = -member->clock.jumped_ns;
    }
    const uint32_t most = ahead > back ? ahead : back;
    return most >= 2 && 2 * most > known;
}

/* Jumps are told half a window after the first one: by then it is known whose clock has jumped. */
static void tell_jumps(struct node *node, struct effects *effects)
{
    int64_t own_ns = 0;
    const uint64_t now_ns = node->clocks.raw_ns;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct peer_clock *clock = &node->member[i].clock;
        if (clock->jumped_ns != 0 && now_ns - clock->jumped_at_ns < window_ns(node) / 2)
            return;
    }
    const bool own = own_has_jumped(node, &own_ns);
    if (own)
        tell_jump(node, effects, "this daemon", own_ns, &node->clocks.told_jump_ns, &node->clocks.jumps);
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (member->clock.jumped_ns != 0 && !own)
            tell_jump(node, effects, member->name, member->clock.jumped_ns, &member->clock.told_jump_ns,
                      &member->clock.jumps);
        member->clock.jumped_ns = 0;
    }
}

void clocks_refresh(struct node *node, struct effects *effects)
{
    struct clocks *clocks = &node->clocks;
    if (!clocks->look && clocks->raw_ns < clocks->again_ns)
        return;
    clocks->look = false;
    clocks->again_ns = clocks->raw_ns + window_ns(node);
    compare(node);
    tell_own(clocks, effects);
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && !node->member[i].self) {
            tell_off(&node->member[i], effects);
            tell_wall(node, &node->member[i], effects);
        }
    tell_jumps(node, effects);
}

const char *clock_state_name(enum clock_state state)
{
    static const char *const names[] = {"unmeasured", "good", "fast", "slow"};
    return names[state];
}

void clocks_report(const struct node *node, const struct member *member, struct peer_report *report)
{
    const struct peer_clock *clock = &member->clock;
    const int32_t off = member->self ? node->clocks.off_ppm : clock->off_ppm;
    report->clock_jumps = member->self ? node->clocks.jumps : clock->jumps;
    if (member->self ? node->clocks.known : is_measured(node, member)) {
        report->clock = off > 0 ? CLOCK_FAST : off < 0 ? CLOCK_SLOW : CLOCK_GOOD;
        report->clock_ppm =
            member->self ? node->clocks.rate_ppm : faster_ppm(clock->rate_ppm, node->clocks.median_ppm);
    }
    report->wall_known = !member->self && clock->wall_known;
    report->wall_ahead_ms = report->wall_known ? clock->wall_ms : 0;
}

uint32_t node_held_ppm(const struct node *node)
{
    return node->clocks.held_ppm;
}
