#include "lib/local/host.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/places.h"

/* What a distribution may have at the root beside /usr: links into it, or folders. */
static const char *const beside_usr[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/* No more of /etc than programs need to start, and nothing that tells of users, hosts or keys. */
static const char *const always[] = {
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/fonts",
	"/etc/mime.types",  "/etc/services",     "/etc/protocols",
};

static void add_bind(struct sbx_host *host, const char *path, const struct stat *st)
{
	host->binds[host->n_binds].path = path;
	host->binds[host->n_binds++].folder = S_ISDIR(st->st_mode);
}

static void add_link(struct sbx_host *host, const char *path)
{
	char *target = host->links[host->n_links].target;
	ssize_t n = readlink(path, target, SBX_HOST_TARGET - 1);

	if (n <= 0)
		return;
	target[n] = '\0';
	host->links[host->n_links++].name = path + 1;
}

int sbx_host_look(struct sbx_host *host, struct sbx_err *err)
{
	struct stat st;

	*host = (struct sbx_host){.n_binds = 0};
	if (stat("/usr", &st) < 0)
		return sbx_fail_sys(err, errno, "cannot look at '/usr'");
	add_bind(host, "/usr", &st);
	for (size_t i = 0; i < SBX_ARRAY_SIZE(beside_usr); i++) {
		if (lstat(beside_usr[i], &st) < 0)
			continue;
		if (S_ISLNK(st.st_mode))
			add_link(host, beside_usr[i]);
		else if (S_ISDIR(st.st_mode))
			add_bind(host, beside_usr[i], &st);
	}
	for (size_t i = 0; i < SBX_ARRAY_SIZE(always); i++) {
		if (stat(always[i], &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
			add_bind(host, always[i], &st);
	}
	return 0;
}

bool sbx_host_has(const struct sbx_host *host, const char *path)
{
	for (size_t i = 0; i < host->n_binds; i++) {
		if (sbx_path_is_below(path, host->binds[i].path))
			return true;
	}
	for (size_t i = 0; i < host->n_links; i++) {
		if (path[0] == '/' && strcmp(path + 1, host->links[i].name) == 0)
			return true;
	}
	return false;
}
