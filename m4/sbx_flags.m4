dnl SBX_ADD_CFLAG(VARIABLE, FLAG): append FLAG to VARIABLE if the compiler takes
dnl it without a warning, given what VARIABLE already holds (-Werror=format-security
dnl is refused without -Wformat).  clang only warns of unknown -W options, hence the
dnl -Werror during the try.
AC_DEFUN([SBX_ADD_CFLAG], [
  AS_VAR_PUSHDEF([sbx_ok], [sbx_cv_cflag_$2])
  AC_CACHE_CHECK([whether $CC accepts $2], [sbx_ok], [
    sbx_save=$CFLAGS
    CFLAGS="-O2 -Werror $CFLAGS $$1 $2"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
      #include <stdio.h>
      int main(int argc, char **argv) { return printf("%s", argv[argc - 1]) < 0; }]])],
      [AS_VAR_SET([sbx_ok], [yes])], [AS_VAR_SET([sbx_ok], [no])])
    CFLAGS=$sbx_save
  ])
  AS_VAR_IF([sbx_ok], [yes], [AS_VAR_APPEND([$1], [" $2"])])
  AS_VAR_POPDEF([sbx_ok])
])

dnl SBX_ADD_LDFLAG(VARIABLE, FLAG): the same for the linker.
AC_DEFUN([SBX_ADD_LDFLAG], [
  AS_VAR_PUSHDEF([sbx_ok], [sbx_cv_ldflag_$2])
  AC_CACHE_CHECK([whether the linker accepts $2], [sbx_ok], [
    sbx_save=$LDFLAGS
    LDFLAGS="-Werror $LDFLAGS $$1 $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()],
      [AS_VAR_SET([sbx_ok], [yes])], [AS_VAR_SET([sbx_ok], [no])])
    LDFLAGS=$sbx_save
  ])
  AS_VAR_IF([sbx_ok], [yes], [AS_VAR_APPEND([$1], [" $2"])])
  AS_VAR_POPDEF([sbx_ok])
])

dnl SBX_ADD_CFLAGS(VARIABLE, FLAGS), SBX_ADD_LDFLAGS(VARIABLE, FLAGS): one try a flag.
dnl The loop variable is not called f (m4 would rewrite every "rm -f"), and it is passed
dnl as m4_defn: flags hold commas, and each needs a cache variable of its own.
AC_DEFUN([SBX_ADD_CFLAGS],
  [m4_foreach_w([sbx_flag], [$2], [SBX_ADD_CFLAG([$1], m4_defn([sbx_flag]))])])
AC_DEFUN([SBX_ADD_LDFLAGS],
  [m4_foreach_w([sbx_flag], [$2], [SBX_ADD_LDFLAG([$1], m4_defn([sbx_flag]))])])
