/*
 * settings_shape compares the tree of a config with the table of keys, and says of an unknown key what may be meant.
 */
#include "edge/settings/settings_shape.h"

#include "base/nearest.h"
#include "edge/settings/settings_keys.h"

#include <stdio.h>
#include <string.h>

enum { KNOWN_BYTES = 256 };

static const struct settings_key *find(const char *group, struct bytes name)
{
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const char *its = settings_key_name(key, group);
        if (its && bytes_equal(bytes_of(its), name))
            return key;
    }
    return NULL;
}

/* ---- unknown keys ---- */

static const char *nearest_in(const char *group, struct bytes written)
{
    struct nearest nearest = {.written = written};
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const char *name = settings_key_name(key, group);
        if (name)
            nearest_try(&nearest, name);
    }
    return nearest.name;
}

/* The key of a map whose name or whole path somebody wrote at the top of the file; NULL: there is none. */
static const struct settings_key *find_within(struct bytes written)
{
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const char *dot = strchr(key->path, '.');
        if (dot && key->form != KEY_ENTRY &&
            (bytes_equal(bytes_of(dot + 1), written) || bytes_equal(bytes_of(key->path), written)))
            return key;
    }
    return NULL;
}

static bool list_known(const struct settings_reader *reader, const char *group)
{
    char known[KNOWN_BYTES];
    size_t size = 0;
    if (!group[0])
        return reader_is(reader, "",
                         "not a known key: expected one of config/headgated.yaml, such as node, region, listen, "
                         "peers or limits");
    for (const struct settings_key *key = settings_keys; key->path; key++) {
        const char *name = settings_key_name(key, group);
        int length = name ? snprintf(known + size, sizeof known - size, "%s%s", size > 0 ? ", " : "", name) : 0;
        if (length > 0 && size + (size_t)length < sizeof known)
            size += (size_t)length;
    }
    return reader_is(reader, "", "not a known key: expected one of %s", known);
}

static bool unknown_key(const struct settings_reader *reader, const char *group)
{
    const struct bytes written = reader->within->key;
    if (written.size == 0)
        return reader_fail(reader, "", "a key is empty: expected a word before the colon");
    if (yaml_is_rest_of_number(reader->within))
        return reader_is(reader, "", "not a known key: expected " YAML_NUMBER_EXPECTED);
    const char *near = nearest_in(group, written);
    if (near)
        return reader_is(reader, "", "not a known key: did you mean %s?", near);
    const struct settings_key *within = group[0] ? NULL : find_within(written);
    if (within) {
        const int size = (int)strcspn(within->path, ".");
        return reader_is(reader, "", "not a known key: expected %s within %.*s", within->path + size + 1, size,
                         within->path);
    }
    return list_known(reader, group);
}

/* ---- shapes ---- */

/* Of keys whose one value has several words: what the list of words is written like, or "" if it is no such list. */
static void join_words(const struct settings_reader *reader, const struct settings_key *key, char out[KNOWN_BYTES])
{
    static const char *const keys[] = {"users.roles", "users.services", "central.sentinels",
                                       "http.request_headers"};
    const struct yaml_node *list = reader->within;
    size_t size = 0;
    bool good = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && key && list->kind == YAML_LIST; i++)
        good = good || strcmp(keys[i], key->path) == 0;
    out[0] = '\0';
    for (const struct yaml_node *word = good ? yaml_first(list) : NULL; word && good;
         word = yaml_next(reader->tree, list, word)) {
        const int length = snprintf(out + size, KNOWN_BYTES - size, "%s%s", size > 0 ? ", " : "", word->text.data);
        size += (size_t)length;
        good = word->kind == YAML_TEXT && word->text.size > 0 && size < KNOWN_BYTES;
    }
    if (!good)
        out[0] = '\0';
}

static bool check_shape(const struct settings_reader *reader, const struct settings_key *key, enum key_form form)
{
    static const char *const is[] =
        {[YAML_TEXT] = "a single value", [YAML_MAP] = "a mapping", [YAML_LIST] = "a list"};
    const enum yaml_kind kind = reader->within->kind;
    const bool is_list = form == KEY_LIST || form == KEY_SECRETS;
    const enum yaml_kind wanted = form == KEY_MAP ? YAML_MAP : is_list ? YAML_LIST : YAML_TEXT;
    char words[KNOWN_BYTES];
    join_words(reader, key, words);
    if (kind != wanted && words[0])
        return reader_is(reader, "", "a list: expected one value, %s: %s%s%s", strrchr(key->path, '.') + 1,
                         strchr(words, ',') ? "\"" : "", words, strchr(words, ',') ? "\"" : "");
    if (kind != wanted)
        return reader_is(reader, "", "%s: expected %s", is[kind],
                         wanted == YAML_MAP    ? "a mapping of keys to values"
                         : wanted == YAML_LIST ? "a list, each entry after a dash"
                                               : "a single value");
    return reader->within->text.size <= SETTINGS_VALUE_BYTES ||
           reader_is(reader, "", "too long: expected at most %d bytes", SETTINGS_VALUE_BYTES);
}

/* The form of an entry of a list whose own form is that. */
static enum key_form form_within(enum key_form list, const struct yaml_node *entry)
{
    return list == KEY_SECRETS && entry->kind != YAML_MAP ? KEY_ENTRY : KEY_MAP;
}

/* `reader` is within a node of that form. A list holds maps; the keys of each are those of its group. */
static bool check_node(const struct settings_reader *reader, const struct settings_key *of, enum key_form form)
{
    const char *group = of ? of->path : "";
    const struct yaml_node *node = reader->within;
    unsigned index = 0;
    if (!check_shape(reader, of, form))
        return false;
    for (const struct yaml_node *at = yaml_first(node); at; at = yaml_next(reader->tree, node, at), index++) {
        struct settings_reader inner = *reader;
        inner.within = at;
        const struct settings_key *key = form == KEY_MAP ? find(group, at->key) : NULL;
        if (form == KEY_LIST && index == of->most)
            return reader_fail(&inner, "", "%s has too many entries: expected at most %u", group, index);
        if (form == KEY_MAP && !key)
            return unknown_key(&inner, group);
        if (!check_node(&inner, key ? key : of, key ? key->form : form_within(form, at)))
            return false;
    }
    return true;
}

bool settings_check_keys(const struct settings_reader *reader)
{
    return check_node(reader, NULL, KEY_MAP);
}
