/* Randomness of the kernel's. */
#pragma once

#include <stddef.h>

/* Fills n bytes; aborts where the kernel has none, since nothing safe could follow. */
void sbx_random(void *p, size_t n);

/* n characters of a-z and 2-7 (five bits each) and a NUL. */
void sbx_random_id(char *id, size_t n);
