/*
 * fence: which files this process and its later threads may open from now on, by the kernel's Landlock.
 *
 * The one idea: a daemon that serves reads its config and what the system's libraries read, and writes its state.
 * Whoever takes it over finds no other file: not the homes of people, not the data of other services. What is open
 * already stays open. A fence holds for threads that are made after it, so it must be built before there are any, and
 * it cannot be taken down. It is raw system calls: no library of the system has them yet.
 */
#ifndef HEADGATE_EDGE_PROCESS_FENCE_H
#define HEADGATE_EDGE_PROCESS_FENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { FENCE_PATHS_MAX = 256, FENCE_PATH_BYTES = 512 };

enum fence_rights {
    FENCE_READ,  /* what is at the path, and all below it */
    FENCE_WRITE, /* the same, and to make, change and remove files there */
    FENCE_ADD,   /* to make files right there, and to write what is there; not to read or remove any */
};

struct fence {
    char path[FENCE_PATHS_MAX][FENCE_PATH_BYTES];
    enum fence_rights rights[FENCE_PATHS_MAX];
    uint32_t count;
    bool full; /* a path was left out, so the fence must not be built */
};

enum fence_state {
    FENCE_ON,
    FENCE_NOT_HERE,  /* a sanitizer was compiled in: it reads what it likes */
    FENCE_NO_KERNEL, /* the kernel has none, or has it switched off */
    FENCE_FAILED,    /* errno says why: somebody else's filter of system calls forbids it, for instance */
};

/* Adds a path. One that does not exist when the fence is built is left out. */
void fence_add(struct fence *fence, const char *path, enum fence_rights rights);
/*
 * Adds the directory in which the file of that path is, so that another file may take its name, and the directory where
 * links lead from there now. "": does nothing.
 */
void fence_add_place(struct fence *fence, const char *path, enum fence_rights rights);
/* Adds what libraries read: programs' parts and settings of the system, and what the kernel tells. */
void fence_add_system(struct fence *fence);

enum fence_state fence_build(const struct fence *fence);

#endif
