#include "cluster/batch.h"

#include "tests/tap.h"

static void check_shape(uint32_t depends, uint32_t spends)
{
    struct batch *batch = batch_create(depends, spends);
    bool zero = true;
    OK(batch && batch->depend_count == depends && batch->spend_count == spends, "a batch of %u and %u", depends,
       spends);
    for (uint32_t i = 0; i < depends; i++) {
        zero &= batch->depend[i].origin_uid == 0 && batch->depend[i].seq == 0;
        batch->depend[i] = (struct depend){UINT32_MAX, UINT64_MAX};
    }
    for (uint32_t i = 0; i < spends; i++) {
        zero &= batch->spend[i].tokens == 0 && batch->spend[i].id.high == 0;
        batch->spend[i] = (struct spend){{UINT64_MAX, UINT64_MAX}, UINT64_MAX, UINT16_MAX};
    }
    bool apart = spends == 0 || depends == 0 ||
                 (batch->spend[spends - 1].limit == UINT16_MAX && batch->depend[0].origin_uid == UINT32_MAX);
    OK(zero && apart, "is made of zeros, and its parts do not overlap");
    batch_destroy(&batch);
    OK(batch == NULL, "destroying forgets it");
    batch_destroy(&batch);
}

static void check_lists(void)
{
    struct list head;
    struct batch *batch = batch_create(0, 0), *other = batch_create(0, 0);
    list_init(&head);
    list_insert_before(&head, &batch->link);
    list_insert_before(&head, &other->link);
    batch_destroy(&batch);
    OK(head.next == &other->link && head.previous == &other->link, "a batch that is destroyed leaves its list");
    batch_destroy(&other);
    OK(list_empty(&head), "and the list is empty");
}

static void check_grouping(void)
{
    static const uint16_t limits[] = {2, 0, 1, 0, 2, 1, 1};
    enum { COUNT = sizeof limits / sizeof limits[0] };
    struct batch *batch = batch_create(0, COUNT);
    bool grouped = true;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        batch->spend[i] = (struct spend){{100 - i, i}, i, limits[i]};
    batch_group_by_limit(batch);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct spend *spend = &batch->spend[i];
        grouped &= i == 0 || batch->spend[i - 1].limit <= spend->limit;
        grouped &= spend->id.high == 100 - spend->tokens && spend->limit == limits[spend->tokens];
        seen |= (uint64_t)1 << spend->tokens;
    }
    OK(grouped && seen == (1u << COUNT) - 1, "spends of one limit stand together, none is lost or changed");
    batch_destroy(&batch);

    batch = batch_create(0, 3);
    for (uint32_t i = 0; i < 3; i++)
        batch->spend[i] = (struct spend){{3 - i, 0}, i, 1};
    batch_group_by_limit(batch);
    OK(batch->spend[0].tokens == 0 && batch->spend[2].tokens == 2,
       "where all have one limit, they stay in order");
    batch_destroy(&batch);
    batch = batch_create(0, 0);
    batch_group_by_limit(batch);
    batch_destroy(&batch);
}

int main(void)
{
    check_shape(0, 0);
    check_shape(1, 0);
    check_shape(0, 1);
    check_shape(128, 16384);
    check_lists();
    check_grouping();
    return tap_done();
}
