/*
 * One version of a rule: checks a record, copies it into a block of its own, digests it, counts
 * references; and finds the versions of a rule that are in force.
 */
#include "rules/rule_text.h"
#include "rules/rulebook.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define LAMPORT_MAX (UINT64_MAX / 2) /* half of the range, so that a larger stamp always exists */

static bool name_is_valid(struct bytes name)
{
    if (name.size == 0 || name.size > RULE_NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '.' && c != '-' && c != '_')
            return false;
    }
    return true;
}

/* True if the text is valid as one line of a listing. */
static bool line_is_valid(struct bytes line, size_t max_bytes)
{
    if (line.size > max_bytes)
        return false;
    for (size_t i = 0; i < line.size; i++)
        if ((unsigned char)line.data[i] < ' ' || line.data[i] == 0x7f)
            return false;
    return true;
}

static bool record_is_valid(const struct rule_record *record, struct error *error)
{
    if (record->stamp.lamport == 0 || record->stamp.lamport > LAMPORT_MAX)
        return error_set(error, EX_DATAERR, "a version of a rule with stamp %llu: expected 1 to 2^63",
                         (unsigned long long)record->stamp.lamport);
    if (!name_is_valid(record->service) || !name_is_valid(record->id))
        return error_set(error, EX_DATAERR,
                         "a rule's service and id must be 1 to %d letters, digits, dots, dashes or underscores",
                         RULE_NAME_MAX_BYTES);
    if (!line_is_valid(record->author, RULE_AUTHOR_MAX_BYTES) || !line_is_valid(record->note, RULE_NOTE_MAX_BYTES))
        return error_set(error, EX_DATAERR, "author and note of rule '%.*s' must be a line of at most %d bytes",
                         (int)record->id.size, record->id.data, RULE_NOTE_MAX_BYTES);
    if (record->share_millionths >= RULE_SHARE_ONE || record->threshold_millionths > RULE_SHARE_ONE)
        return error_set(error, EX_DATAERR, "canary of rule '%.*s': its share must be below 100%%",
                         (int)record->id.size, record->id.data);
    if (record->deleted && (record->text.size > 0 || record->share_millionths > 0))
        return error_set(error, EX_DATAERR, "rule '%.*s' is deleted and yet has a text or a canary",
                         (int)record->id.size, record->id.data);
    if (record->text.size > RULE_TEXT_MAX_BYTES)
        return error_set(error, EX_DATAERR, "rule '%.*s' is too long: expected at most %d bytes",
                         (int)record->id.size, record->id.data, RULE_TEXT_MAX_BYTES);
    return true;
}

/* Parses the rule from the record's text, unless the version has its rule or is deleted. */
static bool read_rule(struct rule_version *version, struct error *error)
{
    const struct rule_record *record = &version->record;
    if (record->deleted)
        return true;
    if (!version->rule)
        version->rule = rule_parse_kept(record->text, "rule", error);
    if (!version->rule)
        return false;
    if (!bytes_equal(version->rule->id, record->id) || !bytes_equal(version->rule->service, record->service))
        return error_set(error, EX_DATAERR, "the text of rule %s/%s is of another rule", record->service.data,
                         record->id.data);
    return true;
}

/* Digests the whole record: each field at a fixed place, then the size of each text and a hash of
 * the texts. */
static uint64_t digest_of(const struct rule_record *record, const void *texts, size_t texts_bytes,
                          const struct hash_key *key)
{
    struct key_id texts_hash = hash_128(key, texts, texts_bytes);
    const uint64_t fields[] = {
        record->stamp.lamport,    record->stamp.author,
        record->wall_ms,          record->deleted,
        record->share_millionths, record->threshold_millionths,
        record->watch_ms,         record->epoch,
        record->service.size,     record->id.size,
        record->author.size,      record->note.size,
        record->text.size,        texts_hash.high,
        texts_hash.low,
    };
    return hash_64(key, fields, sizeof fields);
}

struct rule_version *rule_version_of(const struct rule_record *record, struct rule **rule,
                                     const struct hash_key *key, struct error *error)
{
    if (!record_is_valid(record, error))
        return NULL;
    const struct bytes *texts[] = {&record->service, &record->id, &record->author, &record->note, &record->text};
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    size_t bytes = 0;
    for (size_t i = 0; i < TEXTS; i++)
        bytes += texts[i]->size + 1;
    struct rule_version *version = malloc(sizeof *version + bytes);
    if (!version) {
        (void)error_set(error, EX_OSERR, "not enough memory for a rule");
        return NULL;
    }
    *version = (struct rule_version){.record = *record, .rule = *rule, .references = 1};
    *rule = NULL;
    struct bytes *views[] = {&version->record.service, &version->record.id, &version->record.author,
                             &version->record.note, &version->record.text};
    char *at = (char *)(version + 1), *start = at;
    for (size_t i = 0; i < TEXTS; i++) {
        if (texts[i]->size > 0)
            memcpy(at, texts[i]->data, texts[i]->size);
        at[texts[i]->size] = '\0';
        *views[i] = (struct bytes){at, texts[i]->size};
        at += texts[i]->size + 1;
    }
    version->digest = digest_of(&version->record, start, bytes, key);
    if (!read_rule(version, error))
        rule_version_release(&version);
    return version;
}

struct rule_version *rule_version_create(const struct rule_record *record, const struct hash_key *key,
                                         struct error *error)
{
    struct rule *unread = NULL;
    return rule_version_of(record, &unread, key, error);
}

struct rule_version *rule_version_retain(struct rule_version *version)
{
    assert(version->references > 0 && version->references < UINT32_MAX);
    version->references++;
    return version;
}

void rule_version_release(struct rule_version **version)
{
    struct rule_version *released = *version;
    *version = NULL;
    if (!released)
        return;
    assert(released->references > 0);
    if (--released->references > 0)
        return;
    rule_destroy(&released->rule);
    free(released);
}

int rule_version_compare(const struct rule_version *a, const struct rule_version *b)
{
    const struct rule_stamp *x = &a->record.stamp, *y = &b->record.stamp;
    if (x->lamport != y->lamport)
        return x->lamport < y->lamport ? -1 : 1;
    if (x->author != y->author)
        return x->author < y->author ? -1 : 1;
    return a->digest < b->digest ? -1 : a->digest > b->digest;
}

bool rule_record_equal(const struct rule_record *a, const struct rule_record *b)
{
    return a->stamp.lamport == b->stamp.lamport && a->stamp.author == b->stamp.author && a->wall_ms == b->wall_ms &&
           a->deleted == b->deleted && a->share_millionths == b->share_millionths &&
           a->threshold_millionths == b->threshold_millionths && a->watch_ms == b->watch_ms &&
           a->epoch == b->epoch && bytes_equal(a->author, b->author) && bytes_equal(a->note, b->note) &&
           bytes_equal(a->text, b->text);
}

/* ---- versions of one rule ---- */

bool rule_version_is_general(const struct rule_version *version)
{
    return version->record.share_millionths == 0;
}

static const struct rule_version *newest_general(const struct rulebook_rule *rule)
{
    for (uint32_t i = 0; i < rule->count; i++)
        if (rule_version_is_general(rule->version[i]))
            return rule->version[i];
    return NULL;
}

const struct rule_version *rulebook_stable(const struct rulebook_rule *rule)
{
    const struct rule_version *stable = newest_general(rule);
    return stable && !stable->record.deleted ? stable : NULL;
}

const struct rule_version *rulebook_candidate(const struct rulebook_rule *rule)
{
    return rule_version_is_general(rule->version[0]) ? NULL : rule->version[0];
}
