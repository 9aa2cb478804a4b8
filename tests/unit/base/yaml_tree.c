/* One reader of YAML: what becomes a tree, with which lines and paths, and what is refused with which sentence. */
#include "base/yaml_tree.h"

#include "tests/lib/tap.h"

#include <stdlib.h>
#include <sysexits.h>

enum { NODES_MAX = 1000, TRANSCRIPT_BYTES = 4096 };

/* Every node of the tree as "LINE PATH=TEXT", "LINE PATH{COUNT}" or "LINE PATH[COUNT]"; or the sentence. */
static void transcribe(char out[TRANSCRIPT_BYTES], struct bytes text, bool strict, unsigned slice)
{
    struct yaml_tree tree;
    struct error error = {0};
    const struct yaml_source source = {.text = text,
                                       .file = "f",
                                       .exit_status = EX_CONFIG,
                                       .nodes_max = NODES_MAX,
                                       .strict = strict};
    bool good = true, ended = slice == 0;
    size_t size = 0;
    if (slice == 0)
        good = yaml_tree_read(&tree, &source, &error);
    struct yaml_reader *reader = slice > 0 ? yaml_reader_create(&tree, &source) : NULL;
    while (good && !ended)
        good = yaml_reader_go_on(reader, slice, &ended, &error);
    yaml_reader_destroy(&reader);
    out[0] = '\0';
    if (!good)
        (void)snprintf(out, TRANSCRIPT_BYTES, "%s%s", error.text,
                       error.exit_status == EX_CONFIG ? "" : " (status)");
    for (uint32_t i = 0; good && i < tree.count && size < TRANSCRIPT_BYTES; i++) {
        const struct yaml_node *node = &tree.nodes[i];
        char path[YAML_TREE_PATH_BYTES], count[16];
        (void)snprintf(count, sizeof count, node->kind == YAML_MAP ? "{%u}" : "[%u]", node->count);
        size +=
            (size_t)snprintf(out + size, TRANSCRIPT_BYTES - size, "%s%u %s%s%s", i > 0 ? "; " : "", node->line,
                             yaml_path(&tree, node, path), node->kind == YAML_TEXT ? "=" : count, node->text.data);
    }
    yaml_tree_close(&tree);
}

/* The same in slices of one event. */
static void is(const char *yaml, size_t size, bool strict, const char *expected)
{
    static char whole[TRANSCRIPT_BYTES], sliced[TRANSCRIPT_BYTES];
    transcribe(whole, (struct bytes){yaml, size}, strict, 0);
    transcribe(sliced, (struct bytes){yaml, size}, strict, 1);
    OK_STRING(whole, expected, "%s", expected);
    if (strcmp(whole, sliced) != 0)
        OK_STRING(sliced, whole, "... in slices");
}

struct reading {
    const char *yaml, *expected;
};

static const struct reading trees[] = {
    {"", ""},
    {"# nothing\n", ""},
    {"a", "1 =a"},
    {"---\n...\n", "2 ="},
    {"a: 1\nb:\n  c: 2\n  d: [x, y]\ne: ''\n",
     "1 {3}; 1 a=1; 2 b{2}; 3 b.c=2; 4 b.d[2]; 4 b.d[0]=x; 4 b.d[1]=y; 5 e="},
    {"- a: 1\n  b: 2\n-\n  - c\n- {}\n", "1 [3]; 1 [0]{2}; 1 [0].a=1; 2 [0].b=2; 4 [1][1]; 4 [1][0]=c; 5 [2]{0}"},
    /* JSON may say a character by two escapes */
    {"{\"a\": \"x\\ud83d\\ude00y\", \"\\uD83D\\uDE00\":[\n\"\\\\ud83d\\\\ude00\", -1.5E+3, true]}",
     "1 {2}; 1 a=x\xf0\x9f\x98\x80y; 1 \xf0\x9f\x98\x80[3]; 2 \xf0\x9f\x98\x80[0]=\\ud83d\\ude00; "
     "2 \xf0\x9f\x98\x80[1]=-1.5E+3; 2 \xf0\x9f\x98\x80[2]=true"},
    {" [\"\\\"\\ud83d\\ude00\"]", "1 [1]; 1 [0]=\"\xf0\x9f\x98\x80"},
    {"{\"a\": \"\\ude00\\ud83d\"}",
     "f:1: this is not YAML (found invalid Unicode character escape code, column 10): expected `key: value`"},
    {"{\"a\": \"\\ud83d\\ude00\", \"b\": \"\\ud83d\"}",
     "f:1: this is not YAML (found invalid Unicode character escape code, column 29): expected `key: value`"},
    {"{a: '\\ud83d\\ude00'}", "1 {1}; 1 a=\\ud83d\\ude00"},
    {"{a: b\"\\ud83d\\ude00\"}", "1 {1}; 1 a=b\"\\ud83d\\ude00\""},
    {"{\"a\": \"\\ud83d\\ude00}", "f:1: this is not YAML (found invalid Unicode character escape code, column 10): "
                                   "expected `key: value`"},
    {"a: \\ud83d\\ude00\n", "1 {1}; 1 a=\\ud83d\\ude00"},
    {"{\"a\": [1, {\"b\": true}]}", "1 {1}; 1 a[2]; 1 a[0]=1; 1 a[1]{1}; 1 a[1].b=true"},
    /* The line of a value is that of its key. */
    {"a:\n\n\n  1\n", "1 {1}; 1 a=1"},
    {"a: >-\n  b\n  c\nd: |-\n  e\n", "1 {2}; 1 a=b c; 4 d=e"},
    /* However lines end, and whatever an editor puts first. */
    {"a: 1\r\nb: 2\r\n", "1 {2}; 1 a=1; 2 b=2"},
    {"a: 1\rb: 2\r", "1 {2}; 1 a=1; 2 b=2"},
    {"a: 1\n\r\nb: 2", "1 {2}; 1 a=1; 3 b=2"},
    {"\xef\xbb\xbf"
     "a: 1\n",
     "1 {1}; 1 a=1"},
    {"a:\t1\n", "1 {1}; 1 a=1"},
    {"%YAML 1.1\n---\na: 1\n...\n", "3 {1}; 3 a=1"},
    /* Dots and brackets in keys are no paths: only sentences show them so. */
    {"a.b: 1\na: {b: 2}\n", "1 {2}; 1 a.b=1; 2 a{1}; 2 a.b=2"},
    {"\"a\\nb\\e\": 1\n", "1 {1}; 1 a?b?=1"},
    {"\"\\xe4\\u2028\": 1\n", "1 {1}; 1 \xc3\xa4?=1"},
    {"{[[[[[[x]]]]]]: 1}", "f:1: a key is itself a list or a map: expected a word"},

    {"a: &x 1\nb: !!str 2\nc: !own {}\nd: &y []\n", "1 {4}; 1 a=1; 2 b=2; 3 c{0}; 4 d[0]"},
    {"a: 1\nb: *x\n", "f:2: an alias (*) is used: expected the value itself, in quotes if it begins with *"},
    {"a: 1\n---\nb: 2\n", "f:2: a second document (---) begins: expected one"},
    {"a: 1\nb: 2\n\na: 3\n", "f:4: a is given twice, first in line 1: expected it once"},
    {"a: {b: [{c: 1, d: 2}, {c: 1, d: 2, c: 3}]}",
     "f:1: a.b[1].c is given twice, first in line 1: expected it once"},
    {"a:\n- b: 1\n- b: 2\n  '': 3\n  '': 4\n", "f:5: a[1]. is given twice, first in line 4: expected it once"},
    {"{a: \"null\", '~': 'null', null: nullable, b: [~x, nULL]}",
     "1 {4}; 1 a=null; 1 ~=null; 1 null=nullable; 1 b[2]; 1 b[0]=~x; 1 b[1]=nULL"},
    {"a: 1\nb: ~\n", "f:2: b is null: expected a value, in quotes if it is that word, or no such line"},
    {"{\"a\": [1,\nnull]}", "f:2: a[1] is null: expected a value, in quotes if it is that word, or no such line"},
    {"a: {b: Null}", "f:1: a.b is null: expected a value, in quotes if it is that word, or no such line"},
    {"NULL", "f:1: the text is null: expected a value, in quotes if it is that word, or no such line"},
    {"? a\n: 1\n? a\n: 2\n", "f:3: a is given twice, first in line 1: expected it once"},
    {"\"x\\0y\"\n", "f:1: the text has a character that cannot be printed: expected plain text"},
    {"a:\n- b: [x, \"x\\0y\"]\n", "f:2: a[0].b[1] has a character that cannot be printed: expected plain text"},
    {"a: \"x\\0y\"\n", "f:1: a has a character that cannot be printed: expected plain text"},
    {"a: 1\n\"b\\0\": 2\n", "f:2: a key has a character that cannot be printed: expected plain text"},
    {"[[[[[[[[1]]]]]]]]", "1 [1]; 1 [0][1]; 1 [0][0][1]; 1 [0][0][0][1]; 1 [0][0][0][0][1]; 1 [0][0][0][0][0][1]; "
                          "1 [0][0][0][0][0][0][1]; 1 [0][0][0][0][0][0][0][1]; 1 [0][0][0][0][0][0][0][0]=1"},
    {"a: 1\nb: [[[[[[[[1]]]]]]]]", "f:2: this is nested too deep: expected at most 8 levels"},

    {"a: 1\n  b: 2\n",
     "f:2: this is not YAML (mapping values are not allowed in this context, column 4): expected `key: value`"},
    {"a:\n  b: 1\n c: 2\n", "f:3: this is not YAML (did not find expected key, column 2): expected `key: value`"},
    {"a: [1, 2\nb: 3\n",
     "f:2: this is not YAML (did not find expected ',' or ']', column 2): expected `key: value`"},
    {"a: 'b\n\nc", "f:3: this is not YAML (found unexpected end of stream, column 2): expected `key: value`"},
    {"a: @b\n",
     "f:1: this is not YAML (found character that cannot start any token, column 4): expected `key: value`"},
    {"a: 1\n\tb: 2\n", "f:2: a tab is used for indentation: expected spaces"},
    {"a:\n  b: 1\n  \tc: 2\n", "f:3: a tab is used for indentation: expected spaces"},
    {"a:\n-\tb: 1\n\t  c: 2\n", "f:2: a tab is used for indentation: expected spaces"},
    {"a: 1\r\tb: 2\r", "f:2: a tab is used for indentation: expected spaces"},
    {"a: 1\nb: \x01\n",
     "f:2: this is not text (control characters are not allowed at byte 8): expected YAML in UTF-8"},
    {"a: 1\r\nb: \xff\n", "f:2: this is not text (invalid leading UTF-8 octet at byte 9): expected YAML in UTF-8"},
    {"a: 1\rb: \xc3(\n", "f:2: this is not text (invalid trailing UTF-8 octet at byte 9): expected YAML in UTF-8"},
};

static const struct reading strict_trees[] = {
    {"a: [1, b: 2]\n", "1 {1}; 1 a[2]; 1 a[0]=1; 1 a[1]{1}; 1 a[1].b=2"},
    {"a: &x 1\n", "f:1: a tag (!) or an anchor (&) is used: expected plain values"},
    {"a: 1\nb: !!str 2\n", "f:2: a tag (!) or an anchor (&) is used: expected plain values"},
    {"a: !own {}\n", "f:1: a tag (!) or an anchor (&) is used: expected plain values"},
    {"a: &y []\n", "f:1: a tag (!) or an anchor (&) is used: expected plain values"},
    {"a: \"b\\nc\"\n", "f:1: a has a character that cannot be printed: expected plain text"},
    {"\"a\\u2028\": 1\n", "f:1: a key has a character that cannot be printed: expected plain text"},
};

static void reads(void)
{
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++)
        is(trees[i].yaml, strlen(trees[i].yaml), false, trees[i].expected);
    for (size_t i = 0; i < sizeof strict_trees / sizeof strict_trees[0]; i++)
        is(strict_trees[i].yaml, strlen(strict_trees[i].yaml), true, strict_trees[i].expected);
    is(NULL, 0, false, "");
    is("a: b\0c\n", 7, false,
       "f:1: this is not text (control characters are not allowed at byte 4): expected YAML in UTF-8");
    is("\xff\xfe\x61\0:\0 \0\x31\0\n\0", 12, false, "1 {1}; 1 a=1");
    is("\xff\xfe\x61\0:\0 \0\x31\0\n\0", 12, true,
       "f:1: this is not text (invalid leading UTF-8 octet at byte 0): expected YAML in UTF-8");
}

/* `count` times `line`, with its number where the line has one, within `room` bytes. */
static size_t repeat(char *out, size_t room, const char *line, unsigned count)
{
    size_t size = 0;
    for (unsigned i = 0; i < count; i++)
        size += (size_t)snprintf(out + size, room - size, "%s%u%s", line, i, line[0] == '-' ? "\n" : ": 1\n");
    return size;
}

static void bounds(void)
{
    static char yaml[300000], out[TRANSCRIPT_BYTES];
    is(yaml, repeat(yaml, sizeof yaml, "k", YAML_TREE_KEYS_MAX + 1), false,
       "f:65: a map has too many keys: expected at most 64");
    is(yaml, repeat(yaml, sizeof yaml, "- v", NODES_MAX), false,
       "f:1000: there are too many keys and values: expected at most 1,000");
    transcribe(out, (struct bytes){yaml, repeat(yaml, sizeof yaml, "- v", NODES_MAX - 1)}, false, 0);
    OK(strncmp(out, "1 [999]; 1 [0]=v0; 2 [1]=v1;", 28) == 0, "1,000 nodes, the list counted");
    memset(yaml, '[', sizeof yaml);
    is(yaml, sizeof yaml, false, "f:1: this is nested too deep: expected at most 8 levels");
    memset(yaml, 'x', sizeof yaml);
    transcribe(out, (struct bytes){yaml, sizeof yaml}, true, 0);
    OK(strlen(out) == TRANSCRIPT_BYTES - 1, "a text is as long as the file");
    memset(yaml, '\0', sizeof yaml);
    is(yaml, sizeof yaml, false,
       "f:1: this is not text (control characters are not allowed at byte 0): expected YAML in UTF-8");
}

/* Long keys are cut in sentences, between characters, and a long path ends where there is no more room. */
static void long_paths(void)
{
    static char yaml[2000], key[100], expected[YAML_TREE_PATH_BYTES + 100];
    for (size_t i = 0; i + 1 < sizeof key; i += 3)
        memcpy(key + i, "\xe2\x82\xac", 3); /* 33 times the sign of the euro; 21 of them are 63 bytes */
    (void)snprintf(yaml, sizeof yaml, "{%s: {%s: {b: {c: {d: 1, d: 2}}}}}", key, key);
    (void)snprintf(expected, sizeof expected,
                   "f:1: %.63s.%.63s.b.c.d is given twice, first in line 1: expected it once", key, key);
    is(yaml, strlen(yaml), true, expected);
    (void)snprintf(yaml, sizeof yaml, "{%s: {%s: {%s: {%s: 1, %s: 2}}}}", key, key, key, key, key);
    (void)snprintf(expected, sizeof expected,
                   "f:1: %.63s.%.63s.%.30s. is given twice, first in line 1: expected it once", key, key, key);
    is(yaml, strlen(yaml), true, expected);
}

int main(void)
{
    reads();
    bounds();
    long_paths();
    return tap_done();
}
