/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/attr.h"

bool sbx_utf8_valid(const char *p, size_t n);

/*
 * How a chunk of a stream may be sent as text.  Returns the length of the longest prefix that is valid UTF-8;
 * *ret_partial is the number of bytes behind it (0 to 3) that are a true beginning of a character whose rest
 * may come with the next chunk, or 0 when what follows the prefix can never be valid (or nothing follows).
 */
size_t sbx_utf8_prefix(const char *p, size_t n, size_t *ret_partial);

/* The length (1 to 4) and the code point of the character at p; 0 where none is whole and valid. */
size_t sbx_utf8_next(const char *p, size_t n, uint32_t *ret);

/*
 * Appends text to the len bytes at to, as one line that shows what is there: controls, line separators, marks that reorder text
 * and what is not UTF-8 become \xNN.  Terminated within size bytes, ending in "..." if it was cut.  Returns the new length.
 */
size_t sbx_utf8_show(char *to, size_t size, size_t len, const char *text);
