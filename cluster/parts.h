/*
 * parts: what the files of the cluster do for each other, file by file; nobody else includes it. Those of the request
 * path are in spending.h, which comes with it.
 *
 * They all work on one struct node (state.h), in one thread at a time but for what requests call (see lane.c). Which of
 * them calls which: docs/architecture.md.
 */
#ifndef HEADGATE_CLUSTER_PARTS_H
#define HEADGATE_CLUSTER_PARTS_H

#include "cluster/spending.h"
#include "cluster/state.h"

/* ---- member.c: what can be read off the members ---- */
int member_find(const struct node *node, struct bytes name);
/* A member that has not left and is not this node: its acknowledgement is needed. */
bool member_needed(const struct member *member);
bool member_hears(const struct node *node, const struct member *listener, uint32_t speaker);
/* Its newest message said so: see is_at_rest. */
bool member_rests(const struct node *node, uint32_t index);
/* An active peer to ask for what it has, or -1. */
int member_to_ask(const struct node *node);

/* ---- share.c: the shares of members ---- */
/* What part of every limit that member has, in 1/SHARE_ONE, as long as nobody else gets it. */
uint64_t membership_share(const struct node *node, uint32_t index);
/* The same, whether or not it counts. */
uint64_t member_share(const struct node *node, const struct member *member);
/* The shares of all members that count, as this node sees them, this node's among them. Returns how many. */
uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX]);
/* Members that take a share and that this node's config does not name: those that have left, or the others. */
uint32_t shares_unlisted(const struct node *node, bool left);

/* ---- membership.c: who there is ---- */
void membership_init(struct node *node, struct effects *effects);
/* Takes over what a message says of members; map[i] becomes the member index of its record i, or -1. */
void membership_merge(struct node *node, const struct message *message, int *map, struct effects *effects);
void membership_left(struct node *node, uint32_t index, bool forgotten, struct effects *effects, const char *why);

/* ---- view.c ---- */
/* This node's own view of who hears whom, shares and silence, after anything changed or time passed. */
void membership_refresh(struct node *node, struct effects *effects);

/* ---- incarnation.c: which start of a name counts ---- */
/* Not so far ahead of this node's clock that it must be made up. Otherwise it is counted, and told now and then. */
bool incarnation_is_plausible(struct node *node, const struct member_record *record, struct effects *effects);
/* Somebody says that this node's name has that incarnation, or that its own is over. */
void incarnation_heard(struct node *node, const struct member_record *record, struct effects *effects);
/* The same while this node is superseded: whether whoever took its place is still there. */
void incarnation_watch(struct node *node, const struct message *message, struct effects *effects);

/* ---- accord.c: whose config counts ---- */
/* Whether this node decides: node->accord.decides. Before shares_refresh. */
void accord_refresh(struct node *node, struct effects *effects);

/* ---- silence.c: who is not heard ---- */
/* For how long this node has run: its clock without the time in which it did not get to. */
static inline uint64_t awake_ns(const struct node *node)
{
    return node->now_ns - node->lost_ns;
}
/* The last step was at `before_ns`. */
void silence_note_time(struct node *node, uint64_t before_ns);
void silence_refresh(struct node *node, struct effects *effects);

/* ---- shares.c: what part of every limit each member has ---- */
void shares_refresh(struct node *node);

/* ---- rest.c: when nothing is to be said ---- */
/* This node has nothing to tell, and waits for nothing that others would have to tell. */
bool is_at_rest(const struct node *node);
/* Nor have, nor do, the others: what was last said at `said_ns` need not be said with this tick. */
bool tick_is_spared(const struct node *node, uint64_t said_ns);

/* ---- join.c: from nothing to a share, and a graceful end ---- */
void join_step(struct node *node, struct effects *effects);
void hello_step(struct node *node, struct effects *effects);
void leave_step(struct node *node, struct effects *effects);

/*
 * ---- how much is done in one step ----
 * Requests wait while a step runs. So it works on about step_keys keys, and leaves the rest to a step that follows at
 * once, when requests have been served. Whatever goes through keys says so, and asks before it begins with some: what
 * comes first in a step is not refused, however large.
 */
static inline bool step_has_time(struct node *node, uint64_t keys)
{
    bool has = keys <= node->step_left || node->step_left == node->step_keys;
    node->step_again |= !has;
    return has;
}
static inline void step_works(struct node *node, uint64_t keys)
{
    node->step_worked += keys;
    node->step_left -= keys < node->step_left ? (uint32_t)keys : node->step_left;
}

/* ---- origins.c: how far each origin is applied, and its log ---- */
int origin_find(const struct node *node, uint32_t member, uint64_t incarnation);
int origin_find_uid(const struct node *node, uint32_t uid);
/* Finds or makes it; -1 when it is retired or there is no slot. */
int origin_obtain(struct node *node, uint32_t member, uint64_t incarnation);
/* No new batches can come of it: its member restarted or left. */
bool origin_is_ghost(const struct node *node, const struct origin *origin);
/* All that this member says it had spent itself, under this and earlier incarnations, is applied here. */
bool origins_cover_spends(const struct node *node, uint32_t member);
/*
 * And so is what it says it has of incarnations that are over. If that holds for every member, whatever any of them had
 * charged its keys with is charged here.
 */
bool origins_cover_view(const struct node *node, uint32_t member);
/* It is a part of what is being applied in parts. */
bool origin_has_begun(const struct origin *origin, const struct batch *part);
/* Whether a batch of so many spends under so many limits may be made: it takes at most half of a message. */
bool batch_fits(const struct node *node, uint32_t spend_count, uint32_t group_count);
/* Where a batch of these sorted spends that begins with number `from` ends: as many as fit. */
uint32_t batch_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t count);
void origin_log_append(struct node *node, struct origin *origin, struct batch *batch);
/* The first `count` of the batch's spends leave it. */
void origin_log_shorten(struct node *node, struct origin *origin, struct batch *batch, uint32_t count);
void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch);
/* The same where somebody may lack it: with all parts beside it, since the others would be of no use. */
void origin_log_drop(struct node *node, struct origin *origin, struct batch *batch);
/* Up to which of its batches the best informed of the others is known to have it. */
uint64_t origin_most_known(const struct node *node, uint32_t slot);
/*
 * Others have retired an own incarnation that is over: nobody takes batches of it any more. Those that nobody is known
 * to have become batches of the present incarnation, and are told by it.
 */
void origin_reclaim(struct node *node, uint32_t slot);
/* Frees what everybody has, and retires ghosts. */
void origins_forget_stable(struct node *node);
/* All that this member's incarnations up to `incarnation` spent is contained in what we have. */
void origins_retire(struct node *node, uint32_t member, uint64_t incarnation);
void origins_close(struct node *node);

/* ---- tally.c: what is told and not settled, where there is much of it ---- */
/* There are so many own batches that they are not searched. */
bool tally_is_wanted(const struct node *node);
/* All own batches are in it. */
bool tally_is_whole(struct node *node);
/* Brings it nearer to that, as far as there is time. */
void tally_step(struct node *node);
void tally_reset(struct node *node);
/* Strikes spend number `index` of a batch that is in it off; what is left of its key. Best in their order. */
uint64_t tally_strike(struct node *node, const struct batch *batch, uint32_t index);
/* The batch leaves the log, with what was not struck off of it. */
void tally_forget(struct node *node, struct batch *batch);

/* ---- merge.c: one run of a log; compact.c: which, and when ---- */
/* The next run of the sweep begins; false: it is at its end. */
bool merge_begin(struct node *node);
/* False: there is more than this step has time for. */
bool merge_some(struct node *node);
/* All is made: it takes the place of the run. */
void merge_finish(struct node *node);
void merge_abandon(struct merger *merger);
void compact_init(struct node *node);
void compact_close(struct node *node);
/* Merges neighbours until the log is within its limit; tells node->log_full when it is not. */
void origins_compact(struct node *node);
/* The log is beyond its limit, and merging has still to make what it can of it. */
bool compact_comes_first(const struct node *node);
/* The batch leaves the origin's log: a run that it is of is not merged. */
void compact_forget(struct node *node, const struct origin *origin, const struct batch *batch);

/* Seals the message that was written and emits it. */
void emit_message(struct node *node, const struct message_writer *writer, enum effect_kind kind,
                  const char *address);

/* ---- tell.c: batches of what is untold ---- */
/*
 * Batches are closed: of all that is urgent; of that, and of others as fast as the pace allows, but no more than is
 * worked on in a step; of everything. And, each time, of what has been gathered: see tell_ahead.
 */
void tell_urgent(struct node *node);
void tell_at_pace(struct node *node);
void tell_all(struct node *node);
/*
 * Gathers a part of what the pace allows, or makes a batch of all of it; true: the message is for a later step. Until
 * then no ring and no log has it: whoever looks there, or makes a message, calls tell_gathered or one of those above.
 */
bool tell_ahead(struct node *node);
void tell_gathered(struct node *node);
/* Of as much as one step may work on, where that is not all; true if it was. */
bool tell_some(struct node *node);
/* Of what is urgent, if that is as much as one step may work on. */
void tell_much_urgent(struct node *node);
/* Of so much that a ring has room for one more, for whoever may add some in a step. */
void tell_for_room(struct node *node);
/* What is untold of keys that begin with the prefix (see table_visit) becomes urgent. */
void urge_part(struct node *node, uint64_t prefix, unsigned prefix_bits);
/* For how long the oldest one has waited, at most. */
uint64_t untold_age_ns(const struct node *node);

/* ---- counters.c: what the store is told ---- */
bool counters_create(struct node *node);
void counters_destroy(struct node *node);
/* The key's state has changed: it is told to the store, if its limit is to be kept. */
void counters_touch(struct node *node, struct entry *entry);
/* False: the store could not be told of one more key. */
bool counters_have_room(const struct node *node, const struct entry *entry);
/* Tells the store, of so many keys as one step has time for; false: further ones changed as well. */
bool counters_emit(struct node *node, struct effects *effects);
/* All of them are to be told again; a part of the table in each step. */
void counters_retell(struct node *node);
void counters_step(struct node *node);
void counters_restore(struct node *node, const struct counter *counters, size_t count);

/* ---- limits.c: the limits that are in use ---- */
bool limits_create(struct node *node, struct error *error);
void limits_destroy(struct node *node);
/* What this node may use of limit number `index`, after its terms or the shares changed. */
void membership_refresh_budget(struct node *node, uint32_t index);

/* ---- sweep.c ---- */
/* Frees those that nobody uses any more, when few are left. */
void limits_sweep(struct node *node);

/* ---- forget.c ---- */
/* Forgets some keys that are full again. Last of all in a step: no entry outlives it. */
void forget_step(struct node *node);

/* ---- receive.c: from messages to the inbox ---- */
/* Takes the message's batches in, which was made at `made_ns` or later; true if anything was applied. */
bool receive_batches(struct node *node, const struct message *message, const int *member_map, uint64_t made_ns);
/* The index of a limit that a peer told us of; -1: it makes no sense, or there are too many. */
int limit_of_terms(struct node *node, const struct limit_terms *terms);

/* ---- settle.c: own batches, until everybody has them; apply.c: those of others ---- */
/* Applies what is next in the inbox, as far as there is time; true if any batch was applied whole. */
bool inbox_drain(struct node *node);
/*
 * Applies the rest of a batch of which some is applied. Whoever compares what is applied here with what a digest says,
 * or takes something out of the inbox, does so first.
 */
void apply_begun(struct node *node);
/* Nothing has to be applied before it. */
bool is_applied_next(struct node *node, uint32_t slot, const struct batch *batch);
/* What its maker had applied when it was closed is applied here. */
bool depends_are_met(const struct node *node, const struct batch *batch);
enum { TAGS_AHEAD = 24, SLOTS_AHEAD = 12 }; /* keys whose memory is asked for before it is needed */
/* Whoever goes through a batch's spends is at that one: memory that those a little further on need is asked for. */
void prefetch_spends(const struct node *node, const struct batch *batch, uint32_t index);
/* The entry that a spend of a batch concerns; NULL: a cell that has expired. It may have another limit. */
struct entry *entry_of_spend(struct node *node, const struct spend *spend, uint64_t at_ns);
/*
 * Of the tokens that `batch` returned to a key, in excess of what it spent, what a full bucket has lost since, in
 * units: it is charged again when the tokens are credited.
 */
int64_t lost_units(struct node *node, const struct entry *entry, uint64_t tokens, const struct batch *batch);
/* So many tokens are charged to the key, or not credited, though a part of a snapshot may have contained that. */
void note_doubted(struct node *node, const struct entry *entry, uint64_t tokens);
/* The key is about to be charged: see peaks.h. */
void note_peak(struct node *node, const struct entry *entry);
void settle_acknowledged(struct node *node);
/*
 * Settles the batches of an own origin up to that number, which everybody has, and takes them out of its log; if not
 * `at_once`, as many as this step has time for.
 */
void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere, bool at_once);

/* ---- inbox.c: batches that wait for what they depend on, or for the snapshot of a joining node ---- */
/* Some batch of that origin waits. */
bool inbox_holds(const struct node *node, uint32_t origin_uid);
/* That batch waits: what a record says it is. */
bool inbox_has(const struct node *node, uint32_t uid, const struct batch_record *record);
/* All parts wait that belong to this one. */
bool inbox_has_all(const struct node *node, const struct batch *part);
/* Parts of something of that origin arrive: it is being told. */
bool inbox_gathers(const struct node *node, uint32_t uid);
/*
 * Of what was merged in several ways only one is gathered: the one nearest to its turn, and the first of these, unless
 * the rest of it does not come.
 */
bool inbox_wants_part(struct node *node, const struct batch *part);
/* At the limit, whatever is further from its turn than `batch` gives way. False: there is no place for it. */
bool inbox_make_room(struct node *node, const struct batch *batch);
/* Longer than what it needs takes to come, if that still comes. */
bool inbox_waited_long(const struct node *node, const struct batch *batch);
/*
 * Merged batches of several may depend on each other, so that none can be the first. A snapshot has what all of them
 * have. Where it cannot be taken either, since batches that were to be charged on top of it are not kept any more,
 * true: it goes first all the same.
 */
bool inbox_breaks_ring(const struct node *node, const struct batch *batch);
/* The batch belongs to the inbox until it is taken out. */
void inbox_put(struct node *node, struct batch *batch);
void inbox_take(struct node *node, struct batch *batch);

/* ---- publish.c: what is said; gossip.c: how what is heard is understood ---- */
void gossip_publish(struct node *node, struct effects *effects);
void gossip_header(struct node *node, enum message_kind kind);
/* Also tells of which origin slots it has digests, in their order. */
void gossip_header_slots(struct node *node, enum message_kind kind, uint32_t *slots);
/* False: the message is not for us or not sound. Afterwards node->in is closed. */
void gossip_receive(struct node *node, struct bytes bytes, enum message_kind kind, struct effects *effects);

/* ---- stores.c: what the stores of members had when they started ---- */
/* What the store of its incarnation had is known here. */
bool member_store_is_known(const struct member *member);
void stores_hear(struct node *node, const struct message *message, const int *member_map, uint32_t sender);
/* What was known of that member's store was of another incarnation, or another member's. */
void stores_forget(struct node *node, uint32_t index);
/* Before the member takes that incarnation; */
void stores_start_anew(struct node *node, uint32_t index, uint64_t incarnation);
/* and before this node joins under another. */
void stores_join_again(struct node *node);
/* A joining peer to ask for what its store had, or an active one to take a snapshot from for that; -1: nobody. */
int stores_source(const struct node *node);
int stores_active_source(const struct node *node);
/* None of it came for join_timeout: this node goes on without. */
bool stores_overdue(const struct node *node);
/* Active peers that may soon have asked for what our store had have not. */
bool stores_are_wanted(const struct node *node);
/* This node, which joins, may give parts of what its store had. */
bool stores_may_be_given(const struct node *node);
/* All parts of what the donor's store had are here; */
void stores_taken(struct node *node, struct effects *effects);
/* or a whole snapshot is, which has what its donor knew of stores. */
void stores_came_with_snapshot(struct node *node);

/* ---- snapshot_ask.c, snapshot_take.c, snapshot.c, snapshot_serve.c: asking for parts, taking, merging, giving ---- */
/* `of_store`: the donor joins as well, and is asked for what its store had. */
void snapshot_start(struct node *node, uint32_t donor, bool of_store);
/* Asks for what is missing; when nothing is, the snapshot is taken. */
void snapshot_ask(struct node *node, struct effects *effects);
/* Batches that cannot come any more are replaced by a snapshot of somebody who had them. */
void snapshot_catch_up(struct node *node, struct effects *effects);
/* The part that was asked for; NULL: it was not. */
struct part *snapshot_asked(struct snapshot *snapshot, uint64_t prefix, uint32_t bits);
/* It was answered: it is merged, or its halves are to be asked for. */
void snapshot_answered(struct snapshot *snapshot, struct part *part, bool is_split);
/* For one part more, and what is left of an earlier one that it stands in. */
bool snapshot_has_room(struct snapshot *snapshot);
/* There is room for it. Of its keys it stands in the place of earlier snapshots' pages. */
void snapshot_add_page(struct snapshot *snapshot, const struct page *page);
/* All parts are merged: what every one contains counts as applied, once all is told that was spent before. */
void snapshot_finish(struct node *node, struct effects *effects);
void snapshot_serve(struct node *node, const struct message *request, struct effects *effects);
void snapshot_take(struct node *node, const struct message *reply, const int *member_map, struct effects *effects);
/*
 * Merges what the donor says of a part: corrected by what is charged here and not there, and the other way round; it
 * is one that was asked for, and nothing is applied in part. False: it cannot be, or there is no memory.
 */
void snapshot_merge_store(struct node *node, const struct message *reply, struct number_reader reader);
bool snapshot_merge(struct node *node, const struct message *reply, const int *member_map,
                    struct number_reader reader);
/* By origin slot, up to where the part contains what was spent; false: the donor does not say. */
bool snapshot_page_digest(const struct node *node, const struct message *reply, const int *member_map,
                          struct page *page);
/* What every part contains whole. */
void snapshot_note_retired(struct node *node, const struct message *reply, const int *member_map);
/* `adds`: what is charged here is charged on top of all that the part says. */
bool snapshot_page_can_be_merged(struct node *node, const struct page *page, bool *adds);
void snapshot_abandon(struct node *node);
/*
 * Up to which batch of that origin slot the part of the snapshot that gave this key's state contained; 0: none. Up to
 * `beyond` it may contain some.
 */
uint64_t snapshot_contains(const struct node *node, struct key_id id, uint32_t slot, uint64_t *beyond);
/* By origin, in the order of messages: up to where figures in that part may be beyond the digest. How many; 0: none. */
uint32_t snapshot_beyond(const struct node *node, uint64_t prefix, uint32_t bits, uint64_t *beyond);
/* Those that do not matter any more; to be called whenever that may be so of some. */
void snapshot_forget_pages(struct node *node);
void snapshot_check(const struct node *node);

#endif
