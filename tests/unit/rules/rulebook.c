#include "rules/rulebook.h"
#include "base/random.h"
#include "rules/rule_text.h"
#include "tests/lib/rule_parse.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

enum { RULES = 5, POOL = 120, ROUNDS = 100 };

static struct hash_key hash_key;
static struct rule_version *pool[POOL];

static const char *const names[RULES] = {"a", "b", "c", "d", "e"};

static struct bytes canonical(const char *text, char *out)
{
    struct error error;
    struct rule *rule = rule_parse(bytes_of(text), "test", &error);
    if (!rule)
        printf("# %s\n", error.text);
    assert(rule);
    struct bytes bytes = {out, rule_print(rule, out, RULE_TEXT_MAX_BYTES)};
    rule_destroy(&rule);
    return bytes;
}

/* Version `lamport` of a rule; share 0: general; limit 0: deleted. */
static struct rule_version *make(const char *service, const char *id, uint64_t lamport, uint64_t author,
                                 uint32_t share, unsigned limit)
{
    static char text[256], printed[RULE_TEXT_MAX_BYTES];
    struct error error = {0};
    (void)snprintf(text, sizeof text, "id: %s\nservice: %s\nrate: %u/m\n", id, service, limit);
    struct rule_record record = {
        .stamp = {lamport, author},
        .service = bytes_of(service),
        .id = bytes_of(id),
        .author = bytes_of("ann"),
        .note = bytes_of("a test"),
        .deleted = limit == 0,
        .share_millionths = share,
        .text = limit > 0 ? canonical(text, printed) : (struct bytes){0},
    };
    struct rule_version *version = rule_version_create(&record, &hash_key, &error);
    if (!version)
        printf("# %s\n", error.text);
    return version;
}

static void add(struct rulebook *book, struct rule_version *version, enum rulebook_result expected,
                const char *what)
{
    OK(rulebook_add(book, version) == expected, "%s", what);
    rule_version_release(&version);
}

static struct rulebook *new_book(void)
{
    struct rulebook *book = rulebook_create(&RULEBOOK_LIMITS_DEFAULT, &hash_key);
    assert(book);
    return book;
}

static bool refused(struct rule_record record, const char *expected)
{
    struct error error = {0};
    struct rule_version *version = rule_version_create(&record, &hash_key, &error);
    bool right = !version && strstr(error.text, expected);
    if (!right)
        printf("# %s\n", version ? "taken" : error.text);
    rule_version_release(&version);
    return right;
}

static void test_records(void)
{
    struct rule_record good = {.stamp = {1, 1},
                               .service = bytes_of("s"),
                               .id = bytes_of("a"),
                               .text = bytes_of("id: a\nservice: s\nrate: 5/m\n")};
    struct rule_record bad;
    struct error error;
    struct rule_version *version = rule_version_create(&good, &hash_key, &error);
    OK(version && version->rule->amount.rate == 5, "a record is copied, and its rule is read");
    OK(version && version->record.text.data != good.text.data, "its views are its own");
    rule_version_release(&version);
    OK(!version, "what is released is forgotten");
    bad = good, bad.stamp.lamport = 0;
    OK(refused(bad, "stamp"), "a stamp is above 0");
    bad = good, bad.id = bytes_of("a b");
    OK(refused(bad, "letters"), "ids are checked");
    bad = good, bad.service = (struct bytes){0};
    OK(refused(bad, "letters"), "and services");
    bad = good, bad.note = bytes_of("two\nlines");
    OK(refused(bad, "line"), "a note is one line");
    bad = good, bad.share_millionths = RULE_SHARE_ONE;
    OK(refused(bad, "100%"), "a canary is not for all");
    bad = good, bad.deleted = true;
    OK(refused(bad, "deleted"), "a deleted rule has no text");
    bad = good, bad.id = bytes_of("b");
    OK(refused(bad, "another rule"), "the text is of that rule");
    bad = good, bad.text = bytes_of("id: a\nservice: s\nrate: 5/m\ncolour: red\n");
    OK(refused(bad, "colour"), "nonsense in the text is named");
}

static void test_history(void)
{
    struct rulebook *book = new_book();
    OK_U64(rulebook_digest(book), 0, "an empty book has digest 0");
    add(book, make("s", "a", 3, 1, 0, 3), RULEBOOK_ADDED, "a version is added");
    add(book, make("s", "a", 3, 1, 0, 3), RULEBOOK_KNOWN, "the same again is known");
    add(book, make("s", "a", 1, 1, 0, 1), RULEBOOK_ADDED, "an older one goes into the history");
    const struct rulebook_rule *rule = rulebook_find(book, bytes_of("s"), bytes_of("a"));
    OK(rule && rule->count == 2 && rulebook_stable(rule)->rule->amount.rate == 3, "the newest is in force");
    add(book, make("s", "a", 4, 1, 100000, 4), RULEBOOK_ADDED, "a canary");
    rule = rulebook_find(book, bytes_of("s"), bytes_of("a"));
    OK(rulebook_candidate(rule)->rule->amount.rate == 4 && rulebook_stable(rule)->rule->amount.rate == 3,
       "stands beside the version in force");
    for (unsigned i = 5; i < 14; i++)
        add(book, make("s", "a", i, 1, 100000, i), RULEBOOK_ADDED, "one canary after the other");
    rule = rulebook_find(book, bytes_of("s"), bytes_of("a"));
    OK(rule->count == RULE_VERSIONS_MAX && rulebook_stable(rule)->rule->amount.rate == 3,
       "however many they are, the version in force is kept");
    OK_U64(rule->version[RULE_VERSIONS_KEPT - 1]->record.stamp.lamport, 6, "besides the newest eight");
    add(book, make("s", "a", 14, 1, 0, 14), RULEBOOK_ADDED, "a general version pushes two out");
    rule = rulebook_find(book, bytes_of("s"), bytes_of("a"));
    OK(rule->count == RULE_VERSIONS_KEPT && !rulebook_candidate(rule), "eight are left, and no canary");
    add(book, make("s", "a", 2, 1, 0, 2), RULEBOOK_KNOWN, "what is too old is none for the book");
    add(book, make("s", "a", 15, 1, 0, 0), RULEBOOK_ADDED, "a deletion is a version");
    rule = rulebook_find(book, bytes_of("s"), bytes_of("a"));
    OK(!rulebook_stable(rule) && !rulebook_candidate(rule), "after which nothing is in force");
    OK_U64(rulebook_lamport(book), 15, "the book knows its newest stamp");
    rulebook_check(book);
    rulebook_destroy(&book);
}

static void test_order(void)
{
    struct rulebook *book = new_book();
    add(book, make("s", "a", 2, 7, 0, 1), RULEBOOK_ADDED, "two regions change a rule at once");
    add(book, make("s", "a", 2, 9, 0, 2), RULEBOOK_ADDED, "both versions are in the history");
    const struct rulebook_rule *rule = rulebook_find(book, bytes_of("s"), bytes_of("a"));
    OK(rulebook_stable(rule)->rule->amount.rate == 2, "and one of them is in force");
    add(book, make("t", "a", 1, 1, 0, 1), RULEBOOK_ADDED, "another service");
    add(book, make("s", "b", 5, 1, 0, 1), RULEBOOK_ADDED, "another rule");
    size_t count, first = rulebook_service(book, bytes_of("s"), &count);
    OK(first == 0 && count == 2, "rules of a service stand together");
    OK(rulebook_service(book, bytes_of("nobody"), &count) == 0 && count == 0, "an unknown one has none");
    OK_U64(rulebook_services(book), 2, "two services");
    OK_U64(rulebook_older(book, (struct rule_stamp){2, 9}, 0), 2, "two versions are older than (2, 9)");
    OK_U64(rulebook_older(book, (struct rule_stamp){UINT64_MAX, 0}, 0), 4, "all are older than the end");
    OK(rulebook_digest_of_oldest(book, 4) == rulebook_digest(book), "all of them have the book's digest");
    OK(rulebook_digest_of_oldest(book, 3) != rulebook_digest(book), "fewer have another");
    struct rulebook *copy = rulebook_copy(book);
    rulebook_check(copy);
    OK(rulebook_digest(copy) == rulebook_digest(book) && rulebook_versions(copy) == 4, "a copy is the same book");
    add(copy, make("s", "c", 6, 1, 0, 1), RULEBOOK_ADDED, "which goes its own way");
    OK(rulebook_versions(book) == 4 && rulebook_versions(copy) == 5, "and leaves the first as it is");
    rulebook_destroy(&book);
    rulebook_check(copy);
    rulebook_destroy(&copy);
}

static void test_limits(void)
{
    struct rulebook_limits limits = {.services_max = 2, .rules_max = 3, .service_rules_max = 2};
    struct rulebook *book = rulebook_create(&limits, &hash_key);
    add(book, make("s", "a", 1, 1, 0, 1), RULEBOOK_ADDED, "a book with limits");
    add(book, make("s", "b", 2, 1, 0, 1), RULEBOOK_ADDED, "two rules in a service");
    add(book, make("s", "c", 3, 1, 0, 1), RULEBOOK_FULL, "and no third");
    add(book, make("t", "a", 4, 1, 0, 1), RULEBOOK_ADDED, "two services");
    add(book, make("u", "a", 5, 1, 0, 1), RULEBOOK_FULL, "and no third");
    add(book, make("t", "b", 5, 1, 0, 1), RULEBOOK_FULL, "no fourth rule");
    add(book, make("t", "a", 6, 1, 0, 2), RULEBOOK_ADDED, "a rule that is there can change");
    rulebook_check(book);
    rulebook_destroy(&book);
}

/* ---- whatever the order: the same book ---- */

static void shuffle(struct rule_version **versions, size_t count, struct random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = random_below(random, i);
        struct rule_version *version = versions[i - 1];
        versions[i - 1] = versions[other];
        versions[other] = version;
    }
}

static void draw_pool(struct random *random)
{
    for (unsigned i = 0; i < POOL; i++) {
        uint32_t share = random_below(random, 3) == 0 ? 0 : 100000; /* many canaries: the general one is old */
        unsigned limit = share == 0 && random_below(random, 4) == 0 ? 0 : 1 + (unsigned)random_below(random, 9);
        pool[i] = make(random_below(random, 2) ? "s" : "t", names[random_below(random, RULES)],
                       1 + random_below(random, 40), 1 + random_below(random, 3), share, limit);
    }
}

static void merge(struct rulebook *into, const struct rulebook *from)
{
    for (size_t i = 0; i < rulebook_versions(from); i++)
        (void)rulebook_add(into, rulebook_version_at(from, i));
}

static bool equal(const struct rulebook *a, const struct rulebook *b)
{
    if (rulebook_digest(a) != rulebook_digest(b) || rulebook_versions(a) != rulebook_versions(b) ||
        rulebook_rules(a) != rulebook_rules(b))
        return false;
    for (size_t i = 0; i < rulebook_rules(a); i++) {
        const struct rulebook_rule *x = rulebook_at(a, i), *y = rulebook_at(b, i);
        if (x->count != y->count)
            return false;
        for (uint32_t v = 0; v < x->count; v++)
            if (rule_version_compare(x->version[v], y->version[v]) != 0)
                return false;
    }
    return true;
}

static bool is_general(const struct rule_version *version)
{
    return version->record.share_millionths == 0;
}

/* By the definition: a version stays if fewer than eight of its rule are newer, or if no newer one is general. */
static bool stays(const struct rule_version *version, const bool *heard)
{
    unsigned newer = 0, newer_general = 0;
    for (unsigned i = 0; i < POOL; i++) {
        const struct rule_version *other = pool[i];
        bool counted = false;
        if (!heard[i] || !bytes_equal(other->record.service, version->record.service) ||
            !bytes_equal(other->record.id, version->record.id) || rule_version_compare(other, version) <= 0)
            continue;
        for (unsigned j = 0; j < i && !counted; j++) /* the same drawn twice */
            counted = heard[j] && bytes_equal(pool[j]->record.service, other->record.service) &&
                      bytes_equal(pool[j]->record.id, other->record.id) &&
                      rule_version_compare(pool[j], other) == 0;
        newer += !counted;
        newer_general += !counted && is_general(other);
    }
    return newer < RULE_VERSIONS_KEPT || (is_general(version) && newer_general == 0);
}

static bool is_in(const struct rulebook *book, const struct rule_version *version)
{
    const struct rulebook_rule *rule = rulebook_find(book, version->record.service, version->record.id);
    for (uint32_t i = 0; rule && i < rule->count; i++)
        if (rule_version_compare(rule->version[i], version) == 0)
            return true;
    return false;
}

static void test_semilattice(void)
{
    struct random random;
    unsigned commutative = 0, associative = 0, idempotent = 0, defined = 0;
    random_seed(&random, 20);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rulebook *parts[3], *left = new_book(), *right = new_book();
        bool heard[POOL];
        draw_pool(&random);
        for (unsigned p = 0; p < 3; p++)
            parts[p] = new_book();
        for (unsigned i = 0; i < POOL; i++) {
            unsigned p = (unsigned)random_below(&random, 4); /* 3: nobody */
            heard[i] = p < 3;
            if (p < 3)
                (void)rulebook_add(parts[p], pool[i]);
            if (p < 3 && random_below(&random, 3) == 0)
                (void)rulebook_add(parts[random_below(&random, 3)], pool[i]);
        }
        bool right_ones = true;
        merge(left, parts[0]), merge(left, parts[1]), merge(left, parts[2]);
        for (unsigned i = 0; i < POOL; i++)
            right_ones &= !heard[i] || is_in(left, pool[i]) == stays(pool[i], heard);
        defined += right_ones;
        merge(right, parts[2]), merge(right, parts[1]), merge(right, parts[0]);
        commutative += equal(left, right);
        merge(parts[2], parts[1]); /* (2 1) first, then 0 */
        merge(parts[2], parts[0]);
        associative += equal(left, parts[2]);
        merge(left, right);
        merge(left, parts[2]);
        idempotent += equal(left, right);
        rulebook_check(left);
        rulebook_check(parts[2]);
        for (unsigned p = 0; p < 3; p++)
            rulebook_destroy(&parts[p]);
        rulebook_destroy(&left);
        rulebook_destroy(&right);
        for (unsigned i = 0; i < POOL; i++)
            rule_version_release(&pool[i]);
    }
    OK_U64(defined, ROUNDS, "a book keeps the newest eight of a rule and its newest general one, no others");
    OK_U64(commutative, ROUNDS, "books merged in another order are the same");
    OK_U64(associative, ROUNDS, "however they are grouped");
    OK_U64(idempotent, ROUNDS, "and however often");
}

static void test_any_order(void)
{
    struct random random;
    unsigned same = 0;
    random_seed(&random, 21);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rulebook *first = new_book(), *second = new_book();
        draw_pool(&random);
        for (unsigned i = 0; i < POOL; i++)
            (void)rulebook_add(first, pool[i]);
        shuffle(pool, POOL, &random);
        for (unsigned i = 0; i < POOL; i++) {
            (void)rulebook_add(second, pool[i]);
            (void)rulebook_add(second, pool[random_below(&random, i + 1)]);
        }
        same += equal(first, second);
        rulebook_check(second);
        rulebook_destroy(&first);
        rulebook_destroy(&second);
        for (unsigned i = 0; i < POOL; i++)
            rule_version_release(&pool[i]);
    }
    OK_U64(same, ROUNDS, "versions heard in any order, some of them twice, make the same book");
}

int main(void)
{
    hash_key_from_secret(&hash_key, "secret", 6);
    test_records();
    test_history();
    test_order();
    test_limits();
    test_semilattice();
    test_any_order();
    return tap_done();
}
