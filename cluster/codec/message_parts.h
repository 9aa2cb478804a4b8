/*
 * message_parts: the field of a page that says when the spends of its logs end.
 *
 * The one idea: all logs of a page share one flat list of numbers, in the order of the logs: how many parts a log has,
 * and of each part the steps that it has left and its tokens. A daemon that does not know the field passes over it.
 * Only for message_read.c, message_write.c, and whoever fills a page.
 */
#ifndef HEADGATE_CLUSTER_CODEC_MESSAGE_PARTS_H
#define HEADGATE_CLUSTER_CODEC_MESSAGE_PARTS_H

#include "cluster/codec/message.h"
#include "cluster/codec/pack.h"

/* Bytes of a number of the field, and of its head, at most; a daemon that does not know the field counts as many. */
enum { PARTS_NUMBER_MAX_BYTES = 9, PARTS_NUMBERS_MAX = LATER_FIELD_MAX_BYTES / PARTS_NUMBER_MAX_BYTES - 1 };

/* How many numbers the parts of so many logs are. */
uint64_t parts_numbers(const struct number_parts *parts, uint32_t count);
/* Each log gets half as many parts: each takes the part that stands before it in time, and ends as late as itself. */
void parts_halve(struct number_parts *parts, uint32_t count);

void parts_pack(msgpack_packer *packer, const struct number_parts *parts, uint32_t count);

/* `object` is NULL where the field is missing: *parts becomes NULL. False: it is not a list of numbers. */
bool parts_read(const msgpack_object *object, const msgpack_object_array **parts);
/* False: the list does not fit the logs of the page, which the reader is to read from the start. */
bool parts_fit(const msgpack_object_array *parts, struct number_reader reader);
/* Those of the record, which a reader of a page with parts has just read. */
void parts_next(struct number_reader *reader, struct number_record *record);

#endif
