#include "tests/sim/edit.h"

#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4 * (EDIT_PAD_MAX_BYTES + 256), TORN_MAX = 3 };

const char *edit_rule_id(unsigned rule)
{
    static const char *const ids[EDIT_RULES] = {"ant", "bee", "cow", "dog", "eel", "fox"};
    return ids[rule];
}

const char *edit_service(unsigned rule)
{
    static const char *const services[EDIT_SERVICES] = {"shop", "mail", "bank"};
    return services[rule % EDIT_SERVICES];
}

unsigned edit_number_of(struct bytes endpoint)
{
    unsigned number = 0;
    for (size_t i = 2; i < endpoint.size; i++)
        number = number * 10 + (unsigned)(endpoint.data[i] - '0');
    return number <= EDITS_MAX ? number : 0;
}

void edit_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 7 + 3);
    struct plan_edits *edits = &plan->edits;
    edits->enabled = true;
    plan->asks.rules = 0; /* those worlds are others */
    edits->gap_ns = plan->interval_ns * draw_scale(&random, 1, 60);
    edits->pad_bytes = draw_one_in(&random, 2) ? 0 : (unsigned)draw_scale(&random, 100, EDIT_PAD_MAX_BYTES);
    edits->lost_in_8 = (unsigned)random_below(&random, 5);
    edits->canary_in_8 = (unsigned)random_below(&random, 5);
    edits->watch_ms = plan->interval_ns / 1000000 * draw_scale(&random, 1, 80);
    if (draw_one_in(&random, 2)) /* whoever made a canary may not see its end */
        plan->faults |= 1u << FAULT_CRASH;
}

static void post_next(struct sim *sim)
{
    uint64_t at_ns = sim->now_ns + 1 + random_below(&sim->edits.random, 2 * sim->plan.edits.gap_ns);
    if (at_ns < sim->plan.safety_ns && sim->edits.count < EDITS_MAX)
        (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_EDIT, .at_ns = at_ns});
}

void edit_begin(struct sim *sim)
{
    if (!sim->plan.edits.enabled)
        return;
    random_seed(&sim->edits.random, sim->plan.seed * 7 + 4);
    post_next(sim);
}

/* ---- stores ---- */

static void store_truncate(struct edit_store *store, size_t count)
{
    while (store->count > count)
        rule_version_release(&store->kept[--store->count].version);
}

void edit_close(struct sim *sim)
{
    for (unsigned i = 0; i < EDIT_NODES_MAX; i++) {
        store_truncate(&sim->edits.store[i], 0);
        free(sim->edits.store[i].kept);
        sim->edits.store[i] = (struct edit_store){0};
    }
    rulebook_destroy(&sim->edits.known);
}

/* Of what it was working on nothing is ever seen. */
static void forget_asked(struct sim *sim, unsigned i)
{
    struct edits *edits = &sim->edits;
    unsigned kept = 0;
    for (unsigned n = 0; n < edits->in_work_count; n++)
        if (edits->in_work[n].node != i)
            edits->in_work[kept++] = edits->in_work[n];
    edits->interrupted += edits->in_work_count - kept;
    edits->in_work_count = kept;
}

void edit_node_ends(struct sim *sim, unsigned i)
{
    struct edit_store *store = &sim->edits.store[i];
    if (!sim->plan.edits.enabled)
        return;
    forget_asked(sim, i);
    if (sim->edits.known) /* nothing breaks any more, and no store either */
        return;
    if (random_below(&sim->edits.random, 8) < sim->plan.edits.lost_in_8) {
        story_tell(sim, sim->node[i].name, "loses its store");
        store_truncate(store, 0);
        return;
    }
    uint64_t transaction = UINT64_MAX;
    for (uint64_t torn = random_below(&sim->edits.random, TORN_MAX); torn > 0 && store->count > 0; torn--) {
        transaction = store->kept[store->count - 1].transaction;
        size_t count = store->count;
        while (count > 0 && store->kept[count - 1].transaction == transaction)
            count--;
        store_truncate(store, count);
    }
}

void edit_restore(struct sim *sim, unsigned i)
{
    struct edit_store *store = &sim->edits.store[i];
    if (store->count == 0)
        return;
    struct rule_record *records = calloc(store->count, sizeof *records);
    struct effects effects;
    assert(records);
    for (size_t v = 0; v < store->count; v++)
        records[v] = store->kept[v].version->record;
    for (size_t v = store->count; v > 1; v--) { /* in any order */
        size_t other = random_below(&sim->edits.random, v);
        struct rule_record record = records[v - 1];
        records[v - 1] = records[other];
        records[other] = record;
    }
    effects_init(&effects);
    node_step(sim->node[i].node,
              &(struct event){.kind = EVENT_RESTORE,
                              .now_ns = world_local_ns(sim, i),
                              .versions = records,
                              .version_count = store->count},
              &effects);
    if (effects.effect_count + effects.version_count + effects.notice_count > 0)
        sim_fail(sim, "restore: %s did something about what its store kept", sim->node[i].name);
    effects_close(&effects);
    free(records);
}

/* ---- edits ---- */

static size_t write_rule(struct sim *sim, char *text, size_t room, unsigned rule, unsigned number)
{
    struct random *random = &sim->edits.random;
    int size = snprintf(text, room, "- {id: %s, service: %s, endpoint: /v%u, rate: %u/m", edit_rule_id(rule),
                        edit_service(rule), number, 100 + (unsigned)random_below(random, 1000));
    size_t used = (size_t)size, pad = sim->plan.edits.pad_bytes;
    const char *comma = ", allow: [";
    for (pad = pad > 0 ? random_below(random, pad) : 0; pad >= 100; pad -= 100) {
        used += (size_t)snprintf(text + used, room - used, "%suser=%090" PRIu64, comma, (uint64_t)pad);
        comma = ", ";
    }
    used += (size_t)snprintf(text + used, room - used, "%s}\n",
                             *comma == ',' && comma[1] == ' ' && !comma[2] ? "]" : "");
    assert(used < room);
    return used;
}

static unsigned draw_rules(struct random *random)
{
    unsigned rules = 1u << random_below(random, EDIT_RULES);
    if (draw_one_in(random, 2))
        for (unsigned more = (unsigned)draw_between(random, 1, 3); more > 0; more--)
            rules |= 1u << random_below(random, EDIT_RULES);
    return rules;
}

/* Nothing else is on its way into force there: what comes of a change is certain. */
static bool has_nothing_in_work(const struct sim *sim, unsigned i)
{
    for (unsigned n = 0; n < sim->edits.in_work_count; n++)
        if (sim->edits.in_work[n].node == i)
            return false;
    return true;
}

static void change(struct sim *sim, struct edit_asked *asked, struct rule_changes changes)
{
    unsigned i = asked->node;
    asked->digest = rulebook_digest(node_rulebook(sim->node[i].node));
    changes.file = "edit";
    if (sim->edits.in_work_count == EDITS_IN_WORK_MAX)
        return;
    sim->edits.asked = asked;
    world_event(sim, i,
                &(struct event){.kind = EVENT_RULES, .wall_ms = 1 + sim->now_ns / 1000000, .rules = &changes});
    sim->edits.asked = NULL;
}

/* Something of it is wrong: then all of it is refused. */
static void edit_wrongly(struct sim *sim, unsigned i)
{
    static char text[TEXT_BYTES];
    size_t size = write_rule(sim, text, sizeof text, 0, 0);
    (void)snprintf(text + size, sizeof text - size, "- {id: bee, service: mail, rate: much}\n");
    change(sim, &(struct edit_asked){.node = i, .refused = true, .is_certain = true},
           (struct rule_changes){.text = bytes_of(text)});
}

static void edit_end(struct sim *sim, unsigned i)
{
    unsigned rule = (unsigned)random_below(&sim->edits.random, EDIT_RULES);
    struct rule_name name = {bytes_of(edit_service(rule)), bytes_of(edit_rule_id(rule))};
    const struct rulebook_rule *known = rulebook_find(node_rulebook(sim->node[i].node), name.service, name.id);
    bool lives = known && (rulebook_stable(known) || rulebook_candidate(known));
    story_tell(sim, sim->node[i].name, "is told to end %s", edit_rule_id(rule));
    change(sim,
           &(struct edit_asked){.node = i,
                                .refused = !lives,
                                .is_certain = has_nothing_in_work(sim, i) && sim->plan.step_keys == 0,
                                .count = 1},
           (struct rule_changes){.deleted = &name, .deleted_count = 1});
}

static void edit_set(struct sim *sim, unsigned i)
{
    static char text[TEXT_BYTES];
    struct random *random = &sim->edits.random;
    const struct plan_edits *plan = &sim->plan.edits;
    unsigned number = ++sim->edits.count;
    struct edit *edit = &sim->edits.edit[number];
    size_t size = 0;
    unsigned count = 0;
    *edit = (struct edit){.rules = draw_rules(random)};
    for (unsigned rule = 0; rule < EDIT_RULES; rule++) {
        if (!(edit->rules >> rule & 1))
            continue;
        size += write_rule(sim, text + size, sizeof text - size, rule, number);
        count++;
    }
    struct rule_changes changes = {.text = {text, size}};
    if (random_below(random, 8) < plan->canary_in_8) {
        edit->bad = draw_one_in(random, 2);
        sim->edits.canaries++;
        changes.share_millionths = (uint32_t)draw_between(random, 200000, 800000);
        changes.threshold_millionths = (uint32_t)draw_between(random, 0, 200000);
        changes.watch_ms = plan->watch_ms;
    }
    story_tell(sim, sim->node[i].name, "is told edit %u of %u rules%s, %zu bytes", number, count,
               changes.share_millionths == 0 ? ""
               : edit->bad                   ? ", a bad canary"
                                             : ", a canary",
               size);
    change(sim, &(struct edit_asked){.node = i, .is_certain = true, .count = count, .number = number}, changes);
    bool is_canary = changes.share_millionths > 0;
    if (is_canary && (sim->plan.faults >> FAULT_CRASH & 1) != 0 && draw_one_in(random, 3))
        faults_crash(sim, i); /* others see to its end */
}

static void edit_once(struct sim *sim, unsigned i)
{
    switch (random_below(&sim->edits.random, 8)) {
    case 0:
        edit_wrongly(sim, i);
        break;
    case 1:
        edit_end(sim, i);
        break;
    default:
        edit_set(sim, i);
        break;
    }
}

void edit_arrive(struct sim *sim)
{
    struct random *random = &sim->edits.random;
    unsigned i = (unsigned)random_below(random, sim->plan.nodes);
    post_next(sim);
    if (sim->node[i].life != LIFE_UP || sim->now_ns < sim->node[i].paused_until_ns)
        return;
    /* Where a change takes many steps, others come meanwhile, and nodes end. */
    unsigned more = sim->plan.step_keys > 0 && draw_one_in(random, 4) ? (unsigned)draw_between(random, 1, 3) : 0;
    for (unsigned n = 0; n <= more && sim->node[i].life == LIFE_UP && sim->edits.count < EDITS_MAX; n++)
        edit_once(sim, i);
    if (more > 0 && sim->node[i].life == LIFE_UP && (sim->plan.faults >> FAULT_CRASH & 1) != 0 &&
        draw_one_in(random, 8))
        faults_crash(sim, i);
}
