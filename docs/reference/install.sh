#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What meson calls to install manual pages. usage: install.sh PAGES MANDIR
set -e
case $2 in
/*) to=$DESTDIR$2 ;;
*) to=$MESON_INSTALL_DESTDIR_PREFIX/$2 ;;
esac
for page in "$1"/*; do
	section=${page##*.}
	mkdir -p "$to/man$section"
	install -m 644 "$page" "$to/man$section/"
done
