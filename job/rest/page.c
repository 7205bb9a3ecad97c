/* page.c - the web page at /: jobs and their checkpoints, from the REST answers of this server. The
 * page is job/rest/page.html; the build turns it into the bytes that are included here. */
#include "job/rest/api_priv.h"

static const uint8_t page[] = {
#include "job/rest/page_html.inc"
};

void api_page(struct call *c)
{
    c->answer->status = 200;
    c->answer->content_type = "text/html; charset=UTF-8";
    buf_append(&c->answer->body, page, sizeof page);
}
