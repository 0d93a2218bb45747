/*
 * Bytes that come when they come, from a descriptor that others may read as well: a shell, a sibling, the caller itself.  Reading
 * never waits, and the flags of the descriptor are not ours to change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/attr.h"

struct sbx_input {
	int fd;      /* borrowed: what poll() is asked about; -1: none */
	int read_fd; /* fd, or a description of our own, owned */
	bool own, socket, file;
};

/* What it is of fd is found out here; there is no kind of which it can make nothing. */
struct sbx_input sbx_input_open(int fd);
void sbx_input_release(struct sbx_input *in);

/* As read(2), after poll() said that there is something: EAGAIN where somebody else took it meanwhile. */
ssize_t sbx_input_read(const struct sbx_input *in, void *p, size_t n) SBX_MUST_USE;
