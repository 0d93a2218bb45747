/*
 * Where files that a user may edit are: share/ (beside the binary in a build tree, else the installed one), /etc/llmsbx,
 * $XDG_CONFIG_HOME/llmsbx (~/.config/llmsbx); later wins, an empty file masks.  LLMSBX_SHARE names another share/.
 */
#pragma once

#include "lib/base/attr.h"
#include "lib/base/strv.h"

struct sbx_err;

/* kind is a folder ("languages"), name a file in it ("python.json"). *ret is NULL when there is none or it is masked. */
int sbx_search_file(const char *kind, const char *name, char **ret,
		    struct sbx_err *err) SBX_MUST_USE;
/* Paths of all files of a kind that end in .json, winners only, sorted by name; masked ones are not among them. */
int sbx_search_all(const char *kind, struct sbx_strv *ret, struct sbx_err *err) SBX_MUST_USE;
/* The share folder in force. */
int sbx_search_share(char **ret, struct sbx_err *err) SBX_MUST_USE;
/* The configuration folders, the weaker first: /etc/llmsbx, and the user's where there is one. Adds to *ret. */
int sbx_search_config(struct sbx_strv *ret, struct sbx_err *err) SBX_MUST_USE;
