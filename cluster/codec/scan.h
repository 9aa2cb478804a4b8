/*
 * scan: refuses msgpack bytes whose headers promise more than the bytes hold.
 *
 * The unpacker reserves memory for what a header declares, and five bytes can declare gigabytes. This looks
 * at headers only, so that whatever passes costs memory in proportion to its size.
 */
#ifndef HEADGATE_CLUSTER_CODEC_SCAN_H
#define HEADGATE_CLUSTER_CODEC_SCAN_H

#include "base/bytes.h"

#include <stdbool.h>

/*
 * True if `bytes` is exactly one msgpack value, nested at most a few levels, without maps or extensions. No array that
 * stands in an array of the outermost one has more than `inner_max` values: so much work is refused before it begins.
 */
bool scan_is_sound(struct bytes bytes, uint64_t inner_max);

/* What an array begins with. */
enum { SCAN_HEAD_NUMBERS = 3 };
struct scan_head {
    uint32_t count; /* numbers that are there */
    uint64_t number[SCAN_HEAD_NUMBERS];
    struct bytes text; /* what follows all of them; "" if that is no text */
};

/* Reads the unsigned numbers that the array begins with, and a text behind them. It does not look any further. */
void scan_head(struct bytes bytes, struct scan_head *head);

#endif
