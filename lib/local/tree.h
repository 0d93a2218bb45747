/*
 * A tree that a program left on disk, or is still changing: measured and removed without following a link, without recursion, and
 * without ever leaving the folder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/attr.h"

struct sbx_err;

/*
 * Bytes on disk of everything below the folder; a file counts SBX_TREE_FILE at least, so that those without bytes are bounded too.
 * Stops where it is more than most.  false: it cannot be told (more folders in folders than there are descriptors).
 */
enum { SBX_TREE_FILE = 8192 };
bool sbx_tree_measure(int folder, uint64_t most, uint64_t *ret) SBX_MUST_USE;

/* Removes everything in the folder.  Nobody else may be changing it; after a failure it may be tried again. */
int sbx_tree_empty(int folder, struct sbx_err *err) SBX_MUST_USE;
