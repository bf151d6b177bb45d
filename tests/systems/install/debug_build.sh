# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# For tests that need the library with debug information.

debug_build() # FOLDER
{
	[ -f "$1/build.ninja" ] || meson setup "$1" -Dbuildtype=debugoptimized -Dexamples=disabled -Dbench=disabled \
		-Dtests=disabled -Ddocs=disabled || return
	ninja -C "$1"
}
