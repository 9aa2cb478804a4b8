#include "http/dashboard.h"

#include "http/call.h"

/*
 * The page may load what this daemon serves, and nothing else; nobody may put it into a frame, and no text that gets
 * into it is run.
 */
static const char guards[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n";

static void answer_file(struct http_call *call, const char *type, const unsigned char *data, size_t size)
{
    call->type = type;
    put_text(&call->fields, guards);
    output_append(&call->body, (const char *)data, size);
}

void http_dashboard(struct http_call *call)
{
    answer_file(call, "text/html; charset=utf-8", dashboard_html, dashboard_html_bytes);
}

void http_dashboard_css(struct http_call *call)
{
    answer_file(call, "text/css; charset=utf-8", dashboard_css, dashboard_css_bytes);
}

void http_dashboard_js(struct http_call *call)
{
    answer_file(call, "text/javascript; charset=utf-8", dashboard_js, dashboard_js_bytes);
}
