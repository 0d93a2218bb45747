/* Making the namespaces, and saying why it cannot be done. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/attr.h"

struct sbx_err;

/*
 * fork() into new user, mount, pid, ipc, uts and network namespaces, and into the cgroup cgroup_fd (-1: the caller's).  0 in the
 * child, which is process 1; its pid, and a pidfd in *ret_pidfd, in the parent.  The cgroup namespace is made later, by the child,
 * when it is in its cgroup: it shows whatever the process is in at that moment.
 */
pid_t sbx_ns_clone(int cgroup_fd, int *ret_pidfd, struct sbx_err *err) SBX_MUST_USE;

/* fork() into no new namespace: for a sandbox that does without. */
pid_t sbx_ns_clone_none(int cgroup_fd, int *ret_pidfd, struct sbx_err *err) SBX_MUST_USE;

/* Says why the kernel made none, with this errno.  Returns -1. */
int sbx_ns_refused(int num, struct sbx_err *err);

/* Turns the failure of a step in the child, when it is a known refusal of this machine's, into words about that. */
void sbx_ns_explain(struct sbx_err *err);

/* Whether err says that namespaces are forbidden here; then why, in short. */
enum { SBX_NS_WHY_MAX = 100 };
bool sbx_ns_forbidden(const struct sbx_err *err, char why[SBX_NS_WHY_MAX]);

/* The kernel is as old as 5.14, or SBX_E_UNSUPPORTED. */
int sbx_ns_check_kernel(struct sbx_err *err) SBX_MUST_USE;
