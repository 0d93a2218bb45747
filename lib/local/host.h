/* What of this machine is seen inside: the same for every sandbox of a process, so looked up once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/attr.h"

struct sbx_err;

enum { SBX_HOST_BINDS = 16, SBX_HOST_LINKS = 8, SBX_HOST_TARGET = 128 };

struct sbx_host {
	/* Absolute, the same inside; folder or file. */
	struct {
		const char *path;
		bool folder;
	} binds[SBX_HOST_BINDS];
	size_t n_binds;

	/* /bin and its like, where they are links: relative names below the root. */
	struct {
		const char *name;
		char target[SBX_HOST_TARGET];
	} links[SBX_HOST_LINKS];
	size_t n_links;
};

int sbx_host_look(struct sbx_host *host, struct sbx_err *err) SBX_MUST_USE;

/* Whether an absolute path without links in it is seen inside. */
bool sbx_host_has(const struct sbx_host *host, const char *path);
