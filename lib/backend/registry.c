#include <stddef.h>
#include <string.h>

#include "lib/backend/backend.h"
#include "lib/backend/list.h"

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
