#include "tests/lib/slow_disk.h"

#include <errno.h>
#include <sqlite3.h>
#include <uv.h>

static struct {
    uv_mutex_t mutex;
    uv_cond_t changed;
    bool waits, fails;
    unsigned begun; /* writes that wait */
} disk;

static ssize_t write_slowly(int file, const void *bytes, size_t size, off_t offset)
{
    uv_mutex_lock(&disk.mutex);
    disk.begun++;
    uv_cond_broadcast(&disk.changed);
    while (disk.waits)
        uv_cond_wait(&disk.changed, &disk.mutex);
    bool fails = disk.fails;
    uv_mutex_unlock(&disk.mutex);
    errno = ENOSPC;
    return fails ? -1 : pwrite(file, bytes, size, offset);
}

void slow_disk_init(void)
{
    static const char *const names[] = {"pwrite", "pwrite64"};
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    (void)uv_mutex_init(&disk.mutex);
    (void)uv_cond_init(&disk.changed);
    for (size_t i = 0; i < 2; i++)
        (void)vfs->xSetSystemCall(vfs, names[i], (sqlite3_syscall_ptr)write_slowly);
}

void slow_disk_set(bool waits, bool fails)
{
    uv_mutex_lock(&disk.mutex);
    disk.waits = waits;
    disk.fails = fails;
    disk.begun = 0;
    uv_cond_broadcast(&disk.changed);
    uv_mutex_unlock(&disk.mutex);
}

void slow_disk_wait_begun(void)
{
    uv_mutex_lock(&disk.mutex);
    while (disk.begun == 0)
        uv_cond_wait(&disk.changed, &disk.mutex);
    uv_mutex_unlock(&disk.mutex);
}

static struct store *store;

void slow_disk_keep(void)
{
    const struct effects *effects = &served.effects;
    for (size_t i = 0; i < effects->version_count; i++)
        store_put_versions(store, &effects->version[i]->record, 1);
}

static void submit(void *context, const struct event *event, struct rules_result *result)
{
    served_submit(context, event, result);
    slow_disk_keep();
}

void slow_disk_open(void)
{
    remove_all();
    store = open_one();
    (void)look(store, NULL);
    served_open();
    served.commands.store = store;
    served.commands.submit = submit;
}

void slow_disk_close(void)
{
    (void)store_close(&store);
    served_close();
}
