/*
 * Settings that change while requests wait: which set each request is served by.
 */
#include "http/options.h"

#include "tests/lib/tap.h"

static struct http_options options;

static struct http_settings draw(enum http_limit_fields fields)
{
    return (struct http_settings){.limit_fields = fields};
}

static void change(enum http_limit_fields fields)
{
    const struct http_settings settings = draw(fields);
    http_options_change(&options, &settings);
}

static enum http_limit_fields serves(const uint8_t *kept)
{
    return http_options_of(&options, kept)->limit_fields;
}

int main(void)
{
    const struct http_settings first = draw(HTTP_LIMIT_X);
    const uint8_t none = 0;
    uint8_t early = 0, late = 0;
    http_options_init(&options, &first);
    OK(serves(&none) == HTTP_LIMIT_X, "the settings of the start");
    change(HTTP_LIMIT_NONE);
    OK(serves(&none) == HTTP_LIMIT_NONE, "others are in force at once");
    http_options_keep(&options, &early);
    http_options_keep(&options, &early);
    change(HTTP_LIMIT_DRAFT_10);
    OK(serves(&early) == HTTP_LIMIT_NONE && serves(&none) == HTTP_LIMIT_DRAFT_10,
       "a request that waits keeps its set, and others have the new one");
    http_options_keep(&options, &late);
    change(HTTP_LIMIT_NONE);
    change(HTTP_LIMIT_X);
    OK(serves(&early) == HTTP_LIMIT_NONE && serves(&none) == HTTP_LIMIT_DRAFT_10,
       "a third set waits while the first one is kept");
    http_options_leave(&options, &early);
    OK(early == 0 && serves(&none) == HTTP_LIMIT_X && serves(&late) == HTTP_LIMIT_DRAFT_10,
       "and the newest is in force once it is not");
    http_options_leave(&options, &late);
    http_options_leave(&options, &late);
    OK(options.keepers[0] == 0 && options.keepers[1] == 0 && !options.changing, "nothing is left");
    return tap_done();
}
