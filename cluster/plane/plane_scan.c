/*
 * plane_scan fetches missing versions of rules. It chooses a donor whose digest differs, asks it
 * for pages of versions from the newest on, and collects them in a copy of the book. When both
 * books agree on all older versions, the new ones go to plane_work.c as one change. A donor whose
 * book changes during a scan is asked from the newest version again.
 */
#include "cluster/plane/plane_scan.h"

#include "base/array.h"
#include "cluster/codec/effects.h"
#include "cluster/plane/plane_message.h"
#include "cluster/plane/plane_work.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_INTERVALS = 2, RETRY_DOUBLINGS_MAX = 4 };

/* ---- the donor ---- */

void plane_heard(struct node *node, uint32_t member, uint64_t digest, uint64_t lamport)
{
    struct plane *plane = node->plane;
    struct plane_peer *peer = &plane->peer[member];
    peer->heard_ns = node->now_ns;
    peer->digest = digest;
    peer->lamport = lamport;
    if (lamport > plane->lamport)
        plane->lamport = lamport;
    if (digest == rulebook_digest(plane->book))
        peer->differs_since_ns = 0;
    else if (peer->differs_since_ns == 0)
        peer->differs_since_ns = node->now_ns;
}

bool plane_differs(const struct node *node, uint32_t member)
{
    const struct member *m = &node->member[member];
    const struct plane_peer *peer = &node->plane->peer[member];
    uint64_t ours = rulebook_digest(node->plane->book);
    if (!m->used || m->self || m->state == PEER_LEFT || m->silent || m->mute_in || m->mute_out ||
        m->snapshot_address[0] == '\0' || peer->heard_ns == 0 || peer->digest == ours)
        return false;
    return !peer->vain || peer->vain_ours != ours || peer->vain_theirs != peer->digest;
}

/*
 * Of two peers that differ, the one that knows fewer versions asks at once. The other one waits,
 * since it mostly has nothing to learn.
 */
static bool asks_at_once(const struct node *node, uint32_t member)
{
    const struct plane_peer *peer = &node->plane->peer[member];
    uint64_t ours = rulebook_lamport(node->plane->book);
    if (peer->lamport != ours)
        return peer->lamport > ours;
    return strcmp(node->member[member].name, node->options.name) < 0;
}

static int choose_donor(const struct node *node)
{
    int best = -1;
    /* A joining node does not wait for adverts: it must not admit before it knows the rules. */
    if (node->life.state == PEER_JOINING && !node->plane->asked)
        return member_to_ask(node);
    for (uint32_t step = 1; step < node->member_end; step++) {
        /* each node begins with another member */
        uint32_t i = (node->me + step) % node->member_end;
        const struct plane_peer *peer = &node->plane->peer[i];
        if (!plane_differs(node, i))
            continue;
        bool waited = node->now_ns - peer->differs_since_ns >= WAIT_INTERVALS * node->options.interval_ns;
        if (!asks_at_once(node, i) && !waited)
            continue;
        if (best < 0 || peer->lamport > node->plane->peer[best].lamport)
            best = (int)i;
    }
    return best;
}

/* ---- a scan ---- */

void plane_scan_abandon(struct plane *plane)
{
    struct plane_scan *scan = &plane->scan;
    for (size_t i = 0; i < scan->fresh_count; i++)
        rule_version_release(&scan->fresh[i]);
    free(scan->fresh);
    free(scan->reading.record);
    arena_close(&scan->reading.texts);
    rulebook_destroy(&scan->book);
    *scan = (struct plane_scan){0};
}

static void ask(struct node *node, struct effects *effects)
{
    struct plane_scan *scan = &node->plane->scan;
    const struct member *donor = &node->member[scan->donor];
    /* A round trip measured across a pause or a cut says nothing of the next one. */
    uint64_t trips_ns = 4 * donor->round_trip_ns, most_ns = node->options.silent_after_ns;
    uint64_t wait_ns = WAIT_INTERVALS * node->options.interval_ns + (trips_ns < most_ns ? trips_ns : most_ns);
    scan->retry_ns =
        node->now_ns + (wait_ns << (scan->tries < RETRY_DOUBLINGS_MAX ? scan->tries : RETRY_DOUBLINGS_MAX));
    scan->tries++;
    plane_ask(node, effects);
}

static void read_some(struct node *node, struct effects *effects);

/*
 * A donor that lost its store begins with fewer versions than it had. It may have sent half of a
 * change that it does not know any more. A book only grows in one life, so a scan of two lives is
 * given up.
 */
static bool donor_began_anew(const struct node *node, const struct plane_scan *scan)
{
    return node->member[scan->donor].incarnation != scan->donor_incarnation;
}

static void begin(struct node *node, uint32_t donor, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct rulebook *copy = rulebook_copy(plane->book);
    if (!copy)
        return; /* a later step may have memory */
    plane->scan = (struct plane_scan){.running = true,
                                      .donor = donor,
                                      .donor_incarnation = node->member[donor].incarnation,
                                      .id = ++plane->scans,
                                      .cursor = PLANE_CURSOR_END,
                                      .book = copy};
    node->stats.rule_scans++;
    ask(node, effects);
}

void plane_scan_step(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct plane_scan *scan = &plane->scan;
    if (scan->running && (scan->applies || scan->reading.running)) {
        read_some(node, effects);
        return;
    }
    if (scan->running && donor_began_anew(node, scan))
        plane_scan_abandon(plane);
    if (scan->running) {
        const struct member *donor = &node->member[scan->donor];
        if (node->now_ns < scan->retry_ns)
            return;
        if (donor->used && donor->state != PEER_LEFT && !donor->silent && scan->tries < PLANE_TRIES_MAX) {
            ask(node, effects);
            return;
        }
        plane->peer[scan->donor].differs_since_ns = node->now_ns;
        plane->peer[scan->donor].heard_ns = 0; /* until its next advert */
        plane_scan_abandon(plane);
    }
    int donor = choose_donor(node);
    if (donor >= 0)
        begin(node, (uint32_t)donor, effects);
}

/* ---- pages ---- */

static bool cursors_are_equal(const struct plane_cursor *a, const struct plane_cursor *b)
{
    return a->stamp.lamport == b->stamp.lamport && a->stamp.author == b->stamp.author && a->digest == b->digest;
}

bool plane_page_expected(const struct plane *plane, uint32_t member, const struct plane_page *page)
{
    const struct plane_scan *scan = &plane->scan;
    return scan->running && !scan->applies && !scan->reading.running && scan->donor == member &&
           scan->id == page->scan && cursors_are_equal(&scan->cursor, &page->from);
}

/* The texts of a record belong to the message, so they are copied. */
void plane_page_version(struct node *node, const struct rule_record *record)
{
    struct plane_reading *reading = &node->plane->scan.reading;
    ARRAY_REQUIRE(reading->record, reading->room, reading->count + 1);
    struct rule_record *copy = &reading->record[reading->count++];
    *copy = *record;
    struct bytes *texts[] = {&copy->service, &copy->id, &copy->author, &copy->note, &copy->text};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = arena_copy(&reading->texts, *texts[i]);
        assert(texts[i]->data && "out of memory");
    }
}

static void take_version(struct node *node, const struct rule_record *record)
{
    struct plane_scan *scan = &node->plane->scan;
    struct error error;
    if (rulebook_knows(scan->book, record))
        return;
    struct rule_version *version = rule_version_create(record, &node->options.hash_key, &error);
    if (!version) {
        node->stats.rule_versions_invalid++;
        return;
    }
    if (rulebook_add(scan->book, version) != RULEBOOK_ADDED) {
        rule_version_release(&version);
        return;
    }
    ARRAY_REQUIRE(scan->fresh, scan->fresh_room, scan->fresh_count + 1);
    scan->fresh[scan->fresh_count++] = version;
}

static void note_fetched(const struct node *node, const struct rule_version *newest, size_t count,
                         struct effects *effects)
{
    const struct rule_record *record = &newest->record;
    effects_notice(effects, NOTICE_INFO, "%zu versions of rules came from %s; the newest, by %s, %s %s/%s%s%s",
                   count, node->member[node->plane->scan.donor].name, record->author.data,
                   record->deleted ? "ends" : "sets", record->service.data, record->id.data,
                   record->note.size > 0 ? ": " : "", record->note.data);
}

/* All versions of the donor are in the scan's book: only now they go into the node's book. */
static void finish(struct node *node, struct effects *effects)
{
    struct plane_scan *scan = &node->plane->scan;
    struct plane_work *work = plane_work_create(node->plane);
    work->fetched = true;
    for (size_t i = scan->fresh_count; i > 0; i--) /* the oldest first */
        plane_work_take(work, scan->fresh[i - 1]);
    scan->fresh_count = 0;
    scan->applies = true;
    plane_work_step(node, effects);
}

void plane_scan_end(struct node *node, const struct plane_work *work, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct plane_scan *scan = &plane->scan;
    struct plane_peer *peer = &plane->peer[scan->donor];
    plane->asked = true;
    node->stats.rule_versions_fetched += work->added;
    if (work->added > 0)
        note_fetched(node, work->version[work->added - 1], work->added, effects);
    peer->vain = rulebook_digest(plane->book) != scan->donor_digest;
    peer->vain_ours = rulebook_digest(plane->book);
    peer->vain_theirs = scan->donor_digest;
    plane_heard(node, scan->donor, scan->donor_digest, peer->lamport);
    plane_scan_abandon(plane);
}

/* Decides how to go on after all versions of a page were read. */
static void end_page(struct node *node, const struct plane_page *page, struct effects *effects)
{
    struct plane *plane = node->plane;
    struct plane_scan *scan = &plane->scan;
    scan->tries = 0;
    if (page->lamport > plane->peer[scan->donor].lamport)
        plane->peer[scan->donor].lamport = page->lamport;
    if (scan->has_donor_digest && page->book_digest != scan->donor_digest) {
        /*
         * The donor's book has changed: pages of two states are not one book. The scan begins with
         * the newest again.
         */
        scan->has_donor_digest = false;
        scan->cursor = PLANE_CURSOR_END;
        if (++scan->restarts > PLANE_RESTARTS_MAX)
            plane_scan_abandon(plane);
        else
            ask(node, effects);
        return;
    }
    scan->has_donor_digest = true;
    scan->donor_digest = page->book_digest;
    scan->cursor = page->next;
    size_t older = rulebook_older(scan->book, page->next.stamp, page->next.digest);
    if (page->last || rulebook_digest_of_oldest(scan->book, older) == page->older_digest)
        finish(node, effects);
    else
        ask(node, effects);
}

/* Reads one slice, unless this step has read one. */
static void read_some(struct node *node, struct effects *effects)
{
    struct plane_reading *reading = &node->plane->scan.reading;
    struct work_slice slice = plane_slice(node);
    if (!reading->running || node->plane->has_read)
        return;
    node->plane->has_read = true;
    for (; reading->done < reading->count && slice.left > 0; slice_spend(&slice, 1))
        take_version(node, &reading->record[reading->done++]);
    if (reading->done < reading->count)
        return;
    struct plane_page page = reading->page;
    free(reading->record);
    arena_close(&reading->texts);
    *reading = (struct plane_reading){0};
    arena_init(&reading->texts);
    end_page(node, &page, effects);
}

void plane_page_take(struct node *node, const struct plane_page *page, struct effects *effects)
{
    node->plane->scan.reading.running = true;
    node->plane->scan.reading.page = *page;
    read_some(node, effects);
}
