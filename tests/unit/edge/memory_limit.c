/* The limits of control groups, of both versions, in files below a directory of the test. */
#include "edge/process/memory_limit.h"

#include "tests/lib/tap.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/headgate-memory-XXXXXX";

enum { PUT_MAX = 16 };
static const char *were_put[PUT_MAX];
static size_t put_count;

static void put(const char *path, const char *text)
{
    char whole[512];
    assert(put_count < PUT_MAX);
    were_put[put_count++] = path;
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert(file != NULL);
    int failed = fputs(text, file);
    assert(failed >= 0);
    failed = fclose(file);
    assert(failed == 0);
}

/* Removes all files, then the directories that are empty by then. */
static void remove_all(void)
{
    char whole[512];
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < put_count; i++) {
            (void)snprintf(whole, sizeof whole, "%s%s", root, were_put[i]);
            if (pass == 0)
                (void)remove(whole);
            for (char *slash; pass == 1 && (slash = strrchr(whole + strlen(root), '/')) != NULL;) {
                *slash = '\0';
                (void)remove(whole);
            }
        }
}

static uint64_t limit_in(const char *groups)
{
    put("/proc/self/cgroup", groups);
    put_count -= put_count > 1 && strcmp(were_put[put_count - 1], were_put[0]) == 0;
    return memory_limit_of_groups(root);
}

int main(void)
{
    const char *made = mkdtemp(root);
    assert(made != NULL);
    OK_U64(memory_limit_of_groups(root), UINT64_MAX, "a system without control groups limits nothing");
    OK_U64(limit_in("0::/\n"), UINT64_MAX, "nor does a group without a file");
    put("/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
    OK_U64(limit_in("0::/a.slice/b.service\n"), UINT64_MAX, "version 2: no limit");
    put("/sys/fs/cgroup/a.slice/b.service/memory.max", "5000\n");
    OK_U64(limit_in("0::/a.slice/b.service\n"), 5000, "a limit");
    put("/sys/fs/cgroup/a.slice/memory.max", "4000\n");
    OK_U64(limit_in("0::/a.slice/b.service\n"), 4000, "a smaller one of the group above");
    put("/sys/fs/cgroup/memory.max", "3000\n");
    OK_U64(limit_in("0::/docker/1234\n"), 3000, "in a container, whose group is at the top");
    OK_U64(limit_in("4:cpu,cpuacct:/x\n3:kmemory:/y\n2:memoryx:/z\n"), UINT64_MAX, "groups of other things");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2000\n");
    OK_U64(limit_in("4:cpu,cpuacct:/x\n3:hugetlb,memory:/x\n1:name=systemd:/x\n"), 2000, "version 1");
    OK_U64(limit_in("3:memory:/w\n"), 9223372036854771712u, "where there is none, it says a large number");
    OK_U64(limit_in("3:memory:/x\n0::/a.slice\n"), 2000, "both versions: the least");
    OK_U64(limit_in("nonsense\n:\n3:memory\n\n"), UINT64_MAX, "lines that are none");
    put("/sys/fs/cgroup/memory.max", "many\n");
    OK_U64(limit_in("0::/\n"), UINT64_MAX, "and a limit that is none");
    OK(memory_limit_bytes() >= (uint64_t)1 << 20, "this process may have some memory");
    remove_all();
    OK(access(root, F_OK) != 0, "nothing is left of the files");
    return tap_done();
}
