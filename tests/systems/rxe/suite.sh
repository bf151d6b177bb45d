# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# One guest, at night: each test of ptlbench that makes sense over a network once, its target being another process of the guest.  Their
# figures are those of an emulated device on an emulated processor, so they need not be many: that each test comes to its end is the point.
# shellcheck source=tests/systems/rxe/checks.sh
. "${here:?}/checks.sh"

# Over node only, or in every run of the group (alone.sh).
elsewhere=" attach pairs self-latency memory recovery "

# What --quick is here, of each test that takes the option.
emulated=(--quick "--iterations 10" "--warmup 2" "--repeat 1" "--row-time 100" "--depths 0,10,100")

# The sizes, and those of tests whose rows have hundreds of bursts or many processes, however few iterations are asked for.
sizes=8:64K
declare -A fewer=([am]=16:256 [splitc]=16:256 [logp]=16:256 [grim]=16:256 [hot-spot]=8:8 [peers]=8:8 [blocking]=8:8)

# Those that the test takes, in `options`.
choose_options() # TEST
{
	local option
	options=()
	for option in "${emulated[@]}" "--sizes ${fewer[$1]:-$sizes}"; do
		# shellcheck disable=SC2086,SC2206 # a name and a value
		! bench/ptlbench "$1" $option --dry-run >/dev/null 2>&1 || options+=($option)
	done
}

# Its status tells whether the goal is reached, which is of a machine.
idle() # OPTION...
{
	# shellcheck disable=SC2016 # its own arguments
	check "ptlbench idle" bash -c 'bench/ptlbench idle "$@" >/tmp/idle; cat /tmp/idle; grep -Eq "^# goal: (reached|missed)" /tmp/idle' bash \
		"$@" --transport "$transport" --iface "${net:?}"
}

limit=600
bench/ptlbench --help | sed -n '/^Tests:/,/^$/s/^  \([a-z-]*\) .*/\1/p' >/tmp/names
[ -z "${suite:-}" ] || tr ' ' '\n' <<<"$suite" >/tmp/names
while read -r name; do
	[[ $elsewhere != *" $name "* ]] || continue
	# What takes no device measures nothing over one by itself.
	bench/ptlbench "$name" --transport "$transport" --iface "$net" --dry-run >/dev/null 2>&1 || continue
	choose_options "$name"
	began=$SECONDS
	if [ "$name" = idle ]; then
		idle "${options[@]}"
	else
		bench "$name" "${options[@]}" --timeout $limit
	fi
	grep -q '^# emulated: .*network (rxe0)' /tmp/log || echo "FAIL ptlbench $name: its figures are not marked as emulated"
	echo "| $((SECONDS - began)) s"
done </tmp/names
