#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/systems/install/run.sh BUILD
# Installs a compiled BUILD into a temporary place and uses it from there as any program would: through pkg-config, shared and
# static, from C and C++; then runs the examples.  Ends with the line "N passed, N failed, N skipped".
set -u
build=$(realpath "${1:?usage: tests/systems/install/run.sh BUILD}")
cd "$(dirname "$0")" || exit 1
stage=$(mktemp -d) || exit 1
trap 'rm -rf "$stage"' EXIT
export PTL_IFACE=lo

# shellcheck source=tests/ci/tally.sh
. ../../ci/tally.sh

check "meson install" meson install -C "$build" --no-rebuild --destdir "$stage/root"
description=$(find "$stage/root" -name portals3.pc -print -quit)
check "portals3.pc is installed" test -n "$description"
[ $failed -eq 0 ] || { summary; exit 1; }

[ ! -d "$build/docs/man" ] || check "manual pages are installed" test -s "$(find "$stage/root" -path '*/man3/PtlPut.3' -print -quit)"
# The place it was configured for is the prefix in portals3.pc; the place it lies in is below the stage.
prefix=$stage/root$(sed -n 's/^prefix=//p' "$description")
export PKG_CONFIG_PATH=${description%/*}
portals3()
{
	pkg-config --define-variable=prefix="$prefix" "$@" portals3
}
libraries=$(portals3 --variable=libdir)
read -ra cflags < <(portals3 --cflags)
read -ra shared < <(portals3 --libs)
read -ra static < <(portals3 --static --libs)
static=("${static[@]/#-lportals3/$libraries/libportals3.a}")
strict=(-Wall -Wextra -Wpedantic -Werror)

soname()
{
	readelf -d "$libraries/libportals3.so" | grep -E 'SONAME.*\[libportals3\.so\.[0-9]+\]'
}

# Every name a program may include a header by, those through the folder portals/ too.
names()
{
	(cd "$prefix/include" && find -L . -name '*.h' -printf '%P\n' | sort)
}

headers() # COMPILER...: each alone, without any other before it
{
	local header
	for header in $(names); do
		printf '#include <%s>\nextern int anything;\n' "$header" | "$@" "${strict[@]}" "${cflags[@]}" -fsyntax-only - || return 1
	done
}

together() # COMPILER...: all in one file, in both orders, as programs do that include what they once needed
{
	{
		names | sed 's/.*/#include <&>/'
		names | sort -r | sed 's/.*/#include <&>/'
	} | "$@" "${strict[@]}" "${cflags[@]}" -fsyntax-only -
}

by_macro() # the network layer by a macro, as the reference implementation's programs name it
{
	printf '#include <portals3.h>\n#include P3_NAL\nint main(void) { return PTL_IFACE_DEFAULT == 1; }\n' |
		cc "${strict[@]}" "${cflags[@]}" -DP3_NAL='<p3nal_utcp.h>' -x c -fsyntax-only -
}

old_c() # STANDARD PROGRAM: as the reference implementation's own programs were compiled and linked
{
	cc -std="$1" -Wall -Wextra -Werror "${cflags[@]}" -DP3_NAL='<p3nal_utcp.h>' old_job.c -o "$2" "-L$libraries" \
		-lp3utcp -lp3api -lp3lib -lp3rt -lp3utcp
}

old_cc() # STANDARD PROGRAM
{
	c++ -std="$1" "${strict[@]}" "${cflags[@]}" '-DPORTALS_HEADER=<portals/portals3.h>' \
		'-DPORTALS_NAL_HEADER=<portals/p3nal_utcp.h>' '-DPORTALS_RT_HEADER=<portals/p3rt/p3rt.h>' \
		old_service.cc -o "$2" "-L$libraries" -lportals
}

driver() # PROGRAM COMPILER...: the job is asked of libcnos.a too, where that is installed
{
	local program=$1 kernel=() flags=()
	shift
	[ ! -f "$libraries/libcnos.a" ] || { flags=(-DWITH_CNOS) kernel=(-lcnos); }
	"$@" -Wall -Wextra -Werror "${flags[@]}" "${cflags[@]}" old_driver.c -x none -o "$program" "-L$libraries" "${kernel[@]}" \
		-lportals
}

node_id()
{
	[ "$(use "$prefix/bin/utcp_nid" lo)" = 0x7f000001 ] && ! use "$prefix/bin/utcp_nid" no-such-device0
}

job() # TRANSPORT PROGRAM: three ranks, which know each other from the environment
{
	local pid rank ranks=() status=0
	local first=$((0x10000000 + $$ * 4)) # longer than any Unix pid
	export PTL_NIDMAP=0x7f000001:0x7f000001:0x7f000001 PTL_PIDMAP=$first:$((first + 1)):$((first + 2))
	for rank in 0 1 2; do
		PTL_TRANSPORT=$1 PTL_MY_RID=$rank use "$2" &
		ranks+=($!)
	done
	for pid in "${ranks[@]}"; do
		wait "$pid" || status=1
	done
	unset PTL_NIDMAP PTL_PIDMAP
	return $status
}

version()
{
	meson introspect "$build" --projectinfo | grep -F "\"version\": \"$(portals3 --modversion)\""
}

use() # COMMAND...: with the installed shared library
{
	LD_LIBRARY_PATH=$libraries timeout 240 "$@"
}

refused_alone() # PROGRAM VARIABLE=VALUE...
{
	env "${@:2}" timeout 240 "$1" >"$stage/refusal" 2>&1
	[ $? -eq 1 ] && grep -F "linked with -static" "$stage/refusal" && ! grep -F "install" "$stage/refusal"
}

silent_alone() # PROGRAM TRANSPORT: where libfabric is not wanted, nothing is said of it
{
	PTL_TRANSPORT=$2 timeout 240 "$1" 2>"$stage/said" && [ ! -s "$stage/said" ]
}

# A program may call what it likes by the names of our own functions.
no_other_names()
{
	nm -g --defined-only "$libraries/libportals3.a" | awk 'NF == 3 && $3 !~ /^(Ptl.*|ptl_.*|p3_out|p3tcp_my_nid)$/ {print; found = 1}
		$3 == "PtlPut" {put = 1} END {exit found || !put}'
}

misuse() # PROGRAM
{
	use "$1" nonsense
	[ $? -eq 2 ]
}

check "the library has a soname" soname
check "the library exports the API and nothing else" \
	../../ci/symbols.sh "$libraries/libportals3.so" "$build" "$prefix"/include/*.h "$prefix"/include/p3*/*.h
check "portals3.pc has the version of the project" version
check "every header compiles alone as C11" headers cc -std=c11 -x c
check "every header compiles alone as C89" headers cc -std=c89 -x c
check "every header compiles alone as C++17" headers c++ -std=c++17 -x c++
check "every header compiles alone as C++98" headers c++ -std=c++98 -x c++
check "all headers compile together as C11" together cc -std=c11 -x c
check "all headers compile together as C++17" together c++ -std=c++17 -x c++
check "the network layer's header is included by a macro" by_macro

check "compile against the shared library" \
	cc -std=c11 "${strict[@]}" "${cflags[@]}" program.c -o "$stage/shared" "${shared[@]}"
check "run with the shared library" use "$stage/shared"
check "compile against the static library" \
	cc -std=c11 "${strict[@]}" "${cflags[@]}" program.c -o "$stage/static" "${static[@]}"
check "run with the static library" timeout 240 "$stage/static"
check "the static library defines the API and nothing else" no_other_names
check "compile an executable without any shared library" \
	cc -static -std=c11 "${strict[@]}" "${cflags[@]}" program.c -o "$stage/alone" "${static[@]}"
for transport in auto node self; do
	check "run it over $transport" env PTL_TRANSPORT=$transport timeout 240 "$stage/alone"
done
check "compile one that has loaded something itself" \
	cc -static -std=c11 "${strict[@]}" "${cflags[@]}" program.c preload.c -o "$stage/loaded" "${static[@]}"
for alone in alone loaded; do
	check "$alone: it says why it does without libfabric" refused_alone "$stage/$alone" PTL_TRANSPORT=ofi:tcp
	for transport in self node; do
		check "$alone: nothing is said over $transport" silent_alone "$stage/$alone" $transport
	done
	check "$alone: it says why it cannot join a job" \
		refused_alone "$stage/$alone" PMIX_RANK=1 PMIX_NAMESPACE=x
done

for names in "-lp3utcp -lp3api -lp3lib -lp3rt -lp3utcp" "-lportals3 -lportals3-utcp" \
	-lp3api -lp3lib -lp3rt -lp3utcp -lportals3-utcp -lportals; do
	read -ra old < <(echo "$names")
	check "link with $names" cc -std=c11 "${strict[@]}" "${cflags[@]}" program.c -o "$stage/old" "-L$libraries" "${old[@]}"
	check "run what was linked with $names" use "$stage/old"
done

for standard in gnu89 gnu17; do
	check "compile a program in the reference implementation's manner as $standard" old_c $standard "$stage/old_job"
	for transport in node ofi:tcp; do
		check "three processes of it over $transport" job $transport "$stage/old_job"
	done
done
for standard in c++98 c++17; do
	check "compile an old service as $standard" old_cc $standard "$stage/old_service"
	for transport in node ofi:tcp; do
		check "two clients and a server of it over $transport" use env PTL_TRANSPORT=$transport "$stage/old_service"
	done
done

for compiler in "cc -std=gnu89" "cc -std=c89" "cc -std=c11" "c++ -std=c++98 -x c++" "c++ -std=c++17 -x c++"; do
	read -ra command < <(echo "$compiler")
	check "compile a program of Cray's and Lustre's manner with $compiler" driver "$stage/old_driver" "${command[@]}"
	check "run it" use env PTL_TRANSPORT=node "$stage/old_driver"
done
check "utcp_nid prints the node id of a device" node_id

# The library is not compiled for the sanitizer, the program is.
# Where both threads always come to it in turn, as on a busy machine, the sanitizer sees an order: several tries.
reported() # PROGRAM ARGUMENT...
{
	local tries
	for tries in {1..20}; do
		echo "try $tries"
		use env TSAN_OPTIONS=exitcode=66:halt_on_error=1 "$@" >"$stage/races.log" 2>&1
		[ $? -ne 66 ] || break
	done
	grep -F "WARNING: ThreadSanitizer: data race" "$stage/races.log"
}

check "compile a program for the thread sanitizer" \
	cc -std=gnu11 -g -O1 "${strict[@]}" "${cflags[@]}" -fsanitize=thread races.c -o "$stage/races" "${shared[@]}"
for mode in shared dedicated; do
	check "within a process its delivered buffers are no races, $mode" \
		use env PTL_TRANSPORT=self PTL_NIC_MODE=$mode TSAN_OPTIONS=exitcode=66 "$stage/races" self
	for transport in node ofi:tcp ofi:net; do
		check "between two over $transport they are none, $mode" \
			use env PTL_TRANSPORT=$transport PTL_NIC_MODE=$mode TSAN_OPTIONS=exitcode=66 "$stage/races"
	done
done
check "a race is one all the same" reported env PTL_TRANSPORT=self "$stage/races" self early

for example in hello_put hello_get hello_epoll ready; do
	check "compile $example as a user would" \
		cc -std=gnu11 "${cflags[@]}" "../../../examples/$example.c" -o "$stage/$example" "${shared[@]}"
	for transport in ofi:tcp ofi:net; do
		check "$example over $transport" \
			use env PTL_TRANSPORT=$transport "$stage/$example"
	done
	check "$example refuses nonsense with the exit status for wrong usage" \
		misuse "$stage/$example"
done
summary
