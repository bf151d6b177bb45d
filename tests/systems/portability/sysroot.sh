#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/portability/sysroot.sh ROOT COMPILER CMOCKA-SOURCE
# Makes in ROOT what our build asks of the other system beyond its C library: cmocka, compiled with COMPILER; libfabric, of
# which headers are enough because it is loaded at run time; the kernel's headers, which musl does not bring.
set -eu
root=$1 compiler=$2 cmocka=$3
mkdir -p "$root/include" "$root/lib" "$root/pkgconfig"

ln -sfn /usr/include/rdma "$root/include/rdma"
if [ "$compiler" = musl-gcc ]; then
	ln -sfn /usr/include/linux "$root/include/linux"
	ln -sfn /usr/include/asm-generic "$root/include/asm-generic"
	ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$root/include/asm"
fi
cp "$cmocka"/include/cmocka*.h "$root/include"
have=(-DHAVE_{INTTYPES,SIGNAL,STRINGS,MALLOC}_H -DHAVE_{STRSIGNAL,SIGLONGJMP,STRUCT_TIMESPEC,CLOCK_REALTIME,CLOCK_GETTIME}
	-DHAVE_GCC_THREAD_LOCAL_STORAGE)
"$compiler" -O1 -w "${have[@]}" -I"$cmocka/include" -c "$cmocka/src/cmocka.c" -o "$root/lib/cmocka.o"
ar rcs "$root/lib/libcmocka.a" "$root/lib/cmocka.o"

package() # NAME VERSION LIBRARIES
{
	printf 'Name: %s\nDescription: of the sysroot\nVersion: %s\nCflags: -I%s/include\nLibs: %s\n' \
		"$1" "$2" "$root" "$3" >"$root/pkgconfig/$1.pc"
}
package libfabric "$(pkg-config --modversion libfabric)" ""
package cmocka 1.1 "-L$root/lib -lcmocka"
printf "[constants]\nsysroot = '%s'\n" "$root" >"$root/sysroot.ini"
