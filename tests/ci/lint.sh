#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: tests/ci/lint.sh BUILD [--base COMMIT | --library COMMIT]
# What tools can tell about the sources without running them.  BUILD is a configured meson directory.  Ends with the
# line "N passed, N failed, N skipped"; each check is one test.  --base: tools look only at files that differ from COMMIT.
# --library: clang-tidy, which takes longest, only at these and at the library.
set -u
build=$(realpath "${1:?usage: tests/ci/lint.sh BUILD [--base COMMIT | --library COMMIT]}")
base="" library=""
case ${2:-} in
--base) base=$3 ;;
--library) library=$3 ;;
esac
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Everything that belongs to the project, whether or not it has been committed.
mapfile -t files < <(git ls-files --cached --others --exclude-standard 2>/dev/null | sort)
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find . -name 'build*' -prune -o -type f -print | sed 's|^\./||' | sort)
select_files() # PATTERN: the existing files whose path matches
{
	printf '%s\n' "${files[@]}" | grep -E "$1" | while read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}
select_differing() # PATTERN COMMIT: those of them that differ
{
	select_files "$1" | grep -xF -f <(git diff --name-only "$2"; git ls-files --others --exclude-standard)
}
select_changed() # PATTERN: those that a tool looks at
{
	if [ -n "$base" ]; then
		select_differing "$1" "$base"
	else
		select_files "$1"
	fi
}
mapfile -t sources < <(select_changed '\.c$')
tidied=("${sources[@]}")
if [ -n "$library" ]; then
	mapfile -t tidied < <(
		select_files '^(base|transports|offload|portals)/.*\.c$'
		select_differing '^(bench|examples|tests)/.*\.c$' "$library"
	)
fi
mapfile -t c_files < <(select_changed '\.[ch]$')
mapfile -t scripts < <(select_changed '\.sh$|^\.ci/run$')

passed=0 failed=0 skipped=0
check() # NAME TOOL COMMAND...: skipped without the tool
{
	local name=$1 tool=$2 began=$SECONDS
	shift 2
	if ! command -v "$tool" >/dev/null; then
		echo "skip $name: no $tool on this machine"
		skipped=$((skipped + 1))
	elif "$@" >"$work/log" 2>&1; then
		echo "ok   $name ($((SECONDS - began)) s)"
		passed=$((passed + 1))
	else
		grep -Ev '^[0-9]+ warnings? generated\.$' "$work/log" | tail -n 100
		echo "FAIL $name"
		failed=$((failed + 1))
	fi
}

format()
{
	[ ${#c_files[@]} -gt 0 ] || return 0
	clang-format --dry-run -Werror "${c_files[@]}"
}

# clang-format knows no rule for it: sizeof(x), the one form of CONTRIBUTING.md.
size_of()
{
	[ ${#c_files[@]} -gt 0 ] || return 0
	! grep -nE '\<sizeof( |$)' "${c_files[@]}"
}

# Only files the build compiles, as it compiles them, each once: version 14 sees uninitialised va_lists in the second
# file of a run, and in the second turn of a file that belongs to two programs.  Options that only GCC has are taken out.
tidy()
{
	[ ${#tidied[@]} -gt 0 ] || return 0
	python3 - "$build/compile_commands.json" "$work" "$base" "${tidied[@]}" <<-'PYTHON' || return 1
		import json, os, re, sys
		commands, work, base, sources = *sys.argv[1:4], {os.path.realpath(path) for path in sys.argv[4:]}
		entries = {os.path.realpath(os.path.join(e["directory"], e["file"])): e for e in json.load(open(commands))}
		chosen = {path: entry for path, entry in sorted(entries.items()) if path in sources}
		for entry in chosen.values(): entry["command"] = re.sub(r" -mmemset-strategy=\S+", "", entry["command"])
		json.dump(list(chosen.values()), open(work + "/compile_commands.json", "w"))
		open(work + "/compiled", "w").writelines(path + "\n" for path in chosen)
		sys.exit(None if chosen or base else "none of the sources is in " + commands)
	PYTHON
	xargs -r -d '\n' -n 1 -P "$(nproc)" clang-tidy --quiet -p "$work" <"$work/compiled"
}

# Version 2.10 knows what does not return by the attribute only; and one definition would make it skip other configurations.
analyse()
{
	[ ${#sources[@]} -gt 0 ] || return 0
	cppcheck --quiet --std=c11 --language=c --library=posix --enable=warning,performance,portability \
		'-D_Noreturn=__attribute__((noreturn))' --max-configs=12 -I. -Iinclude -Iinclude/compat -j "$(nproc)" --inline-suppr \
		--suppressions-list=tests/ci/cppcheck.supp --error-exitcode=1 "${sources[@]}"
}

shell()
{
	[ ${#scripts[@]} -gt 0 ] || return 0
	shellcheck -x "${scripts[@]}"
}

# The licence is named at the top of every file; the files that cannot say it are listed here.
licences()
{
	local file missing=0
	while read -r file; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' && continue
		echo "$file: no SPDX line"
		missing=1
	done < <(select_files . | grep -vE '^LICENSE$|\.md$|^\.clang-format$|^\.editorconfig$|^\.clang-tidy$|^bench/results/')
	return $missing
}

# docs/settings.md's table of settings (variable, default, meaning) is the table the library is compiled from.
settings()
{
	printf '%s\n' '#include "base/settings.h"' '#include <stdio.h>' \
		'#define ROW(field, variable, type, value, text) puts(variable " " value " " text);' \
		'int main(void) { PORTALS_SETTINGS(ROW) return 0; }' >"$work/settings.c" &&
		cc -I. -o "$work/settings" "$work/settings.c" && "$work/settings" | sort >"$work/compiled" &&
		tr -d '`' <docs/settings.md | awk -F ' *[|] *' '$2 ~ /^PTL_[A-Z0-9_]+$/ { print $2 " " $3 " " $4 }' | sort >"$work/documented" &&
		diff -u --label docs/settings.md --label base/settings.h "$work/documented" "$work/compiled"
}

# To a file of ours, and there to a heading, as the places that show these documents name it.
links()
{
	python3 - <<-'PYTHON'
		import os, re, sys
		def headings(path):
		    text = re.sub(r"^```.*?^```", "", open(path).read(), flags=re.M | re.S)
		    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)}
		documents = [path for path in ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] + [f"docs/{name}" for name in sorted(os.listdir("docs")) if name.endswith(".md")]]
		broken = 0
		for document in documents:
		    for target in re.findall(r"\]\(([^)\s]+)\)", open(document).read()):
		        path, _, anchor = target.partition("#")
		        if "://" in path:
		            continue
		        path = os.path.join(os.path.dirname(document), path) if path else document
		        if not os.path.exists(path) or (anchor and anchor not in headings(path)):
		            print(f"{document}: {target} leads nowhere")
		            broken += 1
		sys.exit(broken > 0)
	PYTHON
}

# Pages are made from the headers' comments; a call that has none is missing from the reference too.
manual()
{
	local call pages=$build/docs/man
	mandoc -T lint -W warning "$pages"/*.[37] || return
	while read -r call; do
		[ -s "$pages/$call.3" ] || { echo "$call has no manual page"; return 1; }
	done < <(sed -n 's/^[a-z].* \**\(Ptl[A-Za-z0-9]*\)(.*/\1/p' include/portals3.h include/portals3_ext.h include/portals3_nic.h include/compat/p3rt/p3rt.h)
}

# One term for a concept; and which words of old are still there, and which are not.
glossary()
{
	select_files '\.(c|h|cc|md|sh|py|build|txt)$' | grep -v '^tests/ci/glossary' | tr '\n' '\0' | xargs -0 python3 tests/ci/glossary.py
}

quotes()
{
	docs/quotes.py --check
}

figures()
{
	docs/figures.py --check
}

pictures()
{
	docs/pictures/draw.py --check
}

layers()
{
	meson test -C "$build" --print-errorlogs layers
}

mutants()
{
	python3 tests/model/mutants/run.py --fit
}

check "format of C files" clang-format format
check "sizeof has parentheses" grep size_of
check "clang-tidy" clang-tidy tidy
check "cppcheck" cppcheck analyse
check "shellcheck" shellcheck shell
check "SPDX line in every file" grep licences
check "the settings in docs/settings.md are the library's" cc settings
check "every link of the documents leads somewhere" python3 links
check "every call has a manual page, and mandoc finds nothing in any" mandoc manual
check "terms are those of docs/glossary.md" python3 glossary
check "code in documents is that of the files it is from" python3 quotes
check "tables of figures are those of bench/results" python3 figures
check "pictures show what their sources say" dot pictures
check "layers by includes and by symbols; no cycle of files grows" meson layers
check "every mutant finds its line" python3 mutants

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
