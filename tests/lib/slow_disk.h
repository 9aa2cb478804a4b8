/*
 * slow_disk: the served node with a store whose disk waits, or fails, as a test wants.
 *
 * The one idea: the store writes by functions of SQLite's that a program may replace. One program has one disk.
 */
#ifndef HEADGATE_TESTS_LIB_SLOW_DISK_H
#define HEADGATE_TESTS_LIB_SLOW_DISK_H

#include "tests/lib/served.h"
#include "tests/lib/store.h"

/* Once, after store_scene_begin. */
void slow_disk_init(void);
void slow_disk_set(bool waits, bool fails);
/* Until the store writes, and waits for the disk. */
void slow_disk_wait_begun(void);

/* A node over an empty store, as served_open and served_close. */
void slow_disk_open(void);
void slow_disk_close(void);
/* Hands the versions of the last step to the store: after steps that were not submitted by a command. */
void slow_disk_keep(void);

#endif
