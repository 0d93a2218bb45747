/* The backends' tables: what registry.c lists. */
#pragma once

#include "lib/backend/backend.h"

extern const struct sbx_backend_ops sbx_backend_local;
