/* A place on cgroup v2 for a process whose login has none: a transient scope of the user's systemd. */
#pragma once

#include <stdbool.h>

#include "lib/base/attr.h"

enum { SBX_SCOPE_WHY_MAX = 192 };

/*
 * Has the user's systemd move this process into a scope in which it may make cgroups (Delegate=yes); systemd removes the scope when
 * no process is left in it.  Waits some seconds at most.  false: nothing has changed, and why is a text without a full stop.
 */
bool sbx_scope_enter(char why[SBX_SCOPE_WHY_MAX]);
