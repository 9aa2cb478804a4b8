/*
 * Apart from memory.c, which libheadgate contains: a program that embeds the limiter needs no
 * libuv.
 */
#include "edge/process/memory.h"

#include <uv.h>

uint64_t memory_resident_bytes(void)
{
    size_t bytes;
    return uv_resident_set_memory(&bytes) == 0 ? bytes : 0;
}
