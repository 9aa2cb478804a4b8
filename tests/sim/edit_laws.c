#include "rules/match.h"
#include "rules/ruleset.h"
#include "tests/sim/edit.h"
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DECISIONS = 120,       /* of a canary, at every node that knows it */
    DECISION_TRIES = 2000, /* requests to make so many */
    AGREE_INTERVALS = 200, /* beyond what other things need: canaries end, others than their author end them */
};

static const struct rulebook_rule *rule_at(const struct sim *sim, unsigned i, unsigned rule)
{
    return rulebook_find(node_rulebook(sim->node[i].node), bytes_of(edit_service(rule)),
                         bytes_of(edit_rule_id(rule)));
}

static bool stamps_are_equal(struct rule_stamp a, struct rule_stamp b)
{
    return a.lamport == b.lamport && a.author == b.author;
}

/* ---- no half of an edit is ever seen ---- */

enum knowledge { HAS, LACKS, MAY_HAVE_FORGOTTEN };

static enum knowledge knows(const struct sim *sim, unsigned i, unsigned rule, struct rule_stamp stamp)
{
    const struct rulebook_rule *known = rule_at(sim, i, rule);
    if (!known)
        return LACKS;
    for (uint32_t v = 0; v < known->count; v++)
        if (stamps_are_equal(known->version[v]->record.stamp, stamp))
            return HAS;
    if (known->count < RULE_VERSIONS_KEPT)
        return LACKS;
    struct rule_stamp oldest = known->version[RULE_VERSIONS_KEPT - 1]->record.stamp;
    bool is_newer =
        stamp.lamport > oldest.lamport || (stamp.lamport == oldest.lamport && stamp.author > oldest.author);
    return is_newer ? LACKS : MAY_HAVE_FORGOTTEN;
}

static void check_whole(struct sim *sim, unsigned i, unsigned number)
{
    const struct edit *edit = &sim->edits.edit[number];
    int has = -1, lacks = -1;
    for (unsigned rule = 0; rule < EDIT_RULES; rule++) {
        if (!(edit->rules >> rule & 1))
            continue;
        enum knowledge knowledge = knows(sim, i, rule, edit->stamp);
        if (knowledge == HAS)
            has = (int)rule;
        if (knowledge == LACKS)
            lacks = (int)rule;
    }
    if (has >= 0 && lacks >= 0)
        sim_fail(sim, "half: %s knows edit %u of %s and not of %s", sim->node[i].name, number,
                 edit_rule_id((unsigned)has), edit_rule_id((unsigned)lacks));
}

/* ---- what is in force is what the book says ---- */

static unsigned mark_of(const struct rule_version *version)
{
    return version ? edit_number_of(version->rule->endpoint) : 0;
}

static unsigned mark_in_force(const struct ruled_version *version)
{
    return version ? edit_number_of(version->endpoint) : 0;
}

static void check_in_force(struct sim *sim, unsigned i, unsigned rule)
{
    const struct rulebook_rule *known = rule_at(sim, i, rule);
    const struct ruled *ruled =
        ruleset_find(node_rules(sim->node[i].node), bytes_of(edit_service(rule)), bytes_of(edit_rule_id(rule)));
    unsigned stable = known ? mark_of(rulebook_stable(known)) : 0;
    unsigned candidate = known ? mark_of(rulebook_candidate(known)) : 0;
    if (mark_in_force(ruled ? ruled->stable : NULL) != stable ||
        mark_in_force(ruled ? ruled->candidate : NULL) != candidate)
        sim_fail(sim, "in force: at %s %s is of edits %u and %u, the book says %u and %u", sim->node[i].name,
                 edit_rule_id(rule), mark_in_force(ruled ? ruled->stable : NULL),
                 mark_in_force(ruled ? ruled->candidate : NULL), stable, candidate);
}

/* ---- canaries have traffic wherever they are known ---- */

static void decide(struct sim *sim, unsigned i, unsigned rule, unsigned number)
{
    struct ruleset *rules = node_rules(sim->node[i].node);
    char endpoint[16], user[16];
    unsigned decisions = 0;
    (void)snprintf(endpoint, sizeof endpoint, "/v%u", number);
    for (unsigned u = 0; u < DECISION_TRIES && decisions < DECISIONS; u++) {
        struct match match;
        (void)snprintf(user, sizeof user, "user-%u", u);
        struct request request = {.service = bytes_of(edit_service(rule)),
                                  .endpoint = bytes_of(endpoint),
                                  .cost = 1,
                                  .id_count = 1};
        request.id[0] = (struct request_id){bytes_of("user"), bytes_of(user)};
        struct verdict verdicts[CHARGES_MAX];
        if (!ruleset_match(rules, &request, world_local_ns(sim, i), world_local_ns(sim, i), &match))
            continue;
        for (uint32_t c = 0; c < match.count; c++) {
            bool denied = match.rule[c].candidate && sim->edits.edit[number].bad;
            verdicts[c] =
                (struct verdict){.allowed = !denied, .reason = denied ? VERDICT_CAPACITY : VERDICT_ALLOWED};
            decisions += match.rule[c].candidate;
        }
        (void)ruleset_note(&match, verdicts);
    }
}

static void make_traffic(struct sim *sim, unsigned i)
{
    sim->edits.traffic_ns[i] = sim->now_ns;
    for (unsigned rule = 0; rule < EDIT_RULES; rule++) {
        const struct ruled *ruled =
            ruleset_find(node_rules(sim->node[i].node), bytes_of(edit_service(rule)), bytes_of(edit_rule_id(rule)));
        struct rule_counts counts = ruled ? ruled_counts(ruled) : (struct rule_counts){0};
        if (ruled && ruled->candidate && counts.canary_allowed + counts.canary_denied < DECISIONS)
            decide(sim, i, rule, mark_in_force(ruled->candidate));
    }
}

static bool begins_with(struct bytes text, const char *start)
{
    return text.size >= strlen(start) && memcmp(text.data, start, strlen(start)) == 0;
}

static void judge_automatic(struct sim *sim, unsigned i, const struct rule_record *record)
{
    const struct rulebook_rule *known =
        rulebook_find(node_rulebook(sim->node[i].node), record->service, record->id);
    bool general = begins_with(record->note, "became general");
    sim->edits.general += general;
    sim->edits.rolled_back += begins_with(record->note, "rolled back");
    for (uint32_t v = 0; general && known && v < known->count; v++) {
        const struct rule_version *version = known->version[v];
        if (!stamps_are_equal(version->record.stamp, record->stamp))
            continue;
        unsigned number = mark_of(version);
        if (number > 0 && sim->edits.edit[number].bad)
            sim_fail(sim, "canary: edit %u denies too much and became general at %s", number, sim->node[i].name);
    }
}

static void keep(struct sim *sim, unsigned i, const struct effects *effects)
{
    struct edit_store *store = &sim->edits.store[i];
    for (size_t v = 0; v < effects->version_count; v++) {
        if (store->count == store->room) {
            store->room = store->room ? 2 * store->room : 64;
            store->kept = realloc(store->kept, store->room * sizeof *store->kept);
            assert(store->kept);
        }
        store->kept[store->count++] = (struct kept_version){rule_version_retain(effects->version[v]), sim->steps};
        judge_automatic(sim, i, &effects->version[v]->record);
    }
}

/* ---- what comes of a change ---- */

void edit_judge(struct sim *sim, const struct edit_asked *asked, const struct rules_result *result)
{
    const char *name = sim->node[asked->node].name;
    if (asked->is_certain && result->refused != asked->refused)
        sim_fail(sim, "edit: %s %s a change of %u rules (edit %u): %s", name, result->refused ? "refused" : "took",
                 asked->count, asked->number, result->error.text);
    if (!result->refused && result->changed_rules != asked->count)
        sim_fail(sim, "edit: %s changed %zu of %u rules", name, result->changed_rules, asked->count);
    if (result->refused != (result->stamp.lamport == 0))
        sim_fail(sim, "edit: %s refused a change and gave it a stamp, or the other way round", name);
    if (asked->number > 0)
        sim->edits.edit[asked->number].stamp = result->stamp;
}

/* Before anything else is judged: whose versions there are is known by their stamps. */
static void judge_asked(struct sim *sim, unsigned i, const struct effects *effects)
{
    struct edits *edits = &sim->edits;
    const struct rules_result *told = &effects->rules;
    if (told->asked && edits->asked && told->in_work) {
        assert(edits->in_work_count < EDITS_IN_WORK_MAX);
        edits->in_work[edits->in_work_count] = *edits->asked;
        edits->in_work[edits->in_work_count++].ticket = told->ticket;
        edits->waited++;
    } else if (told->asked && edits->asked) {
        edit_judge(sim, edits->asked, told);
        bool other = rulebook_digest(node_rulebook(sim->node[i].node)) != edits->asked->digest;
        if (told->refused && other && effects->version_count == 0) /* nor did another change come into force */
            sim_fail(sim, "edit: %s refused a change and took some of it", sim->node[i].name);
    }
    for (unsigned n = 0; n < edits->in_work_count;) {
        struct rules_result result;
        const struct edit_asked asked = edits->in_work[n];
        if (asked.node != i || !node_rules_result(sim->node[i].node, asked.ticket, &result)) {
            n++;
            continue;
        }
        edits->in_work_count--;
        memmove(&edits->in_work[n], &edits->in_work[n + 1], (edits->in_work_count - n) * sizeof asked);
        edit_judge(sim, &asked, &result);
    }
}

void edit_after_step(struct sim *sim, unsigned i, const struct effects *effects)
{
    if (!sim->plan.edits.enabled)
        return;
    judge_asked(sim, i, effects);
    if (effects->version_count > 0 || sim->steps % 16 == 0) {
        keep(sim, i, effects);
        for (unsigned number = 1; number <= sim->edits.count; number++)
            if (sim->edits.edit[number].stamp.lamport > 0)
                check_whole(sim, i, number);
        for (unsigned rule = 0; rule < EDIT_RULES; rule++)
            check_in_force(sim, i, rule);
        make_traffic(sim, i);
    }
    /* who judges a canary of others waits for many intervals */
    if (sim->now_ns - sim->edits.traffic_ns[i] >= sim->plan.interval_ns)
        make_traffic(sim, i);
}

/* ---- in the end all know all ---- */

static void learn(struct rulebook *book, struct rule_version *version)
{
    bool full = rulebook_add(book, version) == RULEBOOK_FULL;
    assert(!full);
}

static uint64_t passing_on_ns(const struct sim *sim)
{
    return AGREE_INTERVALS * sim->plan.interval_ns + 20 * sim->plan.latency_max_ns;
}

/* Others may not hear of what it alone knows before it waits for nobody. */
static bool may_take_along(const struct sim *sim, unsigned i)
{
    const struct sim_node *n = &sim->node[i];
    return n->life == LIFE_LEAVING && n->stays_away && n->leave_by_ns < sim->now_ns + passing_on_ns(sim);
}

void edit_heal(struct sim *sim)
{
    struct hash_key key;
    if (!sim->plan.edits.enabled)
        return;
    hash_key_from_secret(&key, "secret", 6);
    struct rulebook *known = sim->edits.known = rulebook_create(&RULEBOOK_LIMITS_DEFAULT, &key);
    assert(known);
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        const struct edit_store *store = &sim->edits.store[i];
        if (world_is_up(sim, i)) {
            if (may_take_along(sim, i))
                continue;
            const struct rulebook *book = node_rulebook(sim->node[i].node);
            for (size_t v = 0; v < rulebook_versions(book); v++)
                learn(known, rulebook_version_at(book, v));
        } else if (sim->node[i].life != LIFE_FORGOTTEN) {
            for (size_t v = 0; v < store->count; v++)
                learn(known, store->kept[v].version);
        }
    }
}

uint64_t edit_agree_ns(const struct sim *sim)
{
    return sim->plan.edits.enabled ? passing_on_ns(sim) + sim->plan.leave_timeout_ns : 0;
}

bool edit_is_settled(struct sim *sim, char *text, size_t room)
{
    int first = -1;
    for (unsigned i = 0; sim->plan.edits.enabled && i < sim->plan.nodes; i++) {
        if (sim->node[i].life == LIFE_LEAVING) {
            (void)snprintf(text, room, "%s has not left yet", sim->node[i].name);
            return false;
        }
        if (sim->node[i].life != LIFE_UP)
            continue;
        first = first < 0 ? (int)i : first;
        const struct rulebook *book = node_rulebook(sim->node[i].node);
        const struct rulebook *other = node_rulebook(sim->node[first].node);
        if (rulebook_digest(book) != rulebook_digest(other)) {
            (void)snprintf(text, room, "%s knows %zu versions of rules, %s %zu others", sim->node[i].name,
                           rulebook_versions(book), sim->node[first].name, rulebook_versions(other));
            return false;
        }
        for (size_t r = 0; r < rulebook_rules(book); r++)
            if (rulebook_candidate(rulebook_at(book, r))) {
                (void)snprintf(text, room, "%s watches a canary of %s", sim->node[i].name,
                               rulebook_at(book, r)->id.data);
                return false;
            }
    }
    return true;
}

void edit_laws_agree(struct sim *sim)
{
    for (unsigned i = 0; sim->plan.edits.enabled && i < sim->plan.nodes; i++) {
        if (sim->node[i].life != LIFE_UP)
            continue;
        struct rulebook *book = rulebook_copy(node_rulebook(sim->node[i].node));
        assert(book);
        uint64_t digest = rulebook_digest(book);
        for (size_t v = 0; v < rulebook_versions(sim->edits.known); v++)
            learn(book, rulebook_version_at(sim->edits.known, v));
        if (rulebook_digest(book) != digest)
            sim_fail(sim, "forgotten: %s lacks a version that somebody knew or had stored", sim->node[i].name);
        rulebook_destroy(&book);
        for (unsigned rule = 0; rule < EDIT_RULES; rule++)
            check_in_force(sim, i, rule);
    }
    if (sim->plan.edits.enabled)
        story_tell(
            sim, "edits",
            "%u edits, %u canaries; %u times one became general, %u times it was rolled back; %u changes took "
            "more than a step, of %u the node ended meanwhile",
            sim->edits.count, sim->edits.canaries, sim->edits.general, sim->edits.rolled_back, sim->edits.waited,
            sim->edits.interrupted);
}
