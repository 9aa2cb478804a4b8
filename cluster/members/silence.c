/*
 * silence decides which members are silent: those not heard for silent_after of the time in which
 * this node ran.
 *
 * A node that did not get to run (a busy machine, SIGSTOP, a clock that jumped) heard nobody
 * meanwhile. It knows that, since its step comes later than the last step asked for. That time does
 * not count against the others. After a stall no member is called silent before the node has run
 * for a whole silent_after, so that messages of the meantime are read first. A node that stalls
 * again and again would then call no member silent; so a quiet time of PATIENCE times silent_after
 * always counts.
 *
 * The bound does not depend on silence: an unheard member keeps its share, whether it is called
 * silent or not.
 */
#include "cluster/members/silence.h"

#include "base/number.h"
#include "cluster/codec/effects.h"
#include "cluster/members/votes.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

enum {
    STALL_PART = 4, /* of silent_after: a step that is later than this was a stall */
    PATIENCE = 4,   /* times silent_after */
    /* times silent_after: a member that flaps must be heard for so long before a notice says so */
    CALM_PERIODS = 16,
};

static const char forgotten_why[] = "was silent for forget_after and is forgotten";

void silence_note_time(struct node *node, uint64_t before_ns)
{
    uint64_t due_ns = node->awake.wake_ns > before_ns ? node->awake.wake_ns : before_ns;
    uint64_t late_ns = number_minus(node->now_ns, due_ns);
    if (node->last_uid == 0 || late_ns <= node->options.interval_ns)
        return;
    node->awake.lost_ns += late_ns - node->options.interval_ns;
    if (late_ns <= node->options.silent_after_ns / STALL_PART)
        return;
    node->awake.stalled_ns = awake_ns(node);
    node->stats.stalls++;
    node->stats.stalled_ms += late_ns / 1000000;
}

/* Since when, on the clock of awake_ns, the member was not heard. */
static uint64_t quiet_since_ns(const struct node *node, const struct member *member)
{
    return member->heard_ns ? member->heard_awake_ns : node->awake.started_ns;
}

static bool is_silent(const struct node *node, uint64_t quiet_ns)
{
    uint64_t after_ns = node->options.silent_after_ns;
    bool listened = node->awake.stalled_ns == 0 || awake_ns(node) - node->awake.stalled_ns > after_ns;
    return quiet_ns > after_ns && (listened || quiet_ns / PATIENCE > after_ns);
}

static uint64_t calm_ns(const struct node *node)
{
    return CALM_PERIODS * node->options.silent_after_ns;
}

static void set_silent(const struct node *node, struct member *member, bool silent)
{
    uint64_t now_ns = awake_ns(node);
    if (silent && !member->silent)
        member->flaps = member->returned_ns > 0 && now_ns - member->returned_ns < calm_ns(node);
    else if (!silent && member->silent)
        member->returned_ns = now_ns;
    member->silent = silent;
}

/*
 * One notice for each change. A member that comes and goes all the time has three: silent, heard,
 * silent; the next one is due when it was heard for CALM_PERIODS.
 */
static void tell_silence(const struct node *node, struct member *member, struct effects *effects)
{
    if (member->silent == member->silence_told || (!member->silent && !member->heard_ns) ||
        (!member->silent && member->flaps && awake_ns(node) - member->returned_ns < calm_ns(node)))
        return;
    member->silence_told = member->silent;
    effects_notice(effects, member->silent ? NOTICE_WARNING : NOTICE_INFO, "%s %s", member->name,
                   member->silent ? "is silent: its share stays reserved" : "is heard again");
}

void silence_refresh(struct node *node, struct effects *effects)
{
    node->awake.somebody_silent = false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        uint64_t quiet_ns = awake_ns(node) - quiet_since_ns(node, member);
        bool silent = is_silent(node, quiet_ns);
        set_silent(node, member, silent);
        tell_silence(node, member, effects);
        if (silent && node->options.forget_after_ns && quiet_ns > node->options.forget_after_ns) {
            if (votes_forget(node, i, effects, forgotten_why))
                continue;
        }
        node->awake.somebody_silent |= silent || !member->heard_ns;
    }
}
