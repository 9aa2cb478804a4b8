/*
 * scripted_node: the calls of a node, answered from a script, with a record of the questions. For
 * unit tests that are linked without the cluster.
 */
#ifndef HEADGATE_TESTS_LIB_SCRIPTED_NODE_H
#define HEADGATE_TESTS_LIB_SCRIPTED_NODE_H

#include "commands/commands.h"
#include "rules/ruleset.h"

#include <assert.h>

enum { ASKED_MAX = 256 };

struct node {
    struct ruleset *rules;
    struct rulebook *book;
    struct limit terms[2];  /* limits that rules may intern: the two limits of the config */
    struct verdict verdict; /* the answer to every request with figures */
    /* tokens for requests without figures */
    uint64_t tokens;
    uint32_t tags_prefetched, calls, decided, peeked; /* calls: of node_decide */
    struct key_id asked[ASKED_MAX];
    uint64_t cost;
    uint16_t limit;
    uint32_t peer_count;
    struct peer_report peers[NODE_PEERS_MAX];
    struct event event; /* the last event that was submitted */
    char event_name[NODE_NAME_BYTES];
    uint32_t events;
    /* the result of changes; its ticket is the ticket of changes in work */
    struct rules_result result;
    bool result_known; /* the result is known when a client asks later */
};

bool node_rules_result(const struct node *node, uint64_t ticket, struct rules_result *result)
{
    assert(ticket == node->result.ticket);
    *result = node->result;
    result->in_work = false;
    return node->result_known;
}

uint64_t node_stepped_ns(const struct node *node)
{
    (void)node;
    return 0;
}

void node_prefetch_tags(const struct node *node, struct key_id id)
{
    (void)id;
    ((struct node *)(uintptr_t)node)->tags_prefetched++;
}

static bool scripted_take(struct node *node, const struct charge *charge, struct key_id id)
{
    if (node->decided < ASKED_MAX)
        node->asked[node->decided] = id;
    node->decided++;
    node->cost = charge->cost;
    node->limit = charge->limit;
    if (node->tokens < charge->cost)
        return false;
    node->tokens -= charge->cost;
    return true;
}

static bool scripted_verdict(struct node *node, const struct run *run, const struct charge *charge,
                             struct verdict *verdict)
{
    *verdict = node->verdict;
    if (run->hold)
        memset(run->hold->id.byte, 0xab, sizeof run->hold->id.byte);
    if (run->take)
        (void)scripted_take(node, charge, charge->id);
    else
        node->peeked++;
    return verdict->allowed;
}

/* The verdict of the script decides requests with figures; its tokens decide all other requests. */
void node_decide(struct node *node, struct run *runs, uint32_t run_count, const struct key_id *ids, uint64_t now_ns)
{
    (void)now_ns;
    node->calls++;
    for (struct run *run = runs; run < runs + run_count; run++) {
        assert(run->charge_count == 1);
        run->allowed = 0;
        for (uint32_t i = 0; i < run->request_count; i++, ids++) {
            struct charge charge = *run->charge;
            charge.id = *ids;
            bool allowed = run->verdicts ? scripted_verdict(node, run, &charge, &run->verdicts[i])
                                         : scripted_take(node, &charge, *ids);
            run->allowed |= (uint64_t)allowed << i;
        }
    }
}

void node_count_request(struct node *node, enum verdict_reason reason, uint64_t tokens)
{
    (void)reason, (void)tokens;
    node->decided++;
}

uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns)
{
    (void)node, (void)charges, (void)count, (void)now_ns;
    return tokens;
}

uint32_t node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns)
{
    (void)node, (void)charges, (void)now_ns;
    return (uint32_t)count;
}

enum reserve_status node_commit(struct node *node, struct reservation_id id, struct used_cost *costs, size_t count,
                                uint64_t now_ns)
{
    (void)node, (void)now_ns;
    for (size_t i = 0; i < count; i++)
        costs[i].charged = costs[i].tokens;
    return id.byte[0] == 0xab ? RESERVE_DONE : RESERVE_UNKNOWN;
}

enum reserve_status node_cancel(struct node *node, struct reservation_id id, uint64_t now_ns)
{
    (void)node, (void)now_ns;
    return id.byte[0] == 0xab ? RESERVE_DONE : RESERVE_UNKNOWN;
}

enum reserve_status node_renew(struct node *node, struct reservation_id id, uint64_t ttl_ns, uint64_t now_ns)
{
    (void)ttl_ns;
    return node_cancel(node, id, now_ns);
}

int node_find_limit(const struct node *node, const struct limit_terms *terms)
{
    for (int i = 0; i < 2; i++) {
        struct limit_terms known = limit_terms_of(&node->terms[i]);
        if (limit_terms_equal(&known, terms))
            return i;
    }
    return -1;
}

int node_intern_guest_limit(struct node *node, const struct limit_terms *terms, struct error *error)
{
    int known = node_find_limit(node, terms);
    if (known < 0)
        (void)error_set(error, 70, "no other limit here");
    return known;
}

const struct limit *node_limit(const struct node *node, uint16_t index)
{
    return &node->terms[index];
}

const char *node_home(const struct node *node, uint16_t index)
{
    (void)node;
    (void)index;
    return NULL;
}

bool node_is_home(const struct node *node, uint16_t index)
{
    (void)node;
    (void)index;
    return false;
}

bool node_rules_may_lack(const struct node *node)
{
    (void)node;
    return false;
}

struct ruleset *node_rules(struct node *node)
{
    return node->rules;
}

const struct rulebook *node_rulebook(const struct node *node)
{
    return node->book;
}

const char *peer_state_name(enum peer_state state)
{
    return state == PEER_ACTIVE ? "active" : "other";
}

const char *right_state_name(enum right_state state)
{
    return state == RIGHT_UNLIMITED ? "unlimited" : "held";
}

void node_weights(const struct node *node, struct weights_report *report)
{
    static const struct weights_version of_the_config = {0};
    (void)node;
    memset(report, 0, sizeof *report);
    report->base = &of_the_config;
}

const struct weights_result *node_weights_result(const struct node *node)
{
    static const struct weights_result none = {0};
    (void)node;
    return &none;
}

void node_limits_report(const struct node *node, struct limits_report *report)
{
    (void)node;
    *report = (struct limits_report){.author = ""};
}

const char *weights_wait_name(enum weights_wait wait)
{
    return wait == WEIGHTS_WAIT_NEWS ? "news" : "other";
}

const char *weights_wait_advice(enum weights_wait wait)
{
    return wait == WEIGHTS_WAIT_NEWS ? "wait" : "look";
}

const char *key_state_name(enum key_state state)
{
    (void)state;
    return "none";
}

const uint8_t *node_key(const struct node *node)
{
    (void)node;
    return NULL;
}

bool node_key_follows(const struct node *node)
{
    (void)node;
    return false;
}

const char *clock_state_name(enum clock_state state)
{
    static const char *const names[] = {"unmeasured", "good", "fast", "slow"};
    return names[state];
}

const char *config_state_name(enum config_state state)
{
    return state == CONFIG_SAME ? "same" : "other";
}

size_t node_peers(const struct node *node, uint64_t now_ns, struct peer_report reports[NODE_PEERS_MAX])
{
    (void)now_ns;
    assert(node->peer_count <= NODE_PEERS_MAX);
    memcpy(reports, node->peers, node->peer_count * sizeof reports[0]);
    return node->peer_count;
}

void node_stats(const struct node *node, struct node_stats *stats)
{
    *stats = (struct node_stats){.admitted_requests = node->decided};
}

void node_refusals(const struct node *node, uint64_t counts[VERDICT_REASON_COUNT])
{
    (void)node;
    for (unsigned reason = 0; reason < VERDICT_REASON_COUNT; reason++)
        counts[reason] = 0;
}

void node_table_stats(const struct node *node, struct table_stats *stats)
{
    (void)node;
    *stats = (struct table_stats){.capacity_keys = 1024, .used_keys = 7};
}

void node_waits_for(const struct node *node, char text[NODE_NOTICE_BYTES])
{
    (void)node;
    text[0] = '\0';
}

void node_status(const struct node *node, struct node_status *status)
{
    *status = (struct node_status){.state = PEER_ACTIVE, .peers = node->peer_count, .share = SHARE_ONE / 2};
}

void node_explain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns, struct explanation *out)
{
    (void)node, (void)id, (void)limit, (void)now_ns;
    *out = (struct explanation){.settled_tokens = 97.25, .unsettled_tokens = 3, .share = 0.5, .tracked = true};
}

#endif
