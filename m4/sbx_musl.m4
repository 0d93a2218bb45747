dnl SBX_MUSL: how to compile and link with musl, in MUSL_CPPFLAGS, MUSL_LDFLAGS (what comes before the objects) and MUSL_LIBS (what comes
dnl after); empty where it was not found or not wanted.
dnl
dnl The guest is started once a run.  A static program of glibc's asks the processor for its features before main, and in a virtual
dnl machine each such question is answered by the hypervisor: a quarter of a millisecond.  musl asks nothing, and is a tenth of the size.
dnl Its wrapper musl-gcc cannot link a static PIE, nor sees the kernel's headers; hence the compiler itself, with musl's folders.
AC_DEFUN([SBX_MUSL], [
  AC_ARG_WITH([musl],
    [AS_HELP_STRING([--without-musl], [link the guest with the system's C library, also where musl is there])],
    [], [with_musl=auto])
  AC_CACHE_CHECK([for musl], [sbx_cv_musl], [
    sbx_cv_musl=no
    sbx_machine=`$CC -dumpmachine | sed 's/-.*//'`
    AS_IF([test "$with_musl" != no], [
      for sbx_dirs in \
        "/usr/include/$sbx_machine-linux-musl /usr/lib/$sbx_machine-linux-musl" \
        "/usr/$sbx_machine-linux-musl/include /usr/$sbx_machine-linux-musl/lib64" \
        "/usr/$sbx_machine-linux-musl/include /usr/$sbx_machine-linux-musl/lib"
      do
        set $sbx_dirs
        AS_IF([test -e "$[]1/stdlib.h" && test -e "$[]2/rcrt1.o" && test -e "$[]2/libc.a"],
          [sbx_cv_musl=$sbx_dirs; break])
      done])])
  AS_IF([test "$sbx_cv_musl" != no], [
    set $sbx_cv_musl
    sbx_own=`$CC -print-file-name=include`
    MUSL_CPPFLAGS="-nostdinc -isystem $[]1 -isystem $sbx_own -idirafter /usr/include"
    AS_IF([test -d "/usr/include/`$CC -print-multiarch 2>/dev/null`/asm"],
      [AS_VAR_APPEND([MUSL_CPPFLAGS], [" -idirafter /usr/include/`$CC -print-multiarch`"])])
    MUSL_LDFLAGS="-nostdlib $[]2/rcrt1.o $[]2/crti.o"
    MUSL_LIBS="$[]2/libc.a `$CC -print-libgcc-file-name` $[]2/crtn.o"],
    [test "$with_musl" = yes], [AC_MSG_ERROR([musl not found: install musl-dev])])
  AC_SUBST([MUSL_CPPFLAGS])
  AC_SUBST([MUSL_LDFLAGS])
  AC_SUBST([MUSL_LIBS])
])
