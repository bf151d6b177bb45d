# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What test scripts share: a check is a command, whose output is shown if it fails.  From outside: $stage, where logs go.
passed=0 failed=0 skipped=0

check() # NAME COMMAND...; the command may be a function, which has no time limit
{
	local name=$1 log=${stage:?}/${1//[^a-zA-Z0-9]/-}.txt within=(timeout 1200) status
	shift
	! declare -F "$1" >/dev/null || within=()
	"${within[@]}" "$@" >"$log" 2>&1 </dev/null
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok   $name"
		passed=$((passed + 1))
	else
		tail -n 40 "$log"
		echo "FAIL $name: '$*' ended with status $status"
		failed=$((failed + 1))
		return 1
	fi
}

skip() # NAME REASON
{
	echo "skip $1: $2"
	skipped=$((skipped + 1))
}

summary()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
