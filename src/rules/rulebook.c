/*
 * Two copy-on-write arrays: rules by service and id, and versions in their order. A rule in the
 * first array is immutable; a change replaces it. Adding a version is the only way in which a book
 * changes.
 */
#include "rules/rulebook.h"

#include "rules/cow_array.h"

#include <assert.h>
#include <stdlib.h>

const struct rulebook_limits RULEBOOK_LIMITS_DEFAULT = {
    .services_max = 4096,
    .rules_max = 65536,
    .service_rules_max = 8192,
    .text_max_bytes = (uint64_t)256 << 20,
};

/* Immutable: a change of a rule makes another one. */
struct stored_rule {
    struct rulebook_rule rule;
    uint32_t references;
};

struct rulebook {
    struct rulebook_limits limits;
    struct hash_key key;
    struct cow_array rules;    /* by service, then id */
    struct cow_array versions; /* oldest first */
    uint32_t service_count;
    uint64_t text_bytes, digest, lamport;
};

/* ---- items of the arrays ---- */

static void retain_rule(void *item)
{
    struct stored_rule *rule = item;
    rule->references++;
}

static void release_rule(void *item)
{
    struct stored_rule *rule = item;
    assert(rule->references > 0);
    if (--rule->references == 0)
        free(rule);
}

static void retain_version(void *item)
{
    (void)rule_version_retain(item);
}

static void release_version(void *item)
{
    struct rule_version *version = item;
    rule_version_release(&version);
}

static uint64_t version_digest(const void *item)
{
    return ((const struct rule_version *)item)->digest;
}

/* The rules hold no references to their versions: the array of versions holds them. */
static const struct cow_array_kind RULES = {retain_rule, release_rule, NULL};
static const struct cow_array_kind VERSIONS = {retain_version, release_version, version_digest};

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
    cow_array_init(&book->rules, &RULES);
    cow_array_init(&book->versions, &VERSIONS);
    return book;
}

void rulebook_destroy(struct rulebook **book)
{
    if (!*book)
        return;
    cow_array_close(&(*book)->rules);
    cow_array_close(&(*book)->versions);
    free(*book);
    *book = NULL;
}

struct rulebook *rulebook_copy(const struct rulebook *book)
{
    struct rulebook *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *book;
    cow_array_copy(&copy->rules, &book->rules);
    cow_array_copy(&copy->versions, &book->versions);
    return copy;
}

/* ---- searching ---- */

static struct rule_name name_of(const void *item)
{
    const struct rulebook_rule *rule = &((const struct stored_rule *)item)->rule;
    return (struct rule_name){rule->service, rule->id};
}

static bool name_is_before(const void *context, const void *item)
{
    const struct rule_name *name = context;
    return rule_name_compare(name_of(item), *name) < 0;
}

static bool name_is_not_after(const void *context, const void *item)
{
    const struct rule_name *name = context;
    return rule_name_compare(name_of(item), *name) <= 0;
}

static bool service_is_not_after(const void *context, const void *item)
{
    const struct bytes *service = context;
    return bytes_compare(name_of(item).service, *service) <= 0;
}

size_t rulebook_after(const struct rulebook *book, struct rule_name name)
{
    return cow_array_search(&book->rules, name_is_not_after, &name);
}

struct version_place {
    struct rule_stamp stamp;
    uint64_t digest;
};

static bool version_is_before(const void *context, const void *item)
{
    const struct version_place *place = context;
    const struct rule_version *version = item;
    if (version->record.stamp.lamport != place->stamp.lamport)
        return version->record.stamp.lamport < place->stamp.lamport;
    if (version->record.stamp.author != place->stamp.author)
        return version->record.stamp.author < place->stamp.author;
    return version->digest < place->digest;
}

size_t rulebook_older(const struct rulebook *book, struct rule_stamp stamp, uint64_t digest)
{
    return cow_array_search(&book->versions, version_is_before, &(struct version_place){stamp, digest});
}

const struct rulebook_rule *rulebook_at(const struct rulebook *book, size_t index)
{
    return &((const struct stored_rule *)cow_array_at(&book->rules, index))->rule;
}

/* ---- adding ---- */

static void insert_version(struct rulebook *book, struct rule_version *version)
{
    size_t at = rulebook_older(book, version->record.stamp, version->digest);
    cow_array_insert(&book->versions, at, rule_version_retain(version));
    book->text_bytes += rule_version_bytes(version);
    book->digest ^= version->digest;
}

static void remove_version(struct rulebook *book, const struct rule_version *version)
{
    size_t at = rulebook_older(book, version->record.stamp, version->digest);
    /* Two versions of one change may have the same stamp and digest if hashes collide by accident. */
    while (cow_array_at(&book->versions, at) != version)
        at++;
    book->text_bytes -= rule_version_bytes(version);
    book->digest ^= version->digest;
    cow_array_remove(&book->versions, at);
}

/* True if one more rule stays within the limits. *of_service becomes the number of the service's
 * rules. */
static bool has_room(const struct rulebook *book, struct bytes service, size_t *of_service)
{
    (void)rulebook_service(book, service, of_service);
    return book->rules.count < book->limits.rules_max && *of_service < book->limits.service_rules_max &&
           (*of_service > 0 || book->service_count < book->limits.services_max);
}

/*
 * Marks the versions of `all` that stay: the newest eight and the newest general one. The choice
 * depends on the union of two sets only, so any order of merging gives the same book.
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

/* The index of the rule, or the index at which it would be inserted. */
static size_t find(const struct rulebook *book, struct bytes service, struct bytes id, bool *found)
{
    size_t at = cow_array_search(&book->rules, name_is_before, &(struct rule_name){service, id});
    const struct rulebook_rule *rule = at < book->rules.count ? rulebook_at(book, at) : NULL;
    *found = rule && bytes_equal(rule->service, service) && bytes_equal(rule->id, id);
    return at;
}

enum rulebook_result rulebook_add(struct rulebook *book, struct rule_version *version)
{
    struct rule_version *all[RULE_VERSIONS_MAX + 1];
    bool kept[RULE_VERSIONS_MAX + 1], found;
    struct bytes service = version->record.service, id = version->record.id;
    size_t at = find(book, service, id, &found), of_service = 1;
    const struct rulebook_rule *rule = found ? rulebook_at(book, at) : NULL;
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
    if (book->text_bytes + rule_version_bytes(version) > book->limits.text_max_bytes ||
        (!rule && !has_room(book, service, &of_service)))
        return RULEBOOK_FULL;
    struct stored_rule *next = malloc(sizeof *next);
    if (!next)
        return RULEBOOK_FULL;
    *next = (struct stored_rule){.references = 1};
    for (uint32_t i = 0; i <= count; i++)
        if (kept[i])
            next->rule.version[next->rule.count++] = all[i];
    next->rule.service = all[0]->record.service;
    next->rule.id = all[0]->record.id;
    if (found)
        cow_array_replace(&book->rules, at, next);
    else
        cow_array_insert(&book->rules, at, next);
    book->service_count += of_service == 0;
    insert_version(book, version);
    for (uint32_t i = 0; i <= count; i++)
        if (!kept[i])
            remove_version(book, all[i]);
    if (version->record.stamp.lamport > book->lamport)
        book->lamport = version->record.stamp.lamport;
    return RULEBOOK_ADDED;
}

bool rulebook_knows(const struct rulebook *book, const struct rule_record *record)
{
    const struct rulebook_rule *rule = rulebook_find(book, record->service, record->id);
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
    return book->rules.count;
}

size_t rulebook_versions(const struct rulebook *book)
{
    return book->versions.count;
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

const struct rulebook_rule *rulebook_find(const struct rulebook *book, struct bytes service, struct bytes id)
{
    bool found;
    size_t at = find(book, service, id, &found);
    return found ? rulebook_at(book, at) : NULL;
}

size_t rulebook_service(const struct rulebook *book, struct bytes service, size_t *count)
{
    const size_t first = cow_array_search(&book->rules, name_is_before, &(struct rule_name){.service = service});
    *count = cow_array_search(&book->rules, service_is_not_after, &service) - first;
    return first;
}

struct rule_version *rulebook_version_at(const struct rulebook *book, size_t index)
{
    return cow_array_at(&book->versions, index);
}

uint64_t rulebook_digest_of_oldest(const struct rulebook *book, size_t count)
{
    return cow_array_digest(&book->versions, count);
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
    for (size_t i = 0; i < book->rules.count; i++) {
        const struct rulebook_rule *rule = rulebook_at(book, i), *before = i > 0 ? rulebook_at(book, i - 1) : NULL;
        check_rule(book, rule);
        versions += rule->count;
        for (uint32_t v = 0; v < rule->count; v++)
            digest ^= rule->version[v]->digest;
        services += !before || !bytes_equal(before->service, rule->service);
        assert(!before || rule_name_compare((struct rule_name){before->service, before->id},
                                            (struct rule_name){rule->service, rule->id}) < 0);
    }
    for (size_t i = 1; i < book->versions.count; i++)
        assert(rule_version_compare(rulebook_version_at(book, i - 1), rulebook_version_at(book, i)) <= 0);
    assert(versions == book->versions.count && services == book->service_count && digest == book->digest &&
           digest == cow_array_digest(&book->versions, versions));
    assert(book->text_bytes <= book->limits.text_max_bytes && book->rules.count <= book->limits.rules_max);
}
