# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completes options of ptlstat, from its own help, and process ids of this user.
_ptlstat()
{
	local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} help words
	help=$("$program" --help 2>/dev/null)
	# After an option with a value: "  --wait S       ...".
	if grep -q "^  ${COMP_WORDS[COMP_CWORD - 1]} [A-Z] " <<<"$help"; then
		words=""
	elif [[ $word == -* ]]; then
		words=$(sed -n 's/^  \(--[a-z-]*\).*/\1/p' <<<"$help")
		words+=" --help"
	else
		words=$(ps -u "$EUID" -o pid=)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _ptlstat ptlstat
