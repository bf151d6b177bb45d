# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completes tests and options of ptlbench, from what ptlbench itself lists.
_ptlbench()
{
	local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} help test=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		help=$("$program" --help 2>/dev/null | sed -n '/^\(Tests\|No test\).*:$/,/^$/s/^  \([a-z][a-z0-9-]*\) .*/\1/p')
		help+=" --help --version"
	else
		[[ ${COMP_WORDS[1]} == -* ]] || test=("${COMP_WORDS[1]}")
		help=$("$program" "${test[@]}" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')
	fi
	mapfile -t COMPREPLY < <(compgen -W "$help" -- "$word")
}
complete -F _ptlbench ptlbench
