#include "rules/rulebook.h"

#include <assert.h>
#include <stdlib.h>

const struct rulebook_limits RULEBOOK_LIMITS_DEFAULT = {
    .services_max = 4096,
    .rules_max = 65536,
    .service_rules_max = 8192,
    .text_max_bytes = (uint64_t)256 << 20,
};

struct rulebook {
    struct rulebook_limits limits;
    struct hash_key key;
    size_t rule_count, rule_room;
    struct rulebook_rule **rule; /* by service, then id */
    size_t version_count, version_room;
    struct rule_version **version; /* in their order, oldest first; each holds one reference */
    uint32_t service_count;
    uint64_t text_bytes, digest, lamport;
};

/* ---- the book ---- */

uint64_t rule_version_bytes(const struct rule_version *version)
{
    return version->record.text.size + version->record.note.size + sizeof *version;
}

struct rulebook *rulebook_create(const struct rulebook_limits *limits, const struct hash_key *key)
{
    struct rulebook *book = calloc(1, sizeof *book);
    if (!book)
        return NULL;
    const struct rulebook_limits *standard = &RULEBOOK_LIMITS_DEFAULT;
    book->key = *key;
    book->limits.services_max = limits->services_max ? limits->services_max : standard->services_max;
    book->limits.rules_max = limits->rules_max ? limits->rules_max : standard->rules_max;
    book->limits.service_rules_max =
        limits->service_rules_max ? limits->service_rules_max : standard->service_rules_max;
    book->limits.text_max_bytes = limits->text_max_bytes ? limits->text_max_bytes : standard->text_max_bytes;
    return book;
}

void rulebook_destroy(struct rulebook **book)
{
    if (!*book)
        return;
    struct rulebook *dying = *book;
    for (size_t i = 0; i < dying->rule_count; i++)
        free(dying->rule[i]);
    for (size_t i = 0; i < dying->version_count; i++)
        rule_version_release(&dying->version[i]);
    free(dying->rule);
    free(dying->version);
    free(dying);
    *book = NULL;
}

/* The copy's arrays, filled; false: no memory. */
static bool copy_arrays(struct rulebook *copy, const struct rulebook *book)
{
    copy->rule_room = book->rule_count + 1;
    copy->version_room = book->version_count + 1;
    copy->rule = calloc(copy->rule_room, sizeof(void *));
    copy->version = calloc(copy->version_room, sizeof(void *));
    if (!copy->rule || !copy->version)
        return false;
    for (; copy->rule_count < book->rule_count; copy->rule_count++) {
        struct rulebook_rule *rule = malloc(sizeof *rule);
        if (!rule)
            return false;
        *rule = *book->rule[copy->rule_count];
        copy->rule[copy->rule_count] = rule;
    }
    for (; copy->version_count < book->version_count; copy->version_count++)
        copy->version[copy->version_count] = rule_version_retain(book->version[copy->version_count]);
    return true;
}

struct rulebook *rulebook_copy(const struct rulebook *book)
{
    struct rulebook *copy = rulebook_create(&book->limits, &book->key);
    if (!copy)
        return NULL;
    if (!copy_arrays(copy, book)) {
        rulebook_destroy(&copy);
        return NULL;
    }
    copy->service_count = book->service_count;
    copy->text_bytes = book->text_bytes;
    copy->digest = book->digest;
    copy->lamport = book->lamport;
    return copy;
}

/* The array with room for one more, or NULL: no memory. Its elements are pointers. */
static void *reserve(void *array, size_t count, size_t *room)
{
    if (count < *room)
        return array;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = realloc(array, wanted * sizeof(void *));
    if (grown)
        *room = wanted;
    return grown;
}

static bool reserve_rule(struct rulebook *book)
{
    struct rulebook_rule **grown = reserve(book->rule, book->rule_count, &book->rule_room);
    if (grown)
        book->rule = grown;
    return grown != NULL;
}

static bool reserve_version(struct rulebook *book)
{
    struct rule_version **grown = reserve(book->version, book->version_count, &book->version_room);
    if (grown)
        book->version = grown;
    return grown != NULL;
}

static int compare_bytes(struct bytes a, struct bytes b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* How many rules stand before that place; `after_service`: all of the service count as before. */
static size_t rules_before(const struct rulebook *book, struct bytes service, struct bytes id, bool after_service)
{
    size_t low = 0, high = book->rule_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rulebook_rule *rule = book->rule[middle];
        int order = compare_bytes(rule->service, service);
        bool before = order < 0 || (order == 0 && (after_service || compare_bytes(rule->id, id) < 0));
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_before(const struct rule_version *version, struct rule_stamp stamp, uint64_t digest)
{
    if (version->record.stamp.lamport != stamp.lamport)
        return version->record.stamp.lamport < stamp.lamport;
    if (version->record.stamp.author != stamp.author)
        return version->record.stamp.author < stamp.author;
    return version->digest < digest;
}

size_t rulebook_older(const struct rulebook *book, struct rule_stamp stamp, uint64_t digest)
{
    size_t low = 0, high = book->version_count;
    if (high > 0 && is_before(book->version[high - 1], stamp, digest))
        return high; /* the usual case: changes come in their order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(book->version[middle], stamp, digest))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_version(struct rulebook *book, struct rule_version *version)
{
    size_t at = rulebook_older(book, version->record.stamp, version->digest);
    memmove(book->version + at + 1, book->version + at, (book->version_count - at) * sizeof(void *));
    book->version[at] = rule_version_retain(version);
    book->version_count++;
    book->text_bytes += rule_version_bytes(version);
    book->digest ^= version->digest;
}

static void remove_version(struct rulebook *book, const struct rule_version *version)
{
    size_t at = rulebook_older(book, version->record.stamp, version->digest);
    /* Two rules of one change could, by accident of hashes, share a place in the order. */
    while (book->version[at] != version)
        at++;
    book->text_bytes -= rule_version_bytes(version);
    book->digest ^= version->digest;
    rule_version_release(&book->version[at]);
    book->version_count--;
    memmove(book->version + at, book->version + at + 1, (book->version_count - at) * sizeof(void *));
}

/* A new rule, without versions yet; NULL: a limit, or no memory. */
static struct rulebook_rule *insert_rule(struct rulebook *book, struct bytes service, struct bytes id)
{
    size_t of_service;
    (void)rulebook_service(book, service, &of_service);
    if (book->rule_count >= book->limits.rules_max || of_service >= book->limits.service_rules_max ||
        (of_service == 0 && book->service_count >= book->limits.services_max) || !reserve_rule(book))
        return NULL;
    struct rulebook_rule *rule = calloc(1, sizeof *rule);
    if (!rule)
        return NULL;
    size_t at = rules_before(book, service, id, false);
    memmove(book->rule + at + 1, book->rule + at, (book->rule_count - at) * sizeof(void *));
    book->rule[at] = rule;
    book->rule_count++;
    book->service_count += of_service == 0;
    return rule;
}

/*
 * Marks which of `all` are kept, the newest eight and the newest general one: what is kept of two sets' union depends
 * on nothing else, so that any order of merging gives the same.
 */
static void choose(struct rule_version **all, uint32_t count, bool *kept)
{
    bool has_general = false;
    for (uint32_t i = 0; i < count; i++) {
        bool general = rule_version_is_general(all[i]);
        kept[i] = i < RULE_VERSIONS_KEPT || (general && !has_general);
        has_general |= general;
    }
}

static bool knows(const struct rulebook_rule *rule, const struct rule_version *version)
{
    for (uint32_t i = 0; i < rule->count; i++)
        if (rule_version_compare(rule->version[i], version) == 0)
            return true;
    return false;
}

static struct rulebook_rule *find(const struct rulebook *book, struct bytes service, struct bytes id)
{
    size_t at = rules_before(book, service, id, false);
    bool found = at < book->rule_count && bytes_equal(book->rule[at]->service, service) &&
                 bytes_equal(book->rule[at]->id, id);
    return found ? book->rule[at] : NULL;
}

enum rulebook_result rulebook_add(struct rulebook *book, struct rule_version *version)
{
    struct rule_version *all[RULE_VERSIONS_MAX + 1];
    bool kept[RULE_VERSIONS_MAX + 1];
    struct rulebook_rule *rule = find(book, version->record.service, version->record.id);
    uint32_t place = 0, count = rule ? rule->count : 0;
    if (rule && knows(rule, version))
        return RULEBOOK_KNOWN;
    while (place < count && rule_version_compare(rule->version[place], version) > 0)
        place++;
    for (uint32_t i = 0; i <= count; i++)
        all[i] = i < place ? rule->version[i] : i == place ? version : rule->version[i - 1];
    choose(all, count + 1, kept);
    if (!kept[place])
        return RULEBOOK_KNOWN;
    if (book->text_bytes + rule_version_bytes(version) > book->limits.text_max_bytes || !reserve_version(book))
        return RULEBOOK_FULL;
    if (!rule)
        rule = insert_rule(book, version->record.service, version->record.id);
    if (!rule)
        return RULEBOOK_FULL;
    insert_version(book, version);
    rule->count = 0;
    for (uint32_t i = 0; i <= count; i++)
        if (kept[i])
            rule->version[rule->count++] = all[i];
    rule->service = rule->version[0]->record.service;
    rule->id = rule->version[0]->record.id;
    for (uint32_t i = 0; i <= count; i++)
        if (!kept[i])
            remove_version(book, all[i]);
    if (version->record.stamp.lamport > book->lamport)
        book->lamport = version->record.stamp.lamport;
    return RULEBOOK_ADDED;
}

bool rulebook_knows(const struct rulebook *book, const struct rule_record *record)
{
    const struct rulebook_rule *rule = find(book, record->service, record->id);
    for (uint32_t i = 0; rule && i < rule->count; i++)
        if (rule_record_equal(&rule->version[i]->record, record))
            return true;
    return false;
}

/* ---- reading ---- */

uint64_t rulebook_digest(const struct rulebook *book)
{
    return book->digest;
}

uint64_t rulebook_lamport(const struct rulebook *book)
{
    return book->lamport;
}

size_t rulebook_rules(const struct rulebook *book)
{
    return book->rule_count;
}

size_t rulebook_versions(const struct rulebook *book)
{
    return book->version_count;
}

size_t rulebook_services(const struct rulebook *book)
{
    return book->service_count;
}

uint64_t rulebook_text_bytes(const struct rulebook *book)
{
    return book->text_bytes;
}

const struct rulebook_limits *rulebook_limits(const struct rulebook *book)
{
    return &book->limits;
}

const struct rulebook_rule *rulebook_at(const struct rulebook *book, size_t index)
{
    assert(index < book->rule_count);
    return book->rule[index];
}

const struct rulebook_rule *rulebook_find(const struct rulebook *book, struct bytes service, struct bytes id)
{
    return find(book, service, id);
}

size_t rulebook_service(const struct rulebook *book, struct bytes service, size_t *count)
{
    size_t first = rules_before(book, service, (struct bytes){0}, false);
    *count = rules_before(book, service, (struct bytes){0}, true) - first;
    return first;
}

struct rule_version *rulebook_version_at(const struct rulebook *book, size_t index)
{
    assert(index < book->version_count);
    return book->version[index];
}

uint64_t rulebook_digest_of_oldest(const struct rulebook *book, size_t count)
{
    uint64_t digest = 0;
    assert(count <= book->version_count);
    for (size_t i = 0; i < count; i++)
        digest ^= book->version[i]->digest;
    return digest;
}

static void check_rule(const struct rulebook *book, const struct rulebook_rule *rule)
{
    uint32_t generals = 0;
    assert(rule->count >= 1 && rule->count <= RULE_VERSIONS_MAX);
    for (uint32_t i = 0; i < rule->count; i++) {
        const struct rule_version *version = rule->version[i];
        assert(bytes_equal(version->record.service, rule->service) && bytes_equal(version->record.id, rule->id));
        assert(i == 0 || rule_version_compare(rule->version[i - 1], version) > 0);
        assert(version->record.deleted == (version->rule == NULL) && version->references > 0);
        assert(version->record.stamp.lamport <= book->lamport);
        assert(i < RULE_VERSIONS_KEPT || (rule_version_is_general(version) && generals == 0));
        generals += rule_version_is_general(version);
    }
}

void rulebook_check(const struct rulebook *book)
{
    size_t versions = 0, services = 0;
    uint64_t digest = 0;
    for (size_t i = 0; i < book->rule_count; i++) {
        const struct rulebook_rule *rule = book->rule[i], *before = i > 0 ? book->rule[i - 1] : NULL;
        check_rule(book, rule);
        versions += rule->count;
        for (uint32_t v = 0; v < rule->count; v++)
            digest ^= rule->version[v]->digest;
        int order = before ? compare_bytes(before->service, rule->service) : -1;
        services += order != 0;
        assert(order < 0 || (order == 0 && compare_bytes(before->id, rule->id) < 0));
    }
    for (size_t i = 1; i < book->version_count; i++)
        assert(rule_version_compare(book->version[i - 1], book->version[i]) <= 0);
    assert(versions == book->version_count && services == book->service_count && digest == book->digest);
    assert(book->text_bytes <= book->limits.text_max_bytes && book->rule_count <= book->limits.rules_max);
}
