#include "lib/sandbox/mime.h"

#include <string.h>
#include <strings.h>

#include "lib/base/attr.h"

static const struct {
	const char *suffix, *mime;
} types[] = {
	/* IANA's names; what programs of this kind write */
	{"csv", "text/csv"},
	{"css", "text/css"},
	{"gif", "image/gif"},
	{"gz", "application/gzip"},
	{"htm", "text/html"},
	{"html", "text/html"},
	{"jpeg", "image/jpeg"},
	{"jpg", "image/jpeg"},
	{"js", "text/javascript"},
	{"json", "application/json"},
	{"jsonl", "application/jsonl"},
	{"md", "text/markdown"},
	{"mp3", "audio/mpeg"},
	{"mp4", "video/mp4"},
	{"parquet", "application/vnd.apache.parquet"},
	{"pdf", "application/pdf"},
	{"png", "image/png"},
	{"svg", "image/svg+xml"},
	{"tar", "application/x-tar"},
	{"tsv", "text/tab-separated-values"},
	{"txt", "text/plain"},
	{"wav", "audio/wav"},
	{"webp", "image/webp"},
	{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"xml", "application/xml"},
	{"yaml", "application/yaml"},
	{"yml", "application/yaml"},
	{"zip", "application/zip"},
};

const char *sbx_mime(const char *path, bool is_text)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && dot != name && i < SBX_ARRAY_SIZE(types); i++)
		if (strcasecmp(dot + 1, types[i].suffix) == 0)
			return types[i].mime;
	return is_text ? "text/plain" : "application/octet-stream";
}
