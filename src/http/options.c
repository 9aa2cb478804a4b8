#include "http/options.h"

#include <assert.h>

void http_options_init(struct http_options *options, const struct http_settings *settings)
{
    *options = (struct http_options){.set[0] = *settings};
}

static void settle(struct http_options *options)
{
    const uint8_t other = !options->in_force;
    if (!options->changing || options->keepers[other] > 0)
        return;
    options->set[other] = options->wanted;
    options->in_force = other;
    options->edition++;
    options->changing = false;
}

void http_options_change(struct http_options *options, const struct http_settings *settings)
{
    options->wanted = *settings;
    options->changing = true;
    settle(options);
}

const struct http_settings *http_options_of(const struct http_options *options, const uint8_t *kept)
{
    return &options->set[*kept > 0 ? *kept - 1 : options->in_force];
}

void http_options_keep(struct http_options *options, uint8_t *kept)
{
    if (*kept > 0)
        return;
    options->keepers[options->in_force]++;
    *kept = (uint8_t)(options->in_force + 1);
}

void http_options_leave(struct http_options *options, uint8_t *kept)
{
    if (*kept == 0)
        return;
    assert(options->keepers[*kept - 1] > 0);
    options->keepers[*kept - 1]--;
    *kept = 0;
    settle(options);
}
