/* The media type of a file that is brought out, by its suffix; a hint for who shows it, never a promise. */
#pragma once

#include <stdbool.h>

/* Static text. is_text: its first bytes are UTF-8 without NUL. */
const char *sbx_mime(const char *path, bool is_text);
