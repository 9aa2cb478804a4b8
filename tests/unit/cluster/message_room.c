/*
 * The least message_max of node_options.h against the largest message that there may be: its head is written with as
 * many members, of the longest names and with all that they can say.
 */
#include "cluster/node_options.h"

#include "cluster/codec/batch.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/codec/statement.h"
#include "cluster/members/weights_text.h"
#include "tests/lib/tap.h"

#include <string.h>

static struct message header;
static char name[NODE_PEERS_MAX][NODE_NAME_BYTES], address[NODE_ADDRESS_BYTES];
static char weights[WEIGHTS_TEXT_MAX_BYTES], limits[LIMITS_TEXT_MAX_BYTES], statement[STATEMENT_MAX_BYTES];
static uint8_t key[NODE_KEY_BYTES], proof[NODE_PROOF_BYTES];

static const struct version_stamp newest = {UINT64_MAX, UINT64_MAX};

static void fill_version(struct weights_version *version, uint32_t regions)
{
    version->stamp = newest;
    version->wall_ms = UINT64_MAX;
    memset(version->author, 'a', sizeof version->author - 1);
    version->count = regions;
    for (uint32_t i = 0; i < regions; i++) {
        memset(version->part[i].region, 'r', sizeof version->part[i].region - 1);
        version->part[i].billionths = 1000000000;
    }
}

/* All that a member can say. */
static struct member_record longest(uint32_t index, bool is_sender)
{
    struct member_record record = {
        .name = bytes_of(name[index]),
        .region = bytes_of(name[index]),
        .gossip_address = bytes_of(address),
        .snapshot_address = bytes_of(address),
        .incarnation = UINT64_MAX,
        .retired_incarnation = UINT64_MAX,
        .config = UINT64_MAX,
        .state = PEER_LEFT,
        .reserved = true,
        .uncharged = true,
        .rights = MEMBER_RIGHTS,
        .life = {UINT64_MAX, UINT64_MAX, PEER_LEFT, key, proof, key, proof},
    };
    if (is_sender) {
        record.clock_ns = record.wall_ms = UINT64_MAX;
        record.demand = (struct demand_record){true, UINT64_MAX, UINT64_MAX, true};
        record.limits =
            (struct limits_record){true, newest, UINT64_MAX, {limits, sizeof limits}};
    }
    return record;
}

static void fill(uint32_t members, uint32_t regions)
{
    static struct weights_known known;
    memset(&known, 0, sizeof known);
    memset(&header, 0, sizeof header);
    fill_version(&known.base, regions);
    fill_version(&known.newest, regions);
    fill_version(&known.floor, regions);
    memset(address, 'h', sizeof address - 1);
    for (uint32_t i = 0; i < members; i++) {
        memset(name[i], 'n', sizeof name[i] - 1);
        header.members[i] = longest(i, i == 0);
    }
    header.members[0].weights =
        (struct weights_record){true, true, true, newest, newest, {weights, weights_print(&known, false, weights)}};
    header.kind = MESSAGE_GOSSIP;
    header.number = header.floor = UINT64_MAX;
    header.member_count = members;
    header.muted = UINT64_MAX << 1 & (UINT64_MAX >> (NODE_PEERS_MAX - members));
    header.origin_count = 2 * members;
    for (uint32_t o = 0; o < header.origin_count; o++)
        header.origins[o] = (struct origin_record){members - 1, UINT64_MAX, true};
}

/* Rows of all members, as long as the part for the rows of others has room. */
static void fill_rows(uint32_t members, size_t message_max)
{
    const size_t row_bytes = 24 + (size_t)header.origin_count * 9;
    static struct statement_batch batches[STATEMENT_BATCHES_MAX];
    size_t left = message_max / MESSAGE_PART;
    for (uint32_t i = 0; i < members && (i == 0 || i < message_max / MESSAGE_PART / row_bytes); i++) {
        struct digest_row *row = &header.rows[header.row_count++];
        row->member = i;
        row->number = row->hears = UINT64_MAX;
        for (uint32_t o = 0; o < header.origin_count; o++)
            row->applied[o] = UINT64_MAX;
        row->statement = statement_write(&header, row, batches, STATEMENT_BATCHES_MAX, statement);
        row->statement.size += NODE_PROOF_BYTES;
        if (i > 0 && row->statement.size > left)
            row->statement.size = 0;
        left -= i > 0 ? row->statement.size : 0;
    }
}

static size_t head_bytes(uint32_t members, size_t message_max)
{
    struct effects effects;
    struct message_writer writer;
    effects_init(&effects);
    fill(members, NODE_REGIONS_MAX);
    fill_rows(members, message_max);
    message_begin(&writer, &effects, &header);
    const size_t size = message_size(&writer);
    effects_close(&effects);
    return size;
}

/* With asks, the largest batch, and the seal: see publish_message. */
static size_t whole_bytes(uint32_t members, size_t message_max)
{
    const size_t asks = (size_t)MESSAGE_ASKS_MAX * ASK_ENCODED_MAX_BYTES, part = message_max / MESSAGE_PART;
    return head_bytes(members, message_max) + message_max / 2 + batch_encoded_max_bytes(0, 0, 2 * members) +
           (size_t)BATCH_GRANTS_MAX * GRANT_ENCODED_MAX_BYTES + (asks < part ? asks : part) + MESSAGE_SEAL_BYTES;
}

int main(void)
{
    size_t most = 0;
    for (uint32_t members = 1; members <= NODE_PEERS_MAX; members++) {
        const size_t least = node_message_least_bytes(members);
        for (size_t message_max = least; message_max <= 1024 * 1024; message_max += 9999) {
            const size_t needs = whole_bytes(members, message_max);
            most = needs * 1000 / message_max > most ? needs * 1000 / message_max : most;
            if (needs > message_max)
                OK(false, "of %u members a message takes %zu bytes of %zu", members, needs, message_max);
        }
    }
    OK(most <= 1000 && most > 900, "whatever the number of members, messages fit: the closest has 0.%03zu", most);
    OK(node_message_least_bytes(NODE_PEERS_MAX) <= 1024 * 1024, "the default has room for all members there may be");
    OK(head_bytes(NODE_PEERS_MAX, MESSAGE_BYTES_MIN) > MESSAGE_BYTES_MIN, "the least of all has not");
    return tap_done();
}
