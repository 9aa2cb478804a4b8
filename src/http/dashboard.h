/*
 * dashboard: the files of the page at `/`, as they stand in src/http/dashboard, in the daemon.
 *
 * The one idea: the Makefile turns each file into an array, so that the daemon needs no file beside it and the page no
 * step of its own to be built. What the page asks for it asks as any client does.
 */
#ifndef HEADGATE_HTTP_DASHBOARD_H
#define HEADGATE_HTTP_DASHBOARD_H

#include <stddef.h>

extern const unsigned char dashboard_html[], dashboard_css[], dashboard_js[];
extern const size_t dashboard_html_bytes, dashboard_css_bytes, dashboard_js_bytes;

#endif
