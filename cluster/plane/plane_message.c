/*
 * plane_message reads and writes the bodies of the messages about rules:
 *     advert: [number, digest, lamport, [[service, health in millionths] ...]]
 *     ask:    [scan, from]
 *     page:   [scan, from, digest, lamport, last, next, digest of those before next, [version ...]]
 * A place in the order of versions is [lamport, author, digest]. pack_version has the fields of a
 * version. The digest of a version covers those fields alone, because peers of different releases
 * must agree on it.
 */
#include "cluster/plane/plane_message.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/envelope.h"
#include "cluster/codec/pack.h"
#include "cluster/plane/plane_health.h"
#include "cluster/plane/plane_scan.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/plane_state.h"

#include <assert.h>
#include <string.h>

enum {
    ADVERT_FIELDS = 4,
    ASK_FIELDS = 2,
    PAGE_FIELDS = 8,
    VERSION_FIELDS = 13,
    VERSION_HEAD_MAX_BYTES = 1 + 8 * 9 + 5 * 5,
    /* of a message without versions and without health */
    FRAME_MAX_BYTES = 256 + NODE_PEERS_MAX * (NODE_NAME_BYTES + 2),
    PAGE_MAX_BYTES = 256 * 1024, /* making or reading a page keeps the node from requests */
    /*
     * The first page has few versions, because most changes are small. Each later page may have
     * PAGE_GROWTH times as many versions as all pages before it.
     */
    PAGE_VERSIONS = 64,
    PAGE_GROWTH = 3,
};

/* ---- reading ---- */

static bool read_u32(const msgpack_object *object, uint32_t most, uint32_t *value)
{
    uint64_t wide;
    if (!read_u64(object, &wide) || wide > most)
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool read_text(const msgpack_object *object, size_t most, struct bytes *text)
{
    if (object->type != MSGPACK_OBJECT_STR || object->via.str.size > most)
        return false;
    *text = (struct bytes){object->via.str.ptr, object->via.str.size};
    return true;
}

static bool read_cursor(const msgpack_object *object, struct plane_cursor *cursor)
{
    msgpack_object_array a;
    return read_record(object, 3, 3, &a) && read_u64(&a.ptr[0], &cursor->stamp.lamport) &&
           read_u64(&a.ptr[1], &cursor->stamp.author) && read_u64(&a.ptr[2], &cursor->digest);
}

static bool read_version(const msgpack_object *object, struct rule_record *record)
{
    msgpack_object_array a;
    uint32_t deleted;
    if (!read_record(object, VERSION_FIELDS, VERSION_FIELDS, &a) || !read_u64(&a.ptr[0], &record->stamp.lamport) ||
        !read_u64(&a.ptr[1], &record->stamp.author) || !read_u64(&a.ptr[2], &record->wall_ms) ||
        !read_u32(&a.ptr[3], 1, &deleted) || !read_u32(&a.ptr[4], RULE_SHARE_ONE, &record->share_millionths) ||
        !read_u32(&a.ptr[5], RULE_SHARE_ONE, &record->threshold_millionths) ||
        !read_u64(&a.ptr[6], &record->watch_ms) || !read_u64(&a.ptr[7], &record->epoch) ||
        !read_text(&a.ptr[8], RULE_NAME_MAX_BYTES, &record->service) ||
        !read_text(&a.ptr[9], RULE_NAME_MAX_BYTES, &record->id) ||
        !read_text(&a.ptr[10], RULE_AUTHOR_MAX_BYTES, &record->author) ||
        !read_text(&a.ptr[11], RULE_NOTE_MAX_BYTES, &record->note) ||
        !read_text(&a.ptr[12], RULE_TEXT_MAX_BYTES, &record->text))
        return false;
    record->deleted = deleted != 0;
    return true;
}

/* ---- writing ---- */

static void pack_cursor(msgpack_packer *packer, const struct plane_cursor *cursor)
{
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, cursor->stamp.lamport);
    msgpack_pack_uint64(packer, cursor->stamp.author);
    msgpack_pack_uint64(packer, cursor->digest);
}

static void pack_version(msgpack_packer *packer, const struct rule_record *record)
{
    msgpack_pack_array(packer, VERSION_FIELDS);
    msgpack_pack_uint64(packer, record->stamp.lamport);
    msgpack_pack_uint64(packer, record->stamp.author);
    msgpack_pack_uint64(packer, record->wall_ms);
    msgpack_pack_uint64(packer, record->deleted);
    msgpack_pack_uint64(packer, record->share_millionths);
    msgpack_pack_uint64(packer, record->threshold_millionths);
    msgpack_pack_uint64(packer, record->watch_ms);
    msgpack_pack_uint64(packer, record->epoch);
    pack_text(packer, record->service);
    pack_text(packer, record->id);
    pack_text(packer, record->author);
    pack_text(packer, record->note);
    pack_text(packer, record->text);
}

static size_t version_max_bytes(const struct rule_record *record)
{
    return VERSION_HEAD_MAX_BYTES + record->service.size + record->id.size + record->author.size +
           record->note.size + record->text.size;
}

/*
 * Writes all of a message up to its body; the caller must write the body next. Returns the place in
 * the arena where the message begins.
 */
static size_t begin(const struct node *node, enum message_kind kind, msgpack_packer *packer,
                    struct effects *effects)
{
    struct bytes muted[NODE_PEERS_MAX];
    uint32_t muted_count = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && node->member[i].mute_out)
            muted[muted_count++] = bytes_of(node->member[i].name);
    const struct envelope_head head = {.kind = kind,
                                       .sender = bytes_of(node->options.name),
                                       .incarnation = node->life.incarnation,
                                       .muted = muted,
                                       .muted_count = muted_count};
    return envelope_begin(packer, effects, &head);
}

static void end(struct node *node, size_t start, enum effect_kind kind, struct effects *effects)
{
    message_seal(effects, start, &node->options.seals.key[0]);
    effects_emit(effects, kind, start);
    if (kind != EFFECT_PUBLISH)
        return;
    node->stats.messages_published++;
    node->stats.bytes_published += effects->arena_size - start;
}

static uint32_t unwell_services(const struct node *node, const struct plane_service **unwell)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->plane->service_count && count < PLANE_HEALTH_ROWS; i++) {
        const struct plane_service *service = node->plane->service[i];
        if (health_level(&service->own, node->now_ns) < HEALTH_ONE)
            unwell[count++] = service;
    }
    return count;
}

void plane_advertise(struct node *node, struct effects *effects)
{
    struct plane *plane = node->plane;
    const struct plane_service *unwell[PLANE_HEALTH_ROWS];
    uint32_t count = unwell_services(node, unwell);
    msgpack_packer packer;
    size_t start = begin(node, MESSAGE_RULES_ADVERT, &packer, effects);
    msgpack_pack_array(&packer, ADVERT_FIELDS);
    plane->advertised_ns = node->now_ns;
    msgpack_pack_uint64(&packer, ++plane->number);
    msgpack_pack_uint64(&packer, rulebook_digest(plane->book));
    msgpack_pack_uint64(&packer, rulebook_lamport(plane->book));
    msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count; i++) {
        msgpack_pack_array(&packer, 2);
        pack_text(&packer, bytes_of(unwell[i]->name));
        msgpack_pack_uint64(&packer, health_level(&unwell[i]->own, node->now_ns));
    }
    end(node, start, EFFECT_PUBLISH, effects);
}

void plane_ask(struct node *node, struct effects *effects)
{
    const struct plane_scan *scan = &node->plane->scan;
    msgpack_packer packer;
    size_t start = begin(node, MESSAGE_RULES_ASK, &packer, effects);
    msgpack_pack_array(&packer, ASK_FIELDS);
    msgpack_pack_uint64(&packer, scan->id);
    pack_cursor(&packer, &scan->cursor);
    const struct member *donor = &node->member[scan->donor];
    message_seal(effects, start, &node->options.seals.key[0]);
    effects_emit_to(effects, EFFECT_REQUEST, donor->name, donor->snapshot_address, start);
}

/* Replies with the next page of versions older than `from`, the newest version first. */
static void serve(struct node *node, uint64_t scan, const struct plane_cursor *from, struct effects *effects)
{
    const struct rulebook *book = node->plane->book;
    size_t before = rulebook_older(book, from->stamp, from->digest), first = before;
    size_t room = node->options.message_max_bytes - FRAME_MAX_BYTES - MESSAGE_SEAL_BYTES;
    size_t most = PAGE_VERSIONS + PAGE_GROWTH * (rulebook_versions(book) - before);
    room = room < PAGE_MAX_BYTES ? room : PAGE_MAX_BYTES;
    while (first > 0 && before - first < most) {
        size_t bytes = version_max_bytes(&rulebook_version_at(book, first - 1)->record);
        if (bytes > room)
            break;
        room -= bytes;
        first--;
    }
    const struct rule_version *oldest = first < before ? rulebook_version_at(book, first) : NULL;
    struct plane_cursor next =
        oldest ? (struct plane_cursor){oldest->record.stamp, oldest->digest} : (struct plane_cursor){0};
    msgpack_packer packer;
    size_t start = begin(node, MESSAGE_RULES_PAGE, &packer, effects);
    msgpack_pack_array(&packer, PAGE_FIELDS);
    msgpack_pack_uint64(&packer, scan);
    pack_cursor(&packer, from);
    msgpack_pack_uint64(&packer, rulebook_digest(book));
    msgpack_pack_uint64(&packer, rulebook_lamport(book));
    msgpack_pack_uint64(&packer, first == 0);
    pack_cursor(&packer, &next);
    msgpack_pack_uint64(&packer, rulebook_digest_of_oldest(book, first));
    msgpack_pack_array(&packer, before - first);
    for (size_t i = before; i > first; i--)
        pack_version(&packer, &rulebook_version_at(book, i - 1)->record);
    end(node, start, EFFECT_REPLY, effects);
    assert(effects->arena_size - start <= node->options.message_max_bytes);
}

/* ---- receiving ---- */

static bool take_advert(struct node *node, uint32_t member, const msgpack_object *object)
{
    struct plane_peer *peer = &node->plane->peer[member];
    msgpack_object_array a, rows, row;
    uint64_t number, digest, lamport;
    struct bytes name = {0};
    uint32_t level = 0;
    if (!read_record(object, ADVERT_FIELDS, ADVERT_FIELDS, &a) || !read_u64(&a.ptr[0], &number) ||
        !read_u64(&a.ptr[1], &digest) || !read_u64(&a.ptr[2], &lamport) || lamport > UINT64_MAX / 2 ||
        !read_array(&a.ptr[3], 0, PLANE_HEALTH_ROWS, &rows))
        return false;
    for (uint32_t i = 0; i < rows.size; i++)
        if (!read_record(&rows.ptr[i], 2, 2, &row) || !read_text(&row.ptr[0], RULE_NAME_MAX_BYTES, &name) ||
            !read_u32(&row.ptr[1], HEALTH_ONE, &level))
            return false;
    if (peer->incarnation != node->member[member].incarnation)
        *peer = (struct plane_peer){.incarnation = node->member[member].incarnation};
    if (number <= peer->number)
        return true; /* an advert that a newer one has overtaken */
    peer->number = number;
    plane_health_forget(node, member);
    for (uint32_t i = 0; i < rows.size; i++) {
        row = rows.ptr[i].via.array;
        (void)read_text(&row.ptr[0], RULE_NAME_MAX_BYTES, &name);
        (void)read_u32(&row.ptr[1], HEALTH_ONE, &level);
        plane_health_hear(node, member, name, level);
    }
    plane_health_step(node);
    plane_heard(node, member, digest, lamport);
    return true;
}

static bool take_ask(struct node *node, const msgpack_object *object, struct effects *effects)
{
    msgpack_object_array a;
    struct plane_cursor from;
    uint64_t scan;
    if (!read_record(object, ASK_FIELDS, ASK_FIELDS, &a) || !read_u64(&a.ptr[0], &scan) ||
        !read_cursor(&a.ptr[1], &from))
        return false;
    serve(node, scan, &from, effects);
    return true;
}

static bool take_page(struct node *node, uint32_t member, const msgpack_object *object, struct effects *effects)
{
    struct plane_page page;
    struct rule_record record;
    msgpack_object_array a, versions;
    uint32_t last;
    if (!read_record(object, PAGE_FIELDS, PAGE_FIELDS, &a) || !read_u64(&a.ptr[0], &page.scan) ||
        !read_cursor(&a.ptr[1], &page.from) || !read_u64(&a.ptr[2], &page.book_digest) ||
        !read_u64(&a.ptr[3], &page.lamport) || page.lamport > UINT64_MAX / 2 || !read_u32(&a.ptr[4], 1, &last) ||
        !read_cursor(&a.ptr[5], &page.next) || !read_u64(&a.ptr[6], &page.older_digest) ||
        !read_array(&a.ptr[7], 0, UINT32_MAX, &versions))
        return false;
    for (uint32_t i = 0; i < versions.size; i++)
        if (!read_version(&versions.ptr[i], &record))
            return false;
    page.last = last != 0;
    if (!plane_page_expected(node->plane, member, &page))
        return true;
    for (uint32_t i = 0; i < versions.size; i++) {
        (void)read_version(&versions.ptr[i], &record);
        plane_page_version(node, &record);
    }
    plane_page_take(node, &page, effects);
    return true;
}

bool plane_receive(struct node *node, const struct envelope *envelope, struct effects *effects)
{
    int index = member_find(node, envelope->sender);
    struct bytes own_name = bytes_of(node->options.name);
    if (node->life.superseded || bytes_equal(envelope->sender, own_name))
        return true;
    if (envelope_mutes(envelope, own_name) || (index >= 0 && node->member[index].mute_in)) {
        node->stats.messages_muted++;
        return true;
    }
    node->stats.messages_received++;
    if (envelope->kind == MESSAGE_RULES_ASK)
        return take_ask(node, &envelope->body, effects);
    if (index < 0 || node->member[index].incarnation != envelope->incarnation)
        return true; /* no gossip has named the sender yet, or the sender has left */
    if (envelope->kind == MESSAGE_RULES_ADVERT)
        return take_advert(node, (uint32_t)index, &envelope->body);
    return take_page(node, (uint32_t)index, &envelope->body, effects);
}
