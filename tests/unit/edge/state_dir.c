#include "edge/store/state_dir.h"

#include "tests/lib/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[200];

static const char *below(const char *name)
{
    static char path[2][300];
    static int turn;
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", scratch, name);
    return path[turn];
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static enum state_dir find(const char *wanted, const char *systemd, const char *parent, const char *node,
                           char *path, struct error *error)
{
    struct state_dir_options options = {.wanted = wanted, .systemd = systemd, .parent = parent, .node = node};
    error->text[0] = '\0';
    return state_dir_find(&options, path, error);
}

int main(void)
{
    char path[STATE_DIR_BYTES], expected[600];
    struct error error = {0};
    const char *directory = getenv("TMPDIR");
    (void)snprintf(scratch, sizeof scratch, "%.100s/headgate-state-XXXXXX", directory ? directory : "/tmp");
    if (!mkdtemp(scratch))
        return 1;

    OK(find("none", "/x", "/y", "a", path, &error) == STATE_DIR_OFF, "none: nothing is kept");
    OK(find(below("one/two"), "/x", "/y", "a", path, &error) == STATE_DIR_READY && is_directory(below("one/two")) &&
           strcmp(path, below("one/two")) == 0,
       "a directory that is asked for is made, with its parents");
    OK(find(below("one/two"), NULL, "/y", "a", path, &error) == STATE_DIR_READY, "or is there already");

    (void)snprintf(expected, sizeof expected, "%s:%s", below("systemd"), below("second"));
    OK(find("", expected, "/y", "a", path, &error) == STATE_DIR_READY && strcmp(path, below("systemd")) == 0 &&
           is_directory(path) && !is_directory(below("second")),
       "systemd's first directory comes next");
    OK(find("", NULL, below("lib"), "us-east", path, &error) == STATE_DIR_READY &&
           strcmp(path, below("lib/us-east")) == 0 && is_directory(path),
       "then one with the node's name");
    OK(find("", "", below("lib"), "us-east", path, &error) == STATE_DIR_READY, "also where systemd's is empty");

    FILE *file = fopen(below("file"), "w");
    if (file)
        (void)fclose(file);
    (void)snprintf(expected, sizeof expected,
                   "state_dir is '%s': expected a directory that can be made and written (Not a directory)",
                   below("file"));
    OK(find(below("file"), NULL, "/y", "a", path, &error) == STATE_DIR_WRONG && strcmp(error.text, expected) == 0 &&
           error.exit_status == 73,
       "%s", error.text);
    OK(find("", below("file/x"), "/y", "a", path, &error) == STATE_DIR_WRONG &&
           strstr(error.text, "$STATE_DIRECTORY is '"),
       "%s", error.text);
    (void)snprintf(expected, sizeof expected, "no state_dir is given, and %s cannot be used (Not a directory)",
                   below("file/a"));
    OK(find("", NULL, below("file"), "a", path, &error) == STATE_DIR_NONE && strcmp(error.text, expected) == 0,
       "%s", error.text);
    OK(find("", NULL, below("lib"), "..", path, &error) == STATE_DIR_NONE, "%s", error.text);
    char long_name[STATE_DIR_BYTES + 10];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    OK(find(long_name, NULL, "/y", "a", path, &error) == STATE_DIR_WRONG && strstr(error.text, "too long"),
       "a path that is too long is refused");

    (void)chmod(below("one/two"), 0777);
    OK(find(below("one/two"), NULL, "/y", "a", path, &error) == STATE_DIR_READY &&
           strcmp(error.text, "others may write it (mode 0777): expected 0750 or less") == 0,
       "a directory that others may write is told of");
    (void)chmod(below("one/two"), 0755);
    OK(find(below("one/two"), NULL, "/y", "a", path, &error) == STATE_DIR_READY && error.text[0] == '\0',
       "one that they may read is not");

    (void)unlink(below("file"));
    const char *made[] = {"one/two", "one", "systemd", "lib/us-east", "lib", ""};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        (void)rmdir(below(made[i]));
    return tap_done();
}
