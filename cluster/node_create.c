/*
 * node_create checks the options of a node, takes all of its memory at once, and gives it back at
 * the end. It tells the table which keys it must keep: keys with untold spends, and keys whose
 * figures in the store are old. It starts nothing: EVENT_START does.
 */
#include "cluster/apply/retire.h"
#include "cluster/apply/uncharged.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/log/aside.h"
#include "cluster/log/compact.h"
#include "cluster/members/limit_list.h"
#include "cluster/members/shares.h"
#include "cluster/members/statements.h"
#include "cluster/members/takeover.h"
#include "cluster/members/weights.h"
#include "cluster/plane/plane.h"
#include "cluster/plane/plane_compile.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/deferred_mark.h"
#include "cluster/spend/limits.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "cluster/state/peaks.h"
#include "cluster/state/refundable.h"

#include <stdlib.h>
#include <sysexits.h>

enum {
    RESERVATION_CHARGES = 4, /* of a reservation on average, if all are in use */
    RESERVATIONS_MAX = 1 << 24,
};

static bool options_are_valid(const struct node_options *options, struct error *error)
{
    if (options->name[0] == '\0' || options->region[0] == '\0')
        return error_set(error, EX_CONFIG, "node and region must be named");
    if (options->peer_count >= NODE_PEERS_MAX || options->region_count > NODE_REGIONS_MAX)
        return error_set(error, EX_CONFIG, "too many peers or regions: expected at most %d and %d",
                         NODE_PEERS_MAX - 1, NODE_REGIONS_MAX);
    if (options->interval_ns == 0 || options->incarnation == 0 || options->table_keys == 0)
        return error_set(error, EX_CONFIG, "interval, incarnation and table size must be above 0");
    if (options->incarnation > INCARNATION_MAX / 2)
        return error_set(error, EX_CONFIG, "incarnation is %llu: expected at most %llu",
                         (unsigned long long)options->incarnation, (unsigned long long)(INCARNATION_MAX / 2));
    if (options->message_max_bytes < MESSAGE_BYTES_MIN)
        return error_set(error, EX_CONFIG, "message_max is %llu bytes: expected at least %d",
                         (unsigned long long)options->message_max_bytes, MESSAGE_BYTES_MIN);
    if (options->reservations_max > RESERVATIONS_MAX)
        return error_set(error, EX_CONFIG, "reservations is %u: expected at most %d", options->reservations_max,
                         RESERVATIONS_MAX);
    if (options->threads > NODE_THREADS_MAX)
        return error_set(error, EX_CONFIG, "threads is %u: expected at most %d", options->threads,
                         NODE_THREADS_MAX);
    if (options->seals.count > NODE_SEALS_MAX)
        return error_set(error, EX_CONFIG, "secrets are %u: expected at most %d", options->seals.count,
                         NODE_SEALS_MAX);
    if (options->log_keys_max == 0)
        return error_set(error, EX_CONFIG, "log_keys must be above 0");
    return true;
}

/* The table must keep a key with untold spends, and a key whose figure in the store is old. */
static bool keeps_untold(void *node, const struct entry *entry)
{
    return entry->dirty || is_in_outbox(node, entry);
}

/*
 * After the eviction, batches of others cannot tell any more that they concern the key, so its
 * spends become urgent now.
 */
static void urges_evicted(void *node, struct entry *entry)
{
    outbox_urge(node, entry);
    if (outbox_has_open(node, entry))
        ((struct node *)node)->outbox.spend[entry->open_index].orphan = true;
}

static void moves_waiting(void *node, struct entry *entry)
{
    (void)node;
    deferred_mark_unnote(entry); /* the round may visit the key again, which would count as the next round */
}

/* Takes all memory except that of the limits. */
static bool allocate(struct node *node)
{
    const struct node_options *options = &node->options;
    node->table = table_create(options->table_keys, NODE_SERVICES_MAX + 1, &node->limits, node->by_limit.budget);
    if (options->reservations_max > 0)
        node->reserving.pool =
            reservations_create(options->reservations_max, options->reservations_max * RESERVATION_CHARGES);
    if (node->reserving.pool && options->service_reservations_max > 0)
        reservations_bound_tenants(node->reserving.pool, options->service_reservations_max);
    if (node->reserving.pool && options->address_reservations_max > 0)
        reservations_bound_holders(node->reserving.pool, options->address_reservations_max);
    if (!thread_states_create(node))
        return false;
    if (node->table && node->thread_count > 1)
        table_share(node->table);
    bool has_peaks = peaks_init(&node->peaks, options->table_keys) &&
                     refundable_init(&node->refundable, options->table_keys, node->thread_count > 1) &&
                     others_spent_init(&node->others_spent, options->table_keys, options->seed);
    bool has_counters = counters_create(node);
    bool has_outbox = outbox_create(node);
    if (node->table)
        table_set_owner(node->table, &(struct table_owner){.keeps = keeps_untold,
                                                           .evicts = urges_evicted,
                                                           .moves = moves_waiting,
                                                           .context = node,
                                                           .forgets = true});
    return has_outbox && node->table && (options->reservations_max == 0 || node->reserving.pool) && has_peaks &&
           has_counters;
}

struct node *node_create(const struct node_options *options, struct error *error)
{
    if (!options_are_valid(options, error))
        return NULL;
    struct node *node = calloc(1, sizeof *node);
    if (!node) {
        (void)error_set(error, EX_OSERR, "not enough memory for the node");
        return NULL;
    }
    node->options = *options;
    if (options->seals.count == 0)
        node->options.seals = (struct node_seals){.count = 1, .key = {options->hash_key}};
    node->life.incarnation = options->incarnation;
    node->life.state = PEER_JOINING;
    takeover_off(&node->takeover);
    weights_init(node);
    limit_list_init(node);
    node->step.keys = options->step_keys > 0 ? options->step_keys : STEP_KEYS_DEFAULT;
    if (node->step.keys > OPEN_KEYS_MAX)
        node->step.keys = OPEN_KEYS_MAX;
    node->batch_max = (uint32_t)(options->message_max_bytes / 2 / NUMBER_ENCODED_MAX_BYTES);
    if (node->batch_max > node->step.keys)
        node->batch_max = node->step.keys;
    compact_init(node);
    node->log.settle_ns = 2 * options->interval_ns;
    list_init(&node->inbox.list);
    const uint32_t places = options->rights_places > 0 ? options->rights_places : PLACES_MAX;
    node->rights.voucher_places.room = node->rights.grant_places.room = places < PLACES_MAX ? places : PLACES_MAX;
    random_seed(&node->random, options->seed);
    if (!shares_create(node, error) || !limits_create(node, error)) {
        node_destroy(&node);
    } else if (!allocate(node)) {
        (void)error_set(error, EX_OSERR, "not enough memory for a table of %llu keys",
                        (unsigned long long)options->table_keys);
        node_destroy(&node);
    } else if (!plane_create(node, error)) {
        node_destroy(&node);
    }
    return node;
}

void node_destroy(struct node **node)
{
    if (!*node)
        return;
    struct node *dying = *node;
    retire_all(dying);
    compact_close(dying);
    free(dying->unsettled_index.slot);
    while (!list_empty(&dying->inbox.list)) {
        struct batch *batch = LIST_OWNER(dying->inbox.list.next, struct batch, link);
        batch_destroy(&batch);
    }
    plane_destroy(&dying->plane);
    table_destroy(&dying->table);
    reservations_destroy(&dying->reserving.pool);
    limits_destroy(dying);
    peaks_close(&dying->peaks);
    refundable_close(&dying->refundable);
    others_spent_close(&dying->others_spent);
    counters_destroy(dying);
    outbox_destroy(dying);
    thread_states_destroy(dying);
    aside_close(dying);
    uncharged_close(dying);
    statements_close(dying);
    free(dying->snapshot.page);
    free(dying);
    *node = NULL;
}

void node_set_tenant_keys_max(struct node *node, uint64_t keys)
{
    node->tenant_keys_max = keys;
    plane_bound_keys(node);
}
