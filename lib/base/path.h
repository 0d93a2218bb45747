/* Where our files are, and which relative paths we take from others. */
#pragma once

#include <sys/types.h>

#include "lib/base/attr.h"
#include "lib/base/str.h"

struct sbx_err;

enum { SBX_PATH_MAX = 4095, SBX_NAME_MAX = 255 };

/*
 * A path that stays below the folder it is relative to: not empty, not absolute, no NUL, no `..`, at most SBX_PATH_MAX bytes of
 * components of at most SBX_NAME_MAX.  *ret is owned and has no empty components, no `.` and no `/` at its end.  what names it in
 * the message; SBX_E_USAGE.  Symbolic links are not looked at: whoever opens it does so beneath its folder.
 */
int sbx_path_relative(struct sbx_str path, const char *what, char **ret,
		      struct sbx_err *err) SBX_MUST_USE;

/*
 * The folder for sockets and locks, made if it is not there: $XDG_RUNTIME_DIR/llmsbx where that is a folder, else /run/llmsbx for
 * root, else /tmp/llmsbx-UID.  It is ours alone (a folder, no link, mode 0700) or an error; a caller that can do without goes on.
 */
int sbx_runtime_folder(char **ret, struct sbx_err *err) SBX_MUST_USE;

/* $XDG_CACHE_HOME/llmsbx, else $HOME/.cache/llmsbx, and so on; not made.  SBX_E_NOT_FOUND where neither variable is set. */
enum sbx_folder { SBX_FOLDER_CACHE, SBX_FOLDER_CONFIG, SBX_FOLDER_DATA, SBX_FOLDER_STATE };
int sbx_user_folder(enum sbx_folder which, char **ret, struct sbx_err *err) SBX_MUST_USE;

/* Makes a folder and those above it (mode as for mkdir); one that is there already is fine. */
int sbx_make_folders(const char *path, mode_t mode, struct sbx_err *err) SBX_MUST_USE;
