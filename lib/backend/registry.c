#include <stddef.h>
#include <string.h>

#include "lib/backend/backend.h"
#include "lib/backend/list.h"
#include "lib/proc/owner.h"

const struct sbx_backend_ops *const sbx_backends[] = {
	&sbx_backend_local,
	NULL,
};

const struct sbx_backend_ops *sbx_backend_find(const char *name)
{
	for (size_t i = 0; sbx_backends[i]; i++) {
		if (strcmp(sbx_backends[i]->name, name) == 0)
			return sbx_backends[i];
	}
	return NULL;
}

int sbx_box_name(char name[SBX_BOX_NAME_MAX], uint64_t n, struct sbx_err *err)
{
	_Static_assert((int)SBX_BOX_NAME_MAX >= (int)SBX_OWNER_NAME_MAX, "the one form of name");
	return sbx_owner_name(name, n, err);
}
