/* Of a member that signs, whoever does not hear it believes nobody but its own signature. */
#include "cluster/codec/batch_hash.h"
#include "cluster/codec/statement.h"
#include "tests/lib/cluster_forger.h"
#include "tests/lib/limits.h"
#include "tests/lib/signing_world.h"

#include <stdlib.h>

static bool reads(const char *data, size_t size)
{
    static struct statement statement;
    char *exact = malloc(size > 0 ? size : 1);
    assert(exact);
    memcpy(exact, data, size);
    const bool is_sound = statement_read(&statement, (struct bytes){exact, size});
    free(exact);
    return is_sound;
}

static void bytes(void)
{
    static struct message header;
    static struct statement statement;
    char text[STATEMENT_MAX_BYTES];
    struct digest_row row = {.member = 1, .number = 77, .hears = 5, .applied = {0, 8, 9}};
    header.member_count = 3;
    header.sender = 1;
    for (uint32_t i = 0; i < 3; i++)
        header.members[i].name = bytes_of(host_names[i]);
    header.members[1].incarnation = UINT64_C(0x123456789abcdef);
    header.members[1].grants = header.members[1].uncharged = true;
    header.origin_count = 3;
    for (uint32_t o = 0; o < 3; o++)
        header.origins[o] = (struct origin_record){.member = o, .incarnation = 100 + o};
    const struct statement_batch listed[2] = {{.hash = {1}, .age_ns = 1000}, {.hash = {2}, .age_ns = 500}};
    const size_t size = statement_write(&header, &row, listed, 2, text).size + NODE_PROOF_BYTES;
    memset(text + size - NODE_PROOF_BYTES, 1, NODE_PROOF_BYTES);
    OK(statement_read(&statement, (struct bytes){text, size}) && statement.number == 77 && statement.hears == 5 &&
           statement.incarnation == header.members[1].incarnation && statement.grants && statement.uncharged &&
           !statement.refuses && !statement.heeds_uncharged && bytes_equal(statement.name, bytes_of("bob")),
       "a statement is read as it was written");
    OK(statement.origin_count == 2 && statement.origins[0].member == 1 && statement.origins[0].incarnation == 101 &&
           statement.origins[1].applied == 9,
       "and names only what was applied");
    OK(statement.batch_count == 2 && statement.batches[0].hash[0] == 1 && statement.batches[0].age_ns == 1000 &&
           statement.batches[1].hash[0] == 2 && statement.batches[1].age_ns == 500,
       "and what was spent");
    OK(statement.text.size + NODE_PROOF_BYTES == size && statement.proof[0] == 1, "the proof stands behind");
    bool is_read = false;
    for (size_t less = 1; less <= size; less++)
        is_read |= reads(text, size - less);
    text[size] = 0;
    OK(!is_read && !reads(text, size + 1), "no part of it is one, nor anything longer");
    for (size_t at = 0; at < size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            text[at] = (char)(text[at] ^ (1 << bit));
            (void)reads(text, size);
            text[at] = (char)(text[at] ^ (1 << bit));
        }
    OK(reads(text, size), "and damage leads nowhere beyond its end");
}

static void hash(struct test_limits *limits, const struct batch *batch, uint8_t *out)
{
    const struct limit_set set = limits_view(limits);
    batch_hash(batch, &set, out);
}

/* What a batch holds has one hash wherever it is, and nothing else has it. */
static void hashes(void)
{
    static struct test_limits here, there;
    uint8_t was[TEXT_HASH_BYTES], is[TEXT_HASH_BYTES];
    (void)limits_add(&here, "a", 100, 10, 1000, 0);
    (void)limits_add(&here, "b", 200, 10, 1000, 0);
    (void)limits_add(&there, "b", 200, 10, 1000, 0);
    (void)limits_add(&there, "a", 100, 10, 1000, 0);
    struct batch *batch = batch_create(0, 3), *other = batch_create(0, 3);
    assert(batch && other);
    batch->first = other->first = batch->last = other->last = 7;
    batch->spend[0] = (struct spend){.id = {1, 2}, .tokens = 3, .limit = 0};
    batch->spend[1] = (struct spend){.id = {4, 5}, .tokens = 6, .returned = 1, .limit = 0};
    batch->spend[2] = (struct spend){.id = {1, 2}, .tokens = 7, .limit = 1};
    for (unsigned i = 0; i < 3; i++) {
        other->spend[i] = batch->spend[(i + 2) % 3];
        other->spend[i].limit = (uint16_t)(1 - other->spend[i].limit);
    }
    hash(&here, batch, was);
    hash(&there, other, is);
    OK(memcmp(was, is, sizeof is) == 0, "the order of limits changes no hash");
    uint64_t *fields[] = {&batch->first,
                          &batch->last,
                          &batch->merge,
                          &batch->spend[1].tokens,
                          &batch->spend[1].returned,
                          &batch->spend[1].id.low,
                          &batch->spend[2].id.high};
    bool differs = true;
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        (*fields[f])++;
        hash(&here, batch, is);
        differs &= memcmp(was, is, sizeof is) != 0;
        (*fields[f])--;
    }
    hash(&there, batch, is);
    OK(differs && memcmp(was, is, sizeof is) != 0, "all that a batch holds does: numbers, keys, tokens, terms");
    hash(&here, batch, is);
    OK(memcmp(was, is, sizeof is) == 0, "and nothing else");
    batch_destroy(&batch);
    batch_destroy(&other);
}

static void nobody_needs_them(void)
{
    signing_world_start(3, KEYS_LEARNT);
    const uint64_t made = world_stats(BOB).statements_made;
    world_spend(BOB, "alice", 10);
    world_run(5000);
    OK_U64(world_stats(BOB).statements_made, made, "where all hear each other nothing is signed");
    world_close();
}

static void a_cut_link(void)
{
    signing_world_start(3, KEYS_LEARNT);
    world_link_both(BOB, CAT, LINK_CUT);
    world_run(2000);
    skip_text();
    world_spend(BOB, "alice", 10);
    world_run(3000);
    world_show("alice");
    EXPECT("who does not hear the other settles by its signature",
           "bob: 10 of alice? yes\n"
           "ann: alice 150.0 - 0.0, may take 68, keeps 0\n"
           "bob: alice 150.0 - 0.0, may take 34, keeps 0\n"
           "cat: alice 150.0 - 0.0, may take 34, keeps 0\n");
    OK(world_stats(BOB).statements_made > 0 && world_stats(CAT).statements_made > 0 &&
           world_stats(ANN).proofs_wrong == 0 && world_stats(CAT).proofs_wrong == 0,
       "which ann passes on");
    world_link_both(BOB, CAT, LINK_FINE);
    world_run(1000);
    const uint64_t made = world_stats(BOB).statements_made;
    world_run(5000);
    OK_U64(world_stats(BOB).statements_made, made, "until they hear each other again");
    world_close();
}

/* What the start before spent unheard is told anew under other numbers, and so has another hash. */
static void told_anew(void)
{
    signing_world_start(3, KEYS_LEARNT);
    world_spend(BOB, "alice", 3);
    world_run(500);
    world_link_both(BOB, CAT, LINK_CUT);
    world_run(2000);
    world_links(BOB, LINK_CUT);
    world_spend(BOB, "alice", 10);
    world_run(1500);
    world_forget(ANN, BOB);
    world_run(500);
    world_link_both(BOB, ANN, LINK_FINE);
    world_run(800);
    skip_text();
    world_show_one(CAT, "alice");
    EXPECT("what is told anew has the hash of its new number", "cat: alice 147.0 - 0.0, may take 33, keeps 0\n");
    OK_U64(world_stats(CAT).snapshots_taken, 0, "so nobody needs a snapshot for it");
    world_close();
}

static struct peer_report report_at(unsigned host, const char *name)
{
    static struct peer_report report[NODE_PEERS_MAX];
    const size_t count = node_peers(world.host[host].node, world.now_ns, report);
    for (size_t i = 0; i < count; i++)
        if (strcmp(report[i].name, name) == 0)
            return report[i];
    return (struct peer_report){0};
}

/* With so many members, of names so long, ann's own statement is longer than half of the room for those of others. */
static void many_members(void)
{
    enum { MORE = 59 };
    static char names[MORE][NODE_NAME_BYTES];
    struct forged more[MORE];
    uint64_t longest_ns = 0;
    signing_world_start(4, KEYS_LEARNT);
    for (unsigned i = 0; i < 4; i++) {
        world_crash(i);
        world.host[i].incarnation++;
        world.host[i].options.unlisted_max = NODE_PEERS_MAX;
        world.host[i].options.message_max_bytes = MESSAGE_BYTES_MIN;
    }
    world_start_all();
    world_run(1000);
    for (unsigned m = 0; m < MORE; m++) {
        (void)snprintf(names[m], sizeof names[m], "%063u", m);
        more[m] = (struct forged){names[m], "far", 1, 0, PEER_ACTIVE};
    }
    forge(ANN, more, MORE);
    world_run(500);
    OK(report_at(DAN, names[MORE - 1]).incarnation == 1, "all know %d members", MORE + 4);
    world_link_both(BOB, CAT, LINK_CUT);
    world_link_both(ANN, DAN, LINK_CUT);
    world_link_both(CAT, DAN, LINK_CUT);
    world.link[BOB][DAN].delay_ns = world.link[DAN][BOB].delay_ns = 400 * MS;
    for (unsigned i = 0; i < 200; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key %u", i);
        (void)world_ask(ANN, key, 1, 1);
        world_run(25);
        const uint64_t ago_ns = report_at(CAT, "bob").heard_ago_ns;
        longest_ns = ago_ns > longest_ns ? ago_ns : longest_ns;
    }
    OK(longest_ns < 600 * MS, "who says much of itself passes on what others say: after %" PRIu64 " ms",
       longest_ns / MS);
    skip_text();
    world_close();
}

/* Eve says that cat is alive: a newer message of hers is known. */
static void made_up(void)
{
    signing_world_start(3, KEYS_LEARNT);
    world_crash(CAT);
    world_run(1000);
    for (unsigned i = 0; i < 20; i++) {
        forge(ANN, &(struct forged){"cat", "cat's", 1, 100000 + i, PEER_ACTIVE}, 1);
        world_run(100);
    }
    skip_text();
    world_show_peers();
    OK(strstr(world.text, "cat silent") != NULL, "what a member has not signed brings it back for nobody");
    skip_text();
    world_close();
}

int main(void)
{
    bytes();
    hashes();
    nobody_needs_them();
    a_cut_link();
    made_up();
    told_anew();
    many_members();
    return tap_done();
}
