/* nearest.h - the word that somebody may have meant. Pure; thread: any. */
#ifndef VARVE_BASE_NEAREST_H
#define VARVE_BASE_NEAREST_H

#include <stddef.h>

/* The candidate nearest to `word` by edit distance, letter case apart, if it is near enough to be
 * meant; NULL. Words of 64 bytes and more are near nothing. */
const char *nearest_of(const char *word, const char *const *candidates, size_t count);

#endif
