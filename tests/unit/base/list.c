#include "base/list.h"
#include "tests/lib/tap.h"

struct item {
    int number;
    struct list link;
};

/* The numbers in order, checking the way back as well. */
static int spell(const struct list *head)
{
    int number = 0, backwards = 0, power = 1;
    for (struct list *link = head->next; link != head; link = link->next)
        number = number * 10 + LIST_OWNER(link, struct item, link)->number;
    for (struct list *link = head->previous; link != head; link = link->previous, power *= 10)
        backwards += power * LIST_OWNER(link, struct item, link)->number;
    return number == backwards ? number : -1;
}

int main(void)
{
    struct list head;
    struct item items[4];
    list_init(&head);
    OK(list_empty(&head), "a fresh list is empty");
    for (int i = 0; i < 4; i++) {
        items[i].number = i + 1;
        list_init(&items[i].link);
    }
    list_insert_before(&head, &items[0].link);
    list_insert_before(&head, &items[1].link);
    OK_I64(spell(&head), 12, "before the head is the end");
    list_insert_before(&items[1].link, &items[2].link);
    list_insert_before(head.next, &items[3].link);
    OK_I64(spell(&head), 4132, "before a link, and before the first");
    list_remove(&items[0].link);
    OK_I64(spell(&head), 432, "one is taken out of the middle");
    OK(list_empty(&items[0].link), "... and points at itself");
    list_remove(&items[0].link);
    OK_I64(spell(&head), 432, "taking it out again is harmless");
    list_remove(&items[3].link);
    list_remove(&items[1].link);
    list_remove(&items[2].link);
    OK(list_empty(&head), "the last one leaves an empty list");
    return tap_done();
}
