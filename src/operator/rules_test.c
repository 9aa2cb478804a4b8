/*
 * headgate rules test: requests with the verdicts that are expected of rules, without a daemon.
 *
 * A file of cases names the files of its rules, beside it. Each case begins in a world of its own (rules_world.h), asks
 * and waits, and ends at its first wrong answer, with one sentence.
 */
#include "base/units.h"
#include "base/yaml_tree.h"
#include "edge/process/text_file.h"
#include "operator/json.h"
#include "operator/rules.h"
#include "operator/rules_overrides.h"
#include "operator/rules_world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum { CASES_TEXT_MAX_BYTES = 1024 * 1024, CASES_NODES_MAX = 100000, TIMES_MAX = 100000, PATH_BYTES = 4096 };

struct run {
    const char *name; /* of the command */
    const char *file; /* of cases */
    struct yaml_tree tree;
    struct error error; /* what is wrong with a file; the run ends */
    struct json *json;  /* NULL: sentences */
    uint64_t cases, wrong;
};

/* A mistake in the file of cases. */
__attribute__((format(printf, 3, 4))) static bool mistake(struct run *run, const struct yaml_node *node,
                                                          const char *format, ...)
{
    char text[ERROR_TEXT_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(&run->error, EX_DATAERR, "%s:%u: %s", run->file, node->line, text);
}

/* ---- one step ---- */

enum field { ASK, EXPECT, RULE, REMAINING, RETRY_AFTER, TAKEN, TIMES, WAIT, FIELDS };
static const char *const field_names[FIELDS] = {"ask",         "expect", "rule",  "remaining",
                                                "retry_after", "taken",  "times", "wait"};

enum expected { ALLOWED, REFUSED, OVER };
static const char *const expected_names[] = {"allowed", "refused", "over"};

struct step {
    const struct yaml_node *node, *field[FIELDS]; /* NULL: it is not there */
    int expected;
    uint64_t remaining, retry_ms, taken, times, wait_ns;
    bool never;
};

static int find_name(struct bytes text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (bytes_equal(text, bytes_of(names[i])))
            return i;
    return -1;
}

static bool read_fields(struct run *run, const struct yaml_node *node, struct step *step)
{
    *step = (struct step){.node = node, .times = 1};
    if (node->kind != YAML_MAP)
        return mistake(run, node, "a step is no map: expected {ask: ..., expect: ...} or {wait: ...}");
    for (const struct yaml_node *child = yaml_first(node); child; child = yaml_next(&run->tree, node, child)) {
        const int field = find_name(child->key, field_names, FIELDS);
        if (field < 0)
            return mistake(run, child,
                           "'%.*s' is not known here: expected ask, expect, rule, remaining, retry_after, taken, "
                           "times or wait",
                           (int)child->key.size, child->key.data);
        if (child->kind != YAML_TEXT)
            return mistake(run, child, "%s is a list or a map: expected one value", field_names[field]);
        step->field[field] = child;
    }
    if (step->field[WAIT] ? node->count != 1 : !step->field[ASK] || !step->field[EXPECT])
        return mistake(run, node, "expected ask and expect in a step, or wait alone");
    return true;
}

static bool read_count(struct run *run, const struct yaml_node *node, uint64_t least, uint64_t most,
                       uint64_t *count)
{
    if (!node || (units_parse_count(node->text, count) && *count >= least && *count <= most))
        return true;
    return mistake(run, node, "%s is '%s': expected a whole number from %" PRIu64 " to %" PRIu64, node->key.data,
                   node->text.data, least, most);
}

static bool read_duration(struct run *run, const struct yaml_node *node, uint64_t *ns)
{
    if (!node || (units_parse_duration(node->text, ns) && *ns <= (uint64_t)366 * 86400 * 1000000000))
        return true;
    return mistake(run, node, "%s is '%s': expected a duration of at most 366d, such as 600ms or 1h",
                   node->key.data, node->text.data);
}

static bool read_step(struct run *run, const struct yaml_node *node, struct step *step)
{
    uint64_t retry_ns = 0;
    if (!read_fields(run, node, step))
        return false;
    const struct yaml_node *expect = step->field[EXPECT], *retry = step->field[RETRY_AFTER];
    step->expected = expect ? find_name(expect->text, expected_names, 3) : 0;
    if (step->expected < 0)
        return mistake(run, expect, "expect is '%s': expected allowed, refused or over", expect->text.data);
    if (retry && step->expected != REFUSED)
        return mistake(run, retry, "retry_after is of refusals: expected expect: refused beside it");
    step->never = retry && bytes_equal(retry->text, bytes_of("never"));
    if (!read_count(run, step->field[REMAINING], 0, 1000000000000, &step->remaining) ||
        !read_count(run, step->field[TAKEN], 0, 1000000000000, &step->taken) ||
        !read_count(run, step->field[TIMES], 1, TIMES_MAX, &step->times) ||
        !read_duration(run, step->field[WAIT], &step->wait_ns) ||
        (!step->never && !read_duration(run, retry, &retry_ns)))
        return false;
    step->retry_ms = retry_ns / 1000000;
    return true;
}

/* ---- answers ---- */

static bool is_as_expected(const struct step *step, const struct rules_answer *answer)
{
    const struct yaml_node *rule = step->field[RULE];
    if (answer->allowed != (step->expected != REFUSED) || answer->over_limit != (step->expected == OVER))
        return false;
    if (rule && strcmp(rule->text.data, answer->rule) != 0)
        return false;
    if (step->field[REMAINING] && answer->remaining != (int64_t)step->remaining)
        return false;
    if (step->field[TAKEN] && answer->taken != (int64_t)step->taken)
        return false;
    return !step->field[RETRY_AFTER] || answer->retry_after_ms == (step->never ? -1 : (int64_t)step->retry_ms);
}

enum { TEXT_BYTES = 512 };

static void print_expected(const struct step *step, char text[TEXT_BYTES])
{
    int size = snprintf(text, TEXT_BYTES, "%s", expected_names[step->expected]);
    for (enum field field = RULE; field <= TAKEN; field++)
        if (step->field[field] && size < TEXT_BYTES)
            size += snprintf(text + size, (size_t)(TEXT_BYTES - size), ", %s %s", field_names[field],
                             step->field[field]->text.data);
}

static void print_answer(const struct rules_answer *answer, char text[TEXT_BYTES])
{
    char retry[64] = "", taken[48] = "";
    if (answer->taken >= 0)
        (void)snprintf(taken, sizeof taken, ", taken %" PRId64, answer->taken);
    if (!answer->allowed && answer->retry_after_ms < 0)
        (void)snprintf(retry, sizeof retry, ", retry_after never");
    else if (!answer->allowed)
        (void)snprintf(retry, sizeof retry, ", retry_after %" PRId64 "ms", answer->retry_after_ms);
    const char *verdict = expected_names[answer->over_limit ? OVER : answer->allowed ? ALLOWED : REFUSED];
    if (answer->limit < 0)
        (void)snprintf(text, TEXT_BYTES, "%s, since no rule counts it%s", verdict, taken);
    else
        (void)snprintf(text, TEXT_BYTES, "%s, rule %s, remaining %" PRId64 " of %" PRId64 "%s%s", verdict,
                       answer->rule, answer->remaining, answer->limit, retry, taken);
}

static void tell_wrong(struct run *run, const char *case_name, const struct step *step, uint64_t time,
                       const struct rules_answer *answer)
{
    char expected[TEXT_BYTES], got[TEXT_BYTES], which[32] = "";
    print_expected(step, expected);
    print_answer(answer, got);
    if (step->times > 1)
        (void)snprintf(which, sizeof which, " (time %" PRIu64 ")", time);
    run->wrong++;
    if (!run->json) {
        printf("%s:%u: %s: %s%s: expected %s; got %s\n", run->file, step->node->line, case_name,
               step->field[ASK]->text.data, which, expected, got);
        return;
    }
    json_open(run->json, NULL, '{');
    json_string(run->json, "file", run->file);
    json_count(run->json, "line", step->node->line);
    json_string(run->json, "case", case_name);
    json_string(run->json, "ask", step->field[ASK]->text.data);
    json_count(run->json, "time", time);
    json_string(run->json, "expected", expected);
    json_string(run->json, "got", got);
    json_close(run->json, '}');
}

/* ---- one case ---- */

/* False: a mistake, see run->error. *goes_on: all answers were as expected. */
static bool take_step(struct run *run, struct rules_world *world, const char *case_name,
                      const struct yaml_node *node, bool *goes_on)
{
    struct step step;
    struct rules_answer answer;
    struct error error;
    if (!read_step(run, node, &step))
        return false;
    if (step.field[WAIT]) {
        rules_world_wait(world, step.wait_ns);
        return true;
    }
    for (uint64_t time = 1; time <= step.times && *goes_on; time++) {
        if (!rules_world_ask(world, step.field[ASK]->text.data, &answer, &error))
            return mistake(run, node, "ask is '%s': %s", step.field[ASK]->text.data, error.text);
        struct step seen = step;
        if (time < step.times)
            seen.field[REMAINING] = seen.field[RETRY_AFTER] = seen.field[TAKEN] =
                NULL; /* what the last answer says */
        *goes_on = is_as_expected(&seen, &answer);
        if (!*goes_on)
            tell_wrong(run, case_name, &step, time, &answer);
    }
    return true;
}

/* The path of a file that is named in the file of cases: beside it. */
static bool beside(const struct run *run, const char *name, char path[PATH_BYTES])
{
    const char *slash = strrchr(run->file, '/');
    const int directory = slash && name[0] != '/' ? (int)(slash - run->file) + 1 : 0;
    return snprintf(path, PATH_BYTES, "%.*s%s", directory, run->file, name) < PATH_BYTES;
}

/* A daemon that is alone has the whole of each limit: a home, or weights of regions, say how several share it. */
static void set_alone(struct rule *rule)
{
    rule->home = bytes_of("");
    rule->home_none = false;
    rule->weights_count = 0;
    rule->weights_number = 0;
}

static bool apply_list(struct run *run, struct rules_world *world, const struct rule_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        set_alone(list->rule[i]);
    const struct rule *const *rules = (const struct rule *const *)list->rule;
    const size_t size = rules_print(rules, list->count, NULL, 0);
    char *text = malloc(size + 1);
    if (!text)
        return error_set(&run->error, EX_OSERR, "not enough memory");
    (void)rules_print(rules, list->count, text, size + 1);
    const bool applied = rules_world_apply(world, (struct bytes){text, size}, path, &run->error);
    free(text);
    return applied;
}

static bool apply_file(struct run *run, struct rules_world *world, const struct yaml_node *node)
{
    char path[PATH_BYTES];
    size_t size = 0;
    if (node->kind != YAML_TEXT || !beside(run, node->text.data, path))
        return mistake(run, node, "expected the name of a file of rules");
    char *text = text_file_read(path, RULES_TEXT_MAX_BYTES, "a file of rules", &size, &run->error);
    struct rule_list list = {0};
    const bool applied = text && rules_parse((struct bytes){text, size}, path, &list, &run->error) &&
                         rules_overrides_read(&list, path, &run->error) && apply_list(run, world, &list, path);
    rules_close(&list);
    free(text);
    return applied;
}

static bool apply_rules(struct run *run, struct rules_world *world, const struct yaml_node *rules)
{
    bool good = true;
    if (rules->kind != YAML_LIST)
        return apply_file(run, world, rules);
    for (const struct yaml_node *one = yaml_first(rules); one && good; one = yaml_next(&run->tree, rules, one))
        good = apply_file(run, world, one);
    return good;
}

static const struct yaml_node *child_of(const struct run *run, const struct yaml_node *map, const char *key,
                                        enum yaml_kind kind)
{
    if (map->kind == YAML_MAP)
        for (const struct yaml_node *child = yaml_first(map); child; child = yaml_next(&run->tree, map, child))
            if (bytes_equal(child->key, bytes_of(key)))
                return child->kind == kind ? child : NULL;
    return NULL;
}

static bool run_case(struct run *run, const struct yaml_node *rules, const struct yaml_node *node)
{
    const struct yaml_node *name = child_of(run, node, "name", YAML_TEXT);
    const struct yaml_node *steps = child_of(run, node, "steps", YAML_LIST);
    bool goes_on = true;
    if (!name || !steps || node->count != 2)
        return mistake(run, node, "expected a case: its name, and a list of steps");
    struct rules_world *world = rules_world_create(&run->error);
    bool good = world && apply_rules(run, world, rules);
    for (const struct yaml_node *step = yaml_first(steps); good && goes_on && step;
         step = yaml_next(&run->tree, steps, step))
        good = take_step(run, world, name->text.data, step, &goes_on);
    rules_world_destroy(&world);
    run->cases++;
    return good;
}

/* ---- a file ---- */

static bool run_tree(struct run *run)
{
    const struct yaml_node *root = run->tree.nodes;
    if (run->tree.count == 0)
        return error_set(&run->error, EX_DATAERR, "%s is empty: expected rules and cases", run->file);
    const struct yaml_node *cases = child_of(run, root, "cases", YAML_LIST);
    const struct yaml_node *rules = child_of(run, root, "rules", YAML_LIST);
    rules = rules ? rules : child_of(run, root, "rules", YAML_TEXT);
    bool good = true;
    if (!rules || !cases || root->count != 2)
        return mistake(run, root, "expected rules, files beside this one, and a list of cases");
    for (const struct yaml_node *one = yaml_first(cases); one && good; one = yaml_next(&run->tree, cases, one))
        good = run_case(run, rules, one);
    return good;
}

static bool run_file(struct run *run)
{
    size_t size = 0;
    char *text = text_file_read(run->file, CASES_TEXT_MAX_BYTES, "a file of cases", &size, &run->error);
    const struct yaml_source source = {.text = {text, size},
                                       .file = run->file,
                                       .exit_status = EX_DATAERR,
                                       .nodes_max = CASES_NODES_MAX};
    const bool is_short = size <= CASES_TEXT_MAX_BYTES;
    if (text && !is_short)
        (void)error_set(&run->error, EX_DATAERR, "%s has more than %d bytes", run->file, CASES_TEXT_MAX_BYTES);
    run->tree = (struct yaml_tree){0};
    const bool good = text && is_short && yaml_tree_read(&run->tree, &source, &run->error) && run_tree(run);
    yaml_tree_close(&run->tree);
    free(text);
    return good;
}

int rules_test(struct rules_invocation *invocation)
{
    struct run run = {.name = invocation->name};
    struct json json;
    bool good = true;
    if (invocation->json) {
        if (!json_draft(&json, '{'))
            return command_no_memory(invocation->name);
        run.json = &json;
        json_open(&json, "wrong", '[');
    }
    for (uint32_t i = 0; i < invocation->word_count && good; i++) {
        run.file = invocation->word[i];
        good = run_file(&run);
    }
    if (invocation->json) {
        json_close(&json, ']');
        json_count(&json, "cases", run.cases);
        json_close(&json, '}');
        json_end_draft(&json, good);
    }
    if (!good) {
        fprintf(stderr, "headgate %s: %s\n", run.name, run.error.text);
        return run.error.exit_status;
    }
    if (!invocation->json)
        printf("%" PRIu64 " case%s, %" PRIu64 " wrong\n", run.cases, run.cases == 1 ? "" : "s", run.wrong);
    return run.wrong > 0 ? EXIT_FAILURE : EX_OK;
}
