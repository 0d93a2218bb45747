/* Randomness of the kernel's. */
#pragma once

#include <stddef.h>

/* n characters of a-z and 2-7 (five bits each) and a NUL. */
void sbx_random_id(char *id, size_t n);
