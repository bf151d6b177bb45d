#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/bench_usage.sh PTLBENCH [EXAMPLES]
# What ptlbench, its scripts and the examples say to a user who does not know them yet: help, nearest names, refusals
# before anything happens.
set -eu
# Whole paths: two_hosts.sh goes elsewhere.
ptlbench=$(realpath "$1") examples=${2:+$(realpath "$2")}
two_hosts=$(dirname "$0")/../../bench/two_hosts.sh instrument=$(dirname "$0")/../../docs/instrument.md
export PTL_IFACE=lo

says() # WHAT STATUS PATTERN COMMAND...
{
	local what=$1 wanted=$2 pattern=$3 out status tries
	shift 3
	for tries in 1 2 3; do # others had the processors
		status=0
		out=$(timeout 100 "$@" 2>&1 </dev/null) || status=$?
		grep -q 'not open after' <<<"$out" || break
	done
	if [ $status -ne "$wanted" ] || ! grep -qE -- "$pattern" <<<"$out"; then
		printf '%s: status %s where %s was wanted, or no line like "%s" in\n%s\n(try %d)\n' "$what" $status "$wanted" "$pattern" "$out" "$tries" >&2
		exit 1
	fi
}

says "the version is told" 0 '^ptlbench [0-9]+\.[0-9]+' "$ptlbench" --version
says "-h is --help" 0 '^  put-latency' "$ptlbench" -h
says "a test's help shows what it takes" 0 '^  --window N' "$ptlbench" put-bandwidth --help
says "a test's help names what it measures" 0 '^    Figures 3\.1, 4\.1: Latency' "$ptlbench" put-latency --help
for test in put-latency initiator-timing recovery limits injection am splitc breakdown grim driver; do
	says "the help of $test says what its clock includes" 0 '^What the clock includes:' "$ptlbench" $test --help
done
says "a test's help comes before what is wrong with its options" 0 '^  --depths' "$ptlbench" match-depth -h --sizes 8
says "windows, a list" 0 '^$' "$ptlbench" get-bandwidth --window 1,4,16 --dry-run
says "and no list where there is one window a run" 2 'logp does not take --window N,N' "$ptlbench" logp --window 1,4 --dry-run
says "a list with something else in it" 2 '--window 1,x: expected a number from 1' "$ptlbench" put-bandwidth --window 1,x
! "$ptlbench" put-latency --help | grep -qe --window || { echo "put-latency --help shows --window" >&2; exit 1; }
says "an unknown test" 2 'unknown test put-latncy; did you mean put-latency\?' "$ptlbench" put-latncy
says "a test that resembles none" 2 'unknown test zzzzzzzzzzzzz \(' "$ptlbench" zzzzzzzzzzzzz
says "an unknown option" 2 'unknown option --size; did you mean --sizes\?' "$ptlbench" put-latency --size 8
says "an option a test would ignore" 2 '^ptlbench: idle does not take --raw; ptlbench idle --help' "$ptlbench" idle --raw msg
says "likewise a place" 2 'limits does not take --transport' "$ptlbench" limits --transport node
says "a listener takes no workload" 2 '--listen does not take --sizes' "$ptlbench" --listen --sizes 8
says "a listener takes no test" 2 '--listen takes no test' "$ptlbench" put-latency --listen
says "an option without the one it belongs to" 2 '--raw-sleepable .*--raw' "$ptlbench" put-latency --raw-sleepable
says "an impossible transport" 2 '--transport tcp: expected .*ofi:tcp' "$ptlbench" put-latency --transport tcp
says "a row that compare has not" 2 '--rows put-latncy: expected some of put-latency' "$ptlbench" compare --rows put-latncy
says "another build that is not there" 2 '--against /nowhere: expected the ptlbench of another build' "$ptlbench" compare --against /nowhere
says "compare's sizes are its own" 2 'compare does not take --sizes' "$ptlbench" compare --sizes 8
says "goals may be strict" 0 '^$' "$ptlbench" goals --strict --dry-run
says "a candidate is started by compare alone" 1 'ptlbench compare starts this' "$ptlbench" rival --transport node
says "a limit that cannot be saved, unless a busy machine shows none" 1 \
	'/nowhere/file: PTL_TUNING_SAVE=/nowhere/file cannot be written: No such file|no crossing in these sizes' \
	"$ptlbench" crossover --quick --sizes 64:65536 --row-time 10 --repeat 1 --save /nowhere/file
says "a limit that nothing was measured beside is not saved" 1 'no crossing in these sizes, nothing saved' \
	"$ptlbench" crossover --sizes 64:64 --row-time 10 --repeat 1 --save /nowhere/file
says "a dry run measures nothing" 0 '^$' "$ptlbench" put-latency --sizes 8 --dry-run
says "a dry run refuses" 2 'pairs does not take --sizes' "$ptlbench" pairs --sizes 8 --dry-run
says "a table in Markdown has its rule below the titles" 0 '^\|---:\|---:' "$ptlbench" self-latency --sizes 8 --quick --format markdown
says "and a row" 0 '^\| 8 \| [0-9.]+ \|' "$ptlbench" self-latency --sizes 8 --quick --format markdown

# Every test takes what its help shows, and docs/instrument.md has what it does not take.
declare -A help
tests=$("$ptlbench" --help | sed -n '/^Tests:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
for test in $tests; do
	says "help of $test" 0 "^usage: ptlbench $test" "$ptlbench" "$test" --help
	help[$test]=$("$ptlbench" "$test" --help)
done

refusals() # OPTION...
{
	local option test list
	printf '%s\n' '| option | refused by |' '|---|---|'
	for option; do
		list=
		for test in $tests; do
			grep -q -- "^  $option " <<<"${help[$test]}" || list+="${list:+, }\`$test\`"
		done
		echo "| \`$option\` | $list |"
	done
}

wanted=$(refusals --check --nic-timing --repeat --hist --plot)
if [ "$(sed -n '/^<!-- refusals/,/^<!-- end of refusals/{//!p}' "$instrument")" != "$wanted" ]; then
	printf 'the table of refusals in docs/instrument.md is not this one:\n%s\n' "$wanted" >&2
	exit 1
fi

says "two_hosts.sh has a usage of its own" 0 '^usage: .*two_hosts\.sh' "$two_hosts" --help
says "two_hosts.sh refuses an option that ptlbench does not know" 2 'unknown option --nonsense' \
	"$two_hosts" --build "$(dirname "$ptlbench")/.." --nonsense
says "two_hosts.sh refuses what one of its tests would ignore" 2 'put-bandwidth does not take --persistent' \
	"$two_hosts" --build "$(dirname "$ptlbench")/.." --persistent
says "two_hosts.sh refuses an option without its argument" 2 '--tests needs' "$two_hosts" --tests
says "two_hosts.sh refuses a test of one process" 2 'info does not take --' \
	"$two_hosts" --build "$(dirname "$ptlbench")/.." --tests info
says "two_hosts.sh refuses a congestion control that is not there" 2 'nowhere.*(available|has)' \
	"$two_hosts" --build "$(dirname "$ptlbench")/.." --congestion nowhere
if [ "$(id -u)" = 0 ] && command -v ip >/dev/null && ip netns list | grep -q ptlbench-; then
	echo "two_hosts.sh left namespaces" >&2
	exit 1
fi

# As many that compute as would keep every processor from us.
busy=()
for ((i = 0; i < 2 * $(nproc); i++)); do
	(while :; do :; done) &
	busy+=($!)
done
"$ptlbench" goals --quick >/dev/null 2>"${TMPDIR:-/tmp}/goals.$$" &
goals=$!
for ((i = 0; i < 600; i++)); do
	grep -qs 'warning: this machine is busy' "${TMPDIR:-/tmp}/goals.$$" && break
	kill -0 $goals 2>/dev/null || break
	sleep 0.1
done
kill "${busy[@]}" $goals 2>/dev/null || true
wait "${busy[@]}" $goals 2>/dev/null || true
grep -q 'warning: this machine is busy.*runnable' "${TMPDIR:-/tmp}/goals.$$" || { echo "goals does not say that the machine is busy" >&2; exit 1; }
rm -f "${TMPDIR:-/tmp}/goals.$$"

# The address that an example prints, once it listens.
listen() # EXAMPLE
{
	rm -f "$heard"
	"$examples/$1" listen >"$heard" &
	listener=$!
	until grep -qs : "$heard"; do
		kill -0 $listener
		sleep 0.05
	done
	read -r address <"$heard"
}

if [ -n "$examples" ]; then
	heard=${TMPDIR:-/tmp}/hello.$$
	trap 'rm -f "$heard"' EXIT
	for example in hello_put hello_get hello_epoll; do
		listen $example
		says "$example prints an address that can be read" 0 '^127\.0\.0\.1:[0-9]+$' echo "$address"
		says "$example takes a dotted quad" 0 '^' "$examples/$example" "$address"
		wait $listener
		listen $example
		says "$example takes a number" 0 '^' "$examples/$example" "2130706433:${address#*:}"
		wait $listener
		says "$example refuses what is no address" 2 '^usage: ' "$examples/$example" 127.0.0:5
	done
fi
