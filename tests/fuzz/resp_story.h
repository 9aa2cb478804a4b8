/*
 * resp_story: feeds a stream of requests to the parser in pieces and writes down what it understood.
 *
 * The one idea: whatever the pieces, the story must be the same: the commands in order, with their
 * arguments, and how it ended. Each piece arrives in memory of its exact size, so that reading beyond shows.
 */
#ifndef HEADGATE_TESTS_FUZZ_RESP_STORY_H
#define HEADGATE_TESTS_FUZZ_RESP_STORY_H

#include "wire/command.h"
#include "wire/resp.h"
#include "wire/shape.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct resp_story {
    char *text; /* NULL: only the hash is kept */
    size_t size, room;
    uint64_t hash;
    uint32_t commands;
    bool ended; /* by a protocol error */
};

static inline void resp_story_add(struct resp_story *story, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        story->hash = (story->hash ^ (unsigned char)data[i]) * 0x100000001b3u;
    if (story->text == NULL)
        return;
    size_t fits = story->room - story->size < size ? story->room - story->size : size;
    if (fits > 0)
        memcpy(story->text + story->size, data, fits);
    story->size += fits;
}

static inline void resp_story_tell(struct resp_story *story, const struct resp_command *command)
{
    char number[32];
    resp_story_add(story, "[", 1);
    for (uint32_t i = 0; i < command->count; i++) {
        int size = snprintf(number, sizeof number, "%s%zu:", i > 0 ? " " : "", command->args[i].size);
        resp_story_add(story, number, (size_t)size);
        resp_story_add(story, command->args[i].data, command->args[i].size);
    }
    resp_story_add(story, "]", 1);
}

/*
 * What `data` says when it arrives in pieces of `piece` bytes, the first being `first` bytes. Asserts what
 * holds for any input: consumed within the input, arguments within the input or the command, no endless frame; and what
 * is read as the shape of CAN_ACCESS means the same to the parser.
 */
static inline void resp_story_of(struct resp_story *story, const char *data, size_t size, size_t first,
                                 size_t piece)
{
    size_t arrived = first < size ? first : size, consumed = 0;
    struct resp_command *command = malloc(sizeof *command);
    struct bytes key;
    *story = (struct resp_story){.text = story->text, .room = story->room, .hash = 0xcbf29ce484222325u};
    assert(command != NULL && piece > 0);
    for (bool going = true; going;) {
        size_t held = arrived - consumed;
        char *exact = malloc(held > 0 ? held : 1);
        assert(exact != NULL);
        if (held > 0)
            memcpy(exact, data + consumed, held);
        size_t at = 0;
        enum resp_status status;
        do {
            const char *error;
            size_t frame;
            status = resp_parse((struct bytes){exact + at, held - at}, command, &frame, &error);
            assert(frame <= held - at && (status == RESP_COMMAND) == (frame > 0));
            size_t access = shape_read_access((struct bytes){exact + at, held - at}, &key);
            assert(access == 0 || (status == RESP_COMMAND && access == frame && command->count == 2 &&
                                  bytes_equal(command->args[1], key)));
            at += frame;
            if (status == RESP_COMMAND && command->count > 0) {
                resp_story_tell(story, command);
                story->commands++;
            } else if (status == RESP_ERROR) {
                assert(error != NULL);
                resp_story_add(story, "!", 1);
                resp_story_add(story, error, strlen(error));
                story->ended = true;
            }
        } while (status == RESP_COMMAND);
        assert(status == RESP_ERROR || held - at < RESP_FRAME_MAX_BYTES);
        consumed += at;
        free(exact);
        going = status == RESP_MORE && arrived < size;
        arrived = size - arrived < piece ? size : arrived + piece;
    }
    free(command);
}

#endif
