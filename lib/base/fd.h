/* File descriptors: -1 is none, every one is close-on-exec from birth. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/attr.h"

struct sbx_err;
struct sbx_buf;

void sbx_close(int fd);   /* keeps errno; nothing for a negative one */
void sbx_closep(int *fd); /* for SBX_CLEANUP; leaves -1 */

/* read and write in full, over EINTR and short counts; for blocking descriptors. read_full returns the count (short only at end of file). */
ssize_t sbx_read_full(int fd, void *p, size_t n, struct sbx_err *err) SBX_MUST_USE;
int sbx_write_full(int fd, const void *p, size_t n, struct sbx_err *err) SBX_MUST_USE;

/* Everything until end of file, at most buf->max (else SBX_E_LIMIT); what names it in messages. */
int sbx_read_all(int fd, const char *what, struct sbx_buf *buf, struct sbx_err *err) SBX_MUST_USE;

/* A whole small file by path; SBX_E_NOT_FOUND where there is none, a folder or a pipe is refused. */
int sbx_read_file(const char *path, struct sbx_buf *buf, struct sbx_err *err) SBX_MUST_USE;

/* One write of text to an existing file (procfs, cgroupfs) below dirfd (or AT_FDCWD). */
int sbx_write_text_at(int dirfd, const char *path, const char *text,
		      struct sbx_err *err) SBX_MUST_USE;

/* Replaces a file whole: temporary name beside it, fsync, rename. */
int sbx_replace_file(const char *path, const void *p, size_t n, mode_t mode,
		     struct sbx_err *err) SBX_MUST_USE;

int sbx_set_nonblock(int fd, bool on, struct sbx_err *err) SBX_MUST_USE;

/*
 * Opens /dev/null on each of 0, 1 and 2 that is closed, so that no descriptor of ours ever becomes one of them.  Reading stdin
 * finds the end of file, and what is written is discarded: who closed it wants none of it (--events-fd may carry the events).
 */
int sbx_fill_standard_fds(struct sbx_err *err) SBX_MUST_USE;

/*
 * Raises the soft limit of descriptors to the hard one and says what it is: a caller may have left many open.  Best effort: what
 * then does not fit fails where it is opened.
 */
uint64_t sbx_raise_fd_limit(void);
