#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds everything and tests everything; `tests/run.sh --help` says how.  A group is a function group_NAME; it counts
# with pass, fail, skip and add.  Logs and builds stay in build-tests/ (or $PORTALS_TEST_BUILD) for a search for a cause.
set -u
cd "$(dirname "$0")/.." || exit 1
source=$PWD
builds=${PORTALS_TEST_BUILD:-$source/build-tests}
# In the order in which they begin: those that take long first.
daily="unit portability behaviour conformance threads stress security lint clients layers fuzz hosts rxe crash containers launch spin model install"
groups="$daily mutants"
# Each keeps every processor busy by itself: one at a time, and two when all others have begun, for the last ones leave
# a processor idle now and then.  Of the others, which wait most of the time, so many.
computing="portability lint fuzz rxe spin model mutants"
most_waiting=3
jobs=$(nproc)

usage()
{
	cat <<-TEXT
	usage: tests/run.sh [--only GROUP[,GROUP...]] [--no-skip] [--quick [--base REF] | --nightly]
	       tests/run.sh --test NAME

	Installs what is missing (Debian; as root or with sudo), builds in build-tests/ or \$PORTALS_TEST_BUILD, runs the
	daily groups or those named, those that do not disturb each other side by side, and ends with the line
	"N passed, N failed, N skipped".

	groups:
	  unit         one part of the library at a time; release build, address+undefined and thread sanitizers
	  behaviour    what this implementation promises beyond Portals 3.3, over self, node and ofi:net in every NIC
	               mode, over ofi:tcp in shared mode (in every one with --nightly); release, address+undefined
	  conformance  each sentence of Portals 3.3, likewise (\`build/tests/conformance --list\`: which test proves which);
	               its core over ofi:udp and ofi:shm (over ofi:verbs: rxe)
	  clients      programs written for other implementations of Portals 3.3, likewise
	  layers       active messages, Split-C, remote memory, the object store and each call of minimpi over node and ofi:tcp; programs
	               beside another MPI; with --nightly address+undefined, thread, ofi:net, and between network namespaces
	  threads      calls, waiters and handlers in many threads, closing under traffic, fork, two interfaces, exit; release,
	               address+undefined, thread
	  model        random programs against a reference model, 40 s; address+undefined
	  stress       many threads, dying peers, floods, 32 processes that put to each other; release, address+undefined, thread;
	               with --nightly five million peers of one server on node, 20 000 over tcp and net, and 256 processes
	  crash        processes of a node killed or stopped at every step of their transport, 60 s (1500 runs with --nightly)
	  containers   what containers forbid: tracing, user ids, pid namespaces; needs root for most of it
	  security     outsiders and liars at the doors of processes that talk, over ofi:tcp, ofi:net and node; what keys
	               (ofi:udp too) and user ids are worth. (Other users on a node: containers.)
	  hosts        processes on two or three hosts (network namespaces; needs root): conformance over the network
	               between them, node and network at once, delay, loss, a link that fails, a host that vanishes
	  spin         models: no thread sleeps through work, whichever owns the NIC, nothing in shared memory is lost;
	               and the same broken on purpose; a third a day and what has changed, all with --nightly
	  fuzz         malformed bytes against the decoders of messages, shared memory, control messages, settings and tuning files, well-formed
	               lies against the engine, 12 s each, ten minutes with --nightly (libFuzzer)
	  lint         format, clang-tidy, cppcheck, shellcheck, licences, settings and documentation
	  install      an installed library found by pkg-config, shared and static, and the examples; Debian packages
	  portability  aarch64 and s390x under emulation, musl, messages between byte orders; the library loaded and unloaded,
	               messages of 5 GiB; with --nightly a newer libfabric, Debian 13's, and packages there
	  rxe          RDMA: ofi:verbs on soft-RoCE in QEMU guests, two processes in one and one in each of two; with --nightly
	               every test of ptlbench there, and conformance over node in a guest with eight processors and two NUMA nodes
	  launch       jobs started by mpirun and srun, over two hosts too (network namespaces, Slurm: root)
	  mutants      the engine broken on purpose, one line at a time: conformance or model must notice (10 minutes;
	               only with --nightly or when named)

	  --only     run these groups only
	  --test     run one test everywhere: a name that 'meson test --list' shows, or one that a program shows with --list
	  --no-skip  a skipped test is a failure
	  --quick    before a commit: lint of the files that differ from --base (if it is not given, from where
	             the branch left origin/main), unit in the release build, conformance over self, node and once
	             tcp, model 20 s
	  --nightly  longer tests and fuzzing, and all combinations under the sanitizers
	  --help     this text

	exit status: 0 nothing failed, 1 something did, 2 wrong usage
	TEXT
}

misuse()
{
	echo "tests/run.sh: $1; groups: ${groups// /, }; see tests/run.sh --help" >&2
	exit 2
}

selected="" no_skip=no nightly=no quick=no base="" one_test=""
while [ $# -gt 0 ]; do
	case $1 in
	--only)
		[ -n "${2:-}" ] || misuse "--only needs the name of a group"
		selected=${2//,/ }
		shift
		;;
	--no-skip) no_skip=yes ;;
	--test)
		[ -n "${2:-}" ] || misuse "--test needs the name of a test"
		one_test=$2
		shift
		;;
	--base)
		[ -n "${2:-}" ] || misuse "--base needs a commit"
		base=$2
		shift
		;;
	--quick) quick=yes ;;
	--nightly) nightly=yes ;;
	--help) usage; exit 0 ;;
	*) misuse "unknown argument '$1'" ;;
	esac
	shift
done
[ $quick = no ] || [ $nightly = no ] || misuse "--quick and --nightly exclude each other"
[ -z "$base" ] || [ $quick = yes ] || misuse "--base is of --quick"
case $quick$nightly in
noyes) usual=$groups ;;
yesno) usual="unit lint conformance model" ;;
*) usual=$daily ;;
esac
selected=${selected:-$usual}
selected=${selected//models/spin} # its old name, for one version
for group in $selected; do
	[[ " $groups " == *" $group "* ]] || misuse "unknown group '$group'"
done

# Settings of the caller's shell would change what is tested.
unset "${!PTL_@}" "${!FI_@}"
export PORTALS_TEST_NIGHTLY=$nightly
# Each process of each test would read all debugging information to name leaks that are suppressed: results.py names what fails.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:symbolize=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export LSAN_OPTIONS=suppressions=$source/tests/support/sanitizers/lsan.supp:print_suppressions=0
export TSAN_OPTIONS=suppressions=$source/tests/support/sanitizers/tsan.supp:second_deadlock_stack=1
logs=$builds/logs
mkdir -p "$logs" || exit 1
rm -f "$logs"/built-* "$logs"/group-*

passed=0 failed=0 skipped=0
add() # PASSED FAILED SKIPPED
{
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

pass() # NAME
{
	echo "  ok   $1"
	add 1 0 0
}

fail() # NAME REASON [LOG]
{
	echo "  FAIL $1: $2"
	[ -z "${3:-}" ] || tail -n 40 "$3" | sed 's/^/    | /'
	add 0 1 0
}

skip() # NAME REASON
{
	echo "  skip $1: $2"
	add 0 0 1
}

# One test that is one command: passes if the command does.
check() # NAME COMMAND...
{
	local name=$1 log=$logs/${1//[^a-zA-Z0-9]/-}.txt
	shift
	if timeout "${limit:-1200}" "$@" >"$log" 2>&1 </dev/null; then
		pass "$name"
	else
		fail "$name" "'$*' ended with status $?" "$log"
	fi
}

# Results of meson or of a program, counted and described by results.py.
collect() # its arguments
{
	local text
	text=$(python3 tests/support/results.py "$@") || { fail "$*" "results cannot be read"; return; }
	[ "$text" != "0 0 0" ] || { fail "$*" "no test ran"; return; }
	printf '%s\n' "$text" | head -n -1
	# shellcheck disable=SC2046 # three numbers
	add $(printf '%s\n' "$text" | tail -n 1)
}

# A program of ours that counts for itself.
program() # NAME COMMAND...
{
	local log=$logs/$1.txt began=$SECONDS
	shift
	timeout "${limit:-1200}" "$@" >"$log" 2>&1 </dev/null
	collect "$log" $? $((SECONDS - began))
}

# A network may stumble, and another process may be installing: a few tries, a little apart.
apt() # ARGUMENT...
{
	local root=() tries
	[ "$(id -u)" -eq 0 ] || root=(sudo -n)
	for tries in 1 2 3; do
		[ $tries -eq 1 ] || sleep 5
		"${root[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@" && return 0
	done
	return 1
}

rm -f "$logs/apt-updated"
install_packages() # PACKAGE...
{
	command -v apt-get >/dev/null || return 1
	[ "$(id -u)" -eq 0 ] || sudo -n true || return 1
	(
		flock 9 # groups that run side by side install one after the other
		if [ ! -e "$logs/apt-updated" ]; then
			: >"$logs/apt-updated" # once, however it ends: what cannot be reached costs minutes, and the lists there are may do
			apt update
		fi
		echo "  installing $*"
		apt install -y --no-install-recommends "$@"
	) 9>"$logs/packages.lock"
} >>"$logs/packages.txt" 2>&1 </dev/null

# Makes sure that all of these are there: COMMAND=PACKAGE, or PKG-CONFIG-MODULE.pc=PACKAGE, or /a/file/pattern=PACKAGE.
need()
{
	local pair what missing=()
	for pair; do
		what=${pair%=*}
		case $what in
		*.pc) pkg-config --exists "${what%.pc}" 2>/dev/null || missing+=("${pair#*=}") ;;
		/*) compgen -G "$what" >/dev/null || missing+=("${pair#*=}") ;;
		*) command -v "$what" >/dev/null || missing+=("${pair#*=}") ;;
		esac
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	echo "  installing: ${missing[*]}"
	install_packages "${missing[@]}" && return 0
	echo "  cannot install: ${missing[*]} (see $logs/packages.txt)"
	return 1
}

# What of a variant is compiled: everything, unless little of it is run.
targets_of() # NAME
{
	case $1$quick in
	faults*) echo tests/crash ;;
	addressyes) echo tests/model ;;
	threadno)
		echo tests/threads tests/stress tests/newcomers tests/scale tests/wire-exchange
		ninja -C "$builds/$1" -t targets all | sed -n 's|^\(tests/unit-[^:.]*\):.*|\1|p'
		[ $nightly = no ] || echo tests/layers tests/mpi-test tests/mpi-death
		[ $nightly = no ] || ninja -C "$builds/$1" -t targets all | sed -En 's#^(examples/(minimpi|object_store)/[a-z_]*|tests/layers-object): c_LINKER.*#\1#p'
		;;
	esac
}

# Configures and compiles one variant, once; a group that needs it meanwhile waits, and the one that builds it counts its failure.
build() # release | address | thread | faults
{
	local name=$1 lock status result=$logs/built-$1
	exec {lock}>"$builds/$name.lock"
	flock "$lock"
	if [ ! -e "$result" ]; then
		compile "$name"
		echo $? >"$result"
	fi
	flock -u "$lock"
	exec {lock}>&-
	read -r status <"$result"
	return "$status"
}

compile() # NAME
{
	local name=$1 dir=$builds/$1 log=$logs/build-$1.txt began=$SECONDS options bench=enabled targets
	# Warnings that only instrumented code gets are about the instruments: fences, flow of values.
	# The address sanitizer's takes half as long to compile with little optimisation.  Reports need lines, nothing else of
	# what debuggers are told (meson.build); manual pages are one build's business.
	options=(-Dbuildtype=debugoptimized -Ddebug=false -Dwerror=false -Db_lundef=false -Ddocs=disabled -Dsanitize="$name")
	[ "$name" != address ] || options+=(-Doptimization=1)
	[ "$name" != release ] || options=(-Dbuildtype=release -Dwerror=true -Dcnos=true)
	[ "$name" != faults ] || options=(-Dbuildtype=release -Dwerror=true -Ddocs=disabled -Dfaults=true)
	[ "$name" = release ] || [ $nightly = yes ] || bench=disabled
	[ ! -f "$dir/build.ninja" ] || options+=(--reconfigure)
	if meson setup "$dir" "$source" "${options[@]}" -Dtests=enabled -Dexamples=enabled -Dbench=$bench >"$log" 2>&1 &&
		mapfile -t targets < <(targets_of "$name" | tr ' ' '\n') &&
		ninja -C "$dir" -j "$jobs" --quiet "${targets[@]}" >>"$log" 2>&1; then
		echo "  build $name: $((SECONDS - began)) s"
	else
		fail "build $name" "meson or ninja failed" "$log"
		return 1
	fi
}

# Some programs of one build at a time: they wait more than they compute.
meson_tests() # BUILD NAME-OF-LOG MESON-ARGUMENT...
{
	local name=$1 log=$builds/$1/meson-logs/$2.json text=$logs/$1-$2.txt base=$2 patience=4 together=3
	shift 2
	[ "$name" = release ] || patience=8
	[ $nightly = no ] || patience=$((patience * 5))
	[ "$name" != thread ] || together=2 # threads that compute
	rm -f "$log"
	meson test -C "$builds/$name" --no-rebuild --num-processes $together --timeout-multiplier $patience \
		--logbase "$base" "$@" >"$text" 2>&1 </dev/null
	[ -f "$log" ] || { fail "$name $base" "meson ran nothing" "$text"; return; }
	collect "$name" "$log"
}

# At night also what tests/meson.build keeps for it.
suite() # BUILD SUITE [TEST...]
{
	local name=$1 group=$2 suites=(--suite "$2")
	shift 2
	[ $nightly = no ] || suites+=(--suite "$group-nightly")
	build "$name" && meson_tests "$name" "$group" "${suites[@]}" "$@"
}

# Under a sanitizer every complete transport and every mode of the NIC at least once, instead of all combinations; those at
# night.  Threads of libfabric's transport are the same over tcp and net: the thread sanitizer sees net.
suite_sanitized() # BUILD SUITE [TEST...]
{
	local name=$1 group=$2 combination chosen=()
	shift 2
	if [ $nightly = no ]; then # otherwise everything
		for combination in "self host" "node shared" "node dedicated" "ofi_tcp shared" "ofi_net dedicated"; do
			[ "$name $combination" = "thread ofi_tcp shared" ] || chosen+=("portals3:$group $combination")
		done
		echo "  $name: $group in ${#chosen[@]} combinations (all with --nightly)"
		set -- "${chosen[@]}" "$@"
	fi
	[ $nightly = no ] || set --
	suite "$name" "$group" "$@"
}

group_unit()
{
	suite release unit
	[ $quick = no ] || return 0
	suite address unit
	suite thread unit
}

group_behaviour()
{
	need "/usr/lib/python3/dist-packages/jsonschema/__init__.py=python3-jsonschema" ||
		skip "forms of JSON files" "no python3-jsonschema: timeline, bench_report and others leave them out"
	if [ $nightly = yes ]; then
		need chromium=chromium || skip "report in a browser" "no chromium"
	fi
	suite release behaviour
	suite release standing
	suite_sanitized address behaviour hello_put hello_get
}

group_conformance()
{
	if [ $quick = yes ]; then
		suite release conformance "portals3:conformance "{self,node}\ {shared,dedicated,host} "portals3:conformance ofi_tcp shared"
		return
	fi
	suite release conformance
	suite_sanitized address conformance
}

group_clients()
{
	suite release clients
	suite_sanitized address clients
}

group_layers()
{
	need mpirun=openmpi-bin "/usr/lib/*/openmpi/include/mpi.h=libopenmpi-dev" ||
		skip "programs of MPI compared with Open MPI" "no libopenmpi-dev"
	suite release layers
	[ $nightly = no ] || suite address layers
	[ $nightly = no ] || suite thread layers
}

group_threads()
{
	suite release threads
	suite_sanitized address threads
	suite_sanitized thread threads
}

group_launch()
{
	need mpirun=openmpi-bin srun=slurm-client slurmctld=slurmctld slurmd=slurmd munged=munge ip=iproute2
	build release || return
	program launch tests/systems/launch/run.sh "$builds/release"
}

# Seeds are new every day: a failure prints the one it had.
group_model()
{
	local seconds=20 mode
	[ $nightly = no ] || seconds=1200
	[ $quick = no ] || seconds=10
	build address || return
	for mode in exact free; do
		limit=$((seconds * 3 + 120)) check "model, $mode mode, $seconds s" \
			"$builds/address/tests/model" --$mode --seconds $seconds
	done
}

group_mutants()
{
	limit=7200 program mutants tests/model/mutants/run.py "$builds/mutants"
}

group_stress()
{
	local provider deadline
	suite release stress
	suite_sanitized address stress
	suite_sanitized thread stress
	[ $nightly = yes ] || return 0
	build release || return
	deadline=$((SECONDS + 7200)) # of the three together
	limit=3600 program newcomers-node "$builds/release/tests/newcomers" --peers 5000000 --processes 50000 --report 100000
	for provider in tcp net; do
		limit=$(((deadline - SECONDS) / 2)) program newcomers-$provider "$builds/release/tests/newcomers" --transport ofi:$provider \
			--peers 20000 --processes 200 --report 1000
	done
	limit=3600 program newcomers-stalled "$builds/release/tests/newcomers" --peers 30000 --busy 2 --stall 20
	program scale-node "$builds/release/tests/scale" --processes 256
	program scale-tcp "$builds/release/tests/scale" --transport ofi:tcp --processes 32
}

group_crash()
{
	build faults || return
	if [ $nightly = no ]; then
		limit=900 program crash "$builds/faults/tests/crash" --seconds 60
	else
		limit=7200 program crash "$builds/faults/tests/crash" --runs 1500
	fi
}

group_containers()
{
	suite release containers
	suite address containers
}

# Release measures, and prints, how long outsiders held up honest processes; under the sanitizer they must do no harm.
group_security()
{
	local chosen=()
	[ $nightly = yes ] || chosen=("portals3:security ofi_net")
	export PORTALS_TEST_FIGURES=$logs/security-figures.txt
	rm -f "$PORTALS_TEST_FIGURES"
	suite release security
	[ ! -f "$PORTALS_TEST_FIGURES" ] || cat "$PORTALS_TEST_FIGURES"
	unset PORTALS_TEST_FIGURES
	suite address security "${chosen[@]}"
}

group_hosts()
{
	need ip=iproute2 || { skip hosts "no ip to make devices with"; return; }
	suite release hosts
}

group_spin()
{
	need spin=spin || { skip spin "no spin"; return; }
	limit=3600 program spin tests/spin/run.sh
}

group_fuzz()
{
	need clang=clang "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a=libclang-rt-dev" ||
		{ skip fuzz "no clang with libFuzzer"; return; }
	local seconds=12
	[ $nightly = no ] || seconds=600
	ASAN_OPTIONS=${ASAN_OPTIONS%:symbolize=0} limit=$((seconds * 10 + 600)) program fuzz tests/fuzz/run.sh "$builds/fuzz" $seconds
}

group_lint()
{
	need clang-format=clang-format clang-tidy=clang-tidy cppcheck=cppcheck shellcheck=shellcheck doxygen=doxygen mandoc=mandoc dot=graphviz
	build release || return
	if [ $quick = yes ] && [ -z "$base" ]; then
		base=$(git merge-base origin/main HEAD 2>/dev/null || echo HEAD)
	fi
	# When it is not named, nor night: clang-tidy looks at the tests and at ptlbench only where a branch has changed them.
	if [ "$selected" = "$daily" ]; then
		program lint tests/ci/lint.sh "$builds/release" --library "$(git merge-base origin/main HEAD 2>/dev/null || echo HEAD)"
	else
		program lint tests/ci/lint.sh "$builds/release" ${base:+--base "$base"}
	fi
}

group_install()
{
	need g++=g++
	build release || return
	program install tests/systems/install/run.sh "$builds/release"
	if need gdb=gdb; then
		program gdb tests/systems/install/gdb.sh "$builds/debugger"
	else
		skip gdb "no gdb"
	fi
	need abidiff=abigail-tools
	program abi tests/systems/install/abi.sh "$builds/debugger"
	need cmake=cmake
	if [ $nightly = yes ]; then
		need rpmbuild=rpm mmdebstrap=mmdebstrap
		limit=3600 program recipes tests/systems/install/recipes.sh "$builds/release" --nightly
	else
		program recipes tests/systems/install/recipes.sh "$builds/release"
	fi
	need dh=debhelper dpkg-buildpackage=dpkg-dev lintian=lintian doxygen=doxygen pmix.pc=libpmix-dev ||
		{ skip packages "not Debian"; return; }
	program packages tests/systems/install/packages.sh
}

group_portability()
{
	suite release portability
	need clang=clang || { skip clang "no clang"; return; }
	need aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu s390x-linux-gnu-gcc=gcc-s390x-linux-gnu musl-gcc=musl-tools \
		qemu-s390x=qemu-user xz=xz-utils /usr/aarch64-linux-gnu/include/stdlib.h=libc6-dev-arm64-cross \
		/usr/s390x-linux-gnu/include/stdlib.h=libc6-dev-s390x-cross ||
		{ skip portability "no compilers for other processors, no musl or no qemu-user"; return; }
	limit=3600 program portability tests/systems/portability/run.sh "$builds/portability"
	[ $nightly = yes ] || return
	need mmdebstrap=mmdebstrap ip=iproute2 || { skip "newer libfabric" "no mmdebstrap"; return; }
	# The sum of its steps, and half an hour to unpack that release.
	limit=31500 program newer-libfabric tests/systems/portability/newer_libfabric.sh "$builds/newer-libfabric"
}

group_rxe()
{
	need qemu-system-x86_64=qemu-system-x86 busybox=busybox-static cpio=cpio depmod=kmod rdma=iproute2 xz=xz-utils \
		"/usr/lib/*/libibverbs/librxe-rdmav*.so=ibverbs-providers" || { skip rxe "no QEMU"; return; }
	build release || return
	limit=1800 program rxe tests/systems/rxe/run.sh "$builds/release" "$builds/rxe"
	[ $nightly = no ] || limit=18000 program suite tests/systems/rxe/run.sh "$builds/release" "$builds/rxe" suite
	[ $nightly = no ] || limit=7200 program numa tests/systems/rxe/run.sh "$builds/release" "$builds/rxe" numa
}

# ---- One test by its name ----

# In the release build's list of meson, or in the list of a program, which then runs it over every transport in every mode.
run_one() # NAME
{
	local dir=$builds/release program programs=""
	build release || return
	if meson test -C "$dir" --list 2>/dev/null | sed 's|.* / ||' | grep -qxF -- "$1"; then
		meson_tests release one "$1"
		return
	fi
	for program in behaviour conformance clients threads stress containers security hosts large; do
		! "$dir/tests/$program" --list 2>/dev/null | grep -qF -- "$1" || programs="$programs $program"
	done
	[ -n "$programs" ] || fail "$1" "no test has this name: 'meson test -C $dir --list' and the programs' --list show them all"
	for program in $programs; do
		program "one-$program" "$dir/tests/$program" --only "$1"
	done
}

# ---- The groups, side by side ----

# Prints what the group has to say, then its results, and leaves them for the total.
run_group() # NAME
{
	local began=$SECONDS processors
	passed=0 failed=0 skipped=0
	echo "== $1"
	"group_$1"
	times >"$logs/group-$1.times"
	processors=$(tail -n 1 "$logs/group-$1.times" | awk -F '[ms ]+' '{ print int($1 * 60 + $2 + $3 * 60 + $4 + 0.5) }')
	echo "== $1: $passed passed, $failed failed, $skipped skipped, $((SECONDS - began)) s ($processors s of processors)"
	echo "$passed $failed $skipped" >"$logs/group-$1.sum"
}

is_computing() # NAME
{
	[[ " $computing " == *" $1 "* ]]
}

may_begin() # NAME
{
	local other waiting=0 computes=0 to_come=no
	for other in $running; do
		if is_computing "$other"; then
			computes=$((computes + 1))
		else
			waiting=$((waiting + 1))
		fi
	done
	if ! is_computing "$1"; then
		[ $waiting -lt $most_waiting ]
		return
	fi
	for other in $queue; do
		is_computing "$other" || to_come=yes
	done
	[ $computes -eq 0 ] || { [ $computes -eq 1 ] && [ $to_come = no ] && [ $waiting -lt $most_waiting ]; }
}

begin_what_may()
{
	local group later=""
	for group in $queue; do
		if may_begin "$group"; then
			{
				run_group "$group"
				[ -e "$logs/group-$group.sum" ] || echo 0 1 0 >"$logs/group-$group.sum"
			} >"$logs/group-$group.txt" 2>&1 &
			running="$running $group"
		else
			later="$later $group"
		fi
	done
	queue=$later
}

gather_what_ended()
{
	local group still=""
	for group in $running; do
		if [ -e "$logs/group-$group.sum" ]; then
			cat "$logs/group-$group.txt"
			# shellcheck disable=SC2046 # three numbers
			add $(<"$logs/group-$group.sum")
		else
			still="$still $group"
		fi
	done
	running=$still
}

# What is known of groups that have not ended; and no process outlives us.
cut_short()
{
	local group
	trap - INT TERM
	for group in $running; do
		cat "$logs/group-$group.txt"
		fail "$group" "was cut short"
	done
	echo "$passed passed, $failed failed, $skipped skipped"
	kill 0
}

began=$SECONDS running="" queue=$selected
trap cut_short INT TERM
if need gcc=gcc meson=meson ninja=ninja-build pkg-config=pkg-config libfabric.pc=libfabric-dev cmocka.pc=libcmocka-dev pmix.pc=libpmix-dev \
	python3=python3 /usr/include/stdlib.h=libc6-dev; then
	if [ -n "$one_test" ]; then
		run_one "$one_test"
	else
		# Before anything is configured: the build makes pages if it finds doxygen, which lint checks, and probes if it finds sdt.h.
		need doxygen=doxygen "/usr/include/*/sys/sdt.h=systemtap-sdt-dev"
		need sqlite3.pc=libsqlite3-dev # likewise: examples/object_store is built where it is
		begin_what_may
		while [ -n "$running" ]; do
			wait -n
			gather_what_ended
			begin_what_may
		done
	fi
else
	fail tests "the compiler, meson, libfabric and cmocka are needed for all of them"
fi
if [ $no_skip = yes ] && [ "$skipped" -gt 0 ]; then
	echo "  FAIL --no-skip: what was skipped above ($skipped) counts as failed"
	failed=$((failed + skipped)) skipped=0
fi
echo "total $((SECONDS - began)) s; logs in $logs"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
