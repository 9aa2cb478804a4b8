/*
 * Every rule that people may copy is right, and lets something through at each of three even regions: config/rules/
 * and the blocks of docs/rules.md and docs/central.md, read from the top of the sources. What they do is tried out in
 * tests/e2e/rules_examples.t.
 */
#include "rules/rule_reach.h"
#include "rules/rule_text.h"
#include "tests/lib/tap.h"

#include <dirent.h>
#include <stdlib.h>

enum { FILE_MAX_BYTES = 256 * 1024 };

static char content[FILE_MAX_BYTES], printed[FILE_MAX_BYTES], again[FILE_MAX_BYTES];

static struct bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(content, 1, sizeof content - 1, file) : 0;
    if (file)
        (void)fclose(file);
    content[size] = '\0';
    return (struct bytes){content, size};
}

static void right(struct bytes text, const char *name)
{
    struct rule_list list;
    struct error error = {0};
    bool good = rules_parse(text, name, &list, &error);
    if (!OK(good && list.count > 0, "%s has %zu rules", name, list.count))
        printf("# %s\n", error.text);
    const uint64_t third = SHARE_ONE * 33 / 100, shares[] = {third, third, third};
    struct reach_peers peers = {3, shares, false, NULL, false, NULL};
    enum rule_reach reach = RULE_REACHES;
    for (size_t i = 0; i < list.count && reach == RULE_REACHES; i++) {
        peers.grants = list.rule[i]->home.size > 0 || list.rule[i]->weights_count > 0;
        reach = rule_reach(list.rule[i], &peers, &error);
    }
    if (!OK(reach == RULE_REACHES, "... of three daemons each admits something"))
        printf("# %s\n", error.text);
    size_t size = rules_print((const struct rule *const *)list.rule, list.count, printed, sizeof printed);
    rules_close(&list);
    if (!good)
        return;
    good = rules_parse((struct bytes){printed, size}, name, &list, &error);
    OK(good && rules_print((const struct rule *const *)list.rule, list.count, again, sizeof again) == size &&
           memcmp(printed, again, size) == 0,
       "... the same when they are written");
    rules_close(&list);
}

static void directory(const char *path)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    OK(count > 2, "there are examples in %s", path);
    for (int i = 0; i < count; i++) {
        char file[512];
        (void)snprintf(file, sizeof file, "%s/%.255s", path, names[i]->d_name);
        if (strstr(names[i]->d_name, ".yaml"))
            right(read_file(file), file);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* ```yaml ... ``` */
static void blocks(const char *path)
{
    static const char opening[] = "\n```yaml\n", closing[] = "\n```";
    unsigned count = 0;
    struct bytes text = read_file(path);
    const char *at = text.data;
    for (const char *end; (at = strstr(at, opening)) && (end = strstr(at += sizeof opening - 1, closing));
         at = end) {
        char name[64];
        (void)snprintf(name, sizeof name, "block %u of %s", ++count, path);
        right((struct bytes){at, (size_t)(end + 1 - at)}, name);
    }
    OK(count > 0, "%s has examples", path);
}

int main(void)
{
    directory("config/rules");
    blocks("docs/rules.md");
    blocks("docs/central.md");
    return tap_done();
}
