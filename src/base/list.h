/*
 * list: an intrusive doubly linked list.
 *
 * The link lives inside its owner; a list never allocates and never frees. LIST_OWNER turns a link
 * back into the structure that holds it; LIST_EACH visits these structures.
 */
#ifndef HEADGATE_BASE_LIST_H
#define HEADGATE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *previous; /* a head or an unlinked link points at itself */
};

#define LIST_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))
/* Goes through the owners in a list, from the first on. What follows must not take `owner` out of the list. */
#define LIST_EACH(type, owner, list, member)                                                                       \
    for (type *owner = LIST_OWNER((list)->next, type, member); &owner->member != (list);                           \
         owner = LIST_OWNER(owner->member.next, type, member))

static inline void list_init(struct list *list)
{
    list->next = list->previous = list;
}

static inline bool list_empty(const struct list *list)
{
    return list->next == list;
}

/* Puts `link`, which is in no list, before `position`; with the head as position: at the end. */
static inline void list_insert_before(struct list *position, struct list *link)
{
    link->previous = position->previous;
    link->next = position;
    position->previous->next = link;
    position->previous = link;
}

/* Takes `link` out of its list and leaves it pointing at itself; harmless when it is in none. */
static inline void list_remove(struct list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

#endif
