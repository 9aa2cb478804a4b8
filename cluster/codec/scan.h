/*
 * scan: refuses msgpack bytes whose headers promise more than the bytes hold.
 *
 * The one idea: the unpacker reserves memory for the count that a header declares, and five bytes
 * can declare gigabytes. scan looks at headers only and allocates nothing; bytes that pass cost the
 * unpacker memory in proportion to their size. scan knows no message.
 */
#ifndef HEADGATE_CLUSTER_CODEC_SCAN_H
#define HEADGATE_CLUSTER_CODEC_SCAN_H

#include "base/bytes.h"

#include <stdbool.h>

/*
 * True: `bytes` is exactly one msgpack value, without maps and extensions, nested at most DEPTH_MAX
 * (scan.c) levels deep. No array inside an array of the outermost array has more than `inner_max`
 * values, so too much work is refused before it begins.
 */
bool scan_is_sound(struct bytes bytes, uint64_t inner_max);

/* The first fields of an array: up to SCAN_HEAD_NUMBERS numbers, then a text. */
enum { SCAN_HEAD_NUMBERS = 3 };
struct scan_head {
    uint32_t count; /* how many numbers could be read */
    uint64_t number[SCAN_HEAD_NUMBERS];
    struct bytes text; /* the text that follows all numbers; "" if no text follows */
};

/*
 * Reads the unsigned numbers at the beginning of the array, and the text behind them. It reads no
 * further byte.
 */
void scan_head(struct bytes bytes, struct scan_head *head);

#endif
