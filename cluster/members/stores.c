/*
 * stores tracks which counters the stores of members had when the members started. A daemon that
 * lost its store, or never had one, would hand out again tokens that only the stores of others know
 * to be spent. So every node asks each peer that began with counters of its store for them, once
 * for each incarnation, and takes the lower figure. Each peer says in every message whether its own
 * store had counters, and whose counters are known to it.
 *
 * A joining node gives its store counters in parts of its table, as an active node gives a
 * snapshot. Nothing was spent since, so such a part stands for no batches and is merged by the
 * lower figure alone. So of nodes that all start at once none begins to admit before it knows the
 * stores of all others.
 */
#include "cluster/members/stores.h"

#include "cluster/codec/effects.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

bool member_store_is_known(const struct member *member)
{
    return member->incarnation > 0 && member->store_known == member->incarnation;
}

void stores_hear(struct node *node, const struct message *message, const int *member_map, uint32_t sender)
{
    struct member *member = &node->member[sender];
    member->knows_stores = 0;
    for (uint32_t i = 0; i < message->member_count; i++) {
        const struct member_record *record = &message->members[i];
        int known = member_map[i];
        if (known >= 0 && i != message->sender && record->stored &&
            record->incarnation == node->member[known].incarnation)
            member->knows_stores |= member_bit((uint32_t)known);
    }
    member->has_store = message->members[message->sender].stored;
    if (!member->has_store)
        member->store_known = member->incarnation; /* there are no counters to know */
}

void stores_forget(struct node *node, uint32_t index)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].knows_stores &= ~member_bit(index);
    node->snapshot.donor_knows_stores &= ~member_bit(index);
}

void stores_start_anew(struct node *node, uint32_t index, uint64_t incarnation)
{
    struct member *member = &node->member[index];
    bool told_all = member->state == PEER_LEFT && !member->forgotten && member_store_is_known(member);
    member->has_store = false;
    member->knows_stores = 0;
    if (told_all) /* it told all counters of its store before it left */
        member->store_known = incarnation;
}

void stores_join_again(struct node *node)
{
    node->stores.had_some &= node->life.state == PEER_JOINING && !node->stores.has_merged;
    node->stores.asked_ns = 0;
    stores_forget(node, node->me);
}

/*
 * True if the member is in that state and can be asked for its store counters, which are unknown
 * here.
 */
static bool has_unknown_store(const struct member *member, enum peer_state state)
{
    return member_needed(member) && member->has_store && !member_store_is_known(member) && member->state == state &&
           !member->silent && !member->mute_in;
}

/* Of those whose counters do not come from elsewhere (`comes`, a bit for each member); -1: there is none. */
static int joining_source(const struct node *node, uint64_t comes, bool with_passed_over)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (has_unknown_store(&node->member[i], PEER_JOINING) && (comes & member_bit(i)) == 0 &&
            (with_passed_over || !member_is_passed_over(&node->member[i])))
            return (int)i;
    return -1;
}

/*
 * A joining node gets from its donor the store counters that the donor knows. Where it has no donor it goes by nobody:
 * who was asked in vain, as it stood still, is asked again, since nobody else knows what its store had.
 */
int stores_source(const struct node *node)
{
    const bool joins = node->life.state == PEER_JOINING;
    const int donor = joins ? member_to_ask(node) : -1;
    const uint64_t comes = donor >= 0 ? node->member[donor].knows_stores : 0;
    const int first = joining_source(node, comes, false);
    return first >= 0 || donor >= 0 || !joins ? first : joining_source(node, comes, true);
}

int stores_active_source(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (has_unknown_store(&node->member[i], PEER_ACTIVE) && !member_is_passed_over(&node->member[i]))
            return (int)i;
    return -1;
}

bool stores_overdue(const struct node *node)
{
    uint64_t since_ns =
        node->life.started_ns > node->stores.taken_ns ? node->life.started_ns : node->stores.taken_ns;
    return node->options.join_timeout_ns && node->now_ns - since_ns >= node->options.join_timeout_ns;
}

/*
 * Active peers must get the counters before this node takes their tables: afterwards this node
 * could give no part that stands for no batches.
 */
bool stores_are_wanted(const struct node *node)
{
    uint64_t since_ns =
        node->life.started_ns > node->stores.asked_ns ? node->life.started_ns : node->stores.asked_ns;
    if (!node->stores.had_some || node->stores.has_merged ||
        node->now_ns - since_ns > node->options.silent_after_ns)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && member->state == PEER_ACTIVE && !member->silent && member->heard_ns != 0 &&
            (member->knows_stores & member_bit(node->me)) == 0)
            return true;
    }
    return false;
}

bool stores_may_be_given(const struct node *node)
{
    return node->life.state == PEER_JOINING && node->stores.had_some &&
           (!node->stores.has_merged || member_to_ask(node) < 0);
}

void stores_taken(struct node *node, struct effects *effects)
{
    struct snapshot *snapshot = &node->snapshot;
    struct member *donor = &node->member[snapshot->donor];
    snapshot->running = false;
    donor->store_known = snapshot->donor_incarnation;
    node->stats.stores_taken++;
    todo_add(&node->todo, DO_ANSWER);
    effects_notice(effects, NOTICE_INFO, "took what the store of %s had", donor->name);
}

void stores_came_with_snapshot(struct node *node)
{
    const struct snapshot *snapshot = &node->snapshot;
    node->member[snapshot->donor].store_known = snapshot->donor_incarnation;
    for (uint32_t i = 0; i < node->member_end; i++)
        if ((snapshot->donor_knows_stores & member_bit(i)) != 0 && i != node->me)
            node->member[i].store_known = node->member[i].incarnation;
}
