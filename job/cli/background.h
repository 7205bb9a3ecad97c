/* background.h - `varve run -d`: the process that goes on is a child; the caller waits until it
 * says how the start went. */
#ifndef VARVE_JOB_CLI_BACKGROUND_H
#define VARVE_JOB_CLI_BACKGROUND_H

#include "base/status.h"

struct background {
    int tell_fd; /* child: to the waiting parent */
    int null_fd; /* child: goes to stdout and stderr when it detaches */
};
/* Before any thread. In the parent: waits, *exit_code is what the child said (or EXIT_ENVIRONMENT
 * when it said nothing), returns false. In the child: true; it belongs to no terminal, stdout and
 * stderr are still the caller's. */
MUST_USE bool background_start(struct background *b, int *exit_code);
/* Child: the parent may return with this code; 0 also lets go of stdout and stderr. */
void background_tell(struct background *b, int exit_code);

#endif
