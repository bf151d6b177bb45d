# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# QEMU guests, with soft-RoCE devices or without, for run.sh.  A guest is Debian's stock kernel with an initramfs of
# busybox, the modules and ./init; everything else it uses is the host's own, over 9p.  Nothing is installed on the host for it and
# no privilege is needed.  $scratch holds what is made: the kernel stays there for the next time; $share is the folder
# that guests and host share.
: "${scratch:?}" "${share:?}" "${build:?}" "${here:?}"

MODULES="crc32_generic virtio_pci virtio_net 9pnet_virtio 9p overlay dummy sch_netem ib_uverbs rdma_ucm rdma_rxe"
BOOT_SECONDS=900 # a guest that lives longer hangs
shape=(-smp 2 -m 1G) # of its processors and memory

kernel_package()
{
	apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# A network may stumble.
again() # COMMAND...
{
	"$@" || { sleep 5 && "$@"; } || { sleep 10 && "$@"; }
}

# The kernel package is only unpacked; its version is part of the name so that a new one is noticed.
fetch_kernel()
{
	local package file
	package=$(kernel_package)
	[ -n "$package" ] || { again apt-get -qq -o Acquire::Retries=3 update; package=$(kernel_package); }
	package=${package:-$(cat "$scratch/package" 2>/dev/null)}
	[ -n "$package" ] || { echo "apt knows no linux-image-amd64"; return 1; }
	kernel=$scratch/$package
	[ -f "$kernel/ready" ] && return 0
	rm -rf "$kernel"
	mkdir -p "$kernel/download" || return 1
	(cd "$kernel/download" && again apt-get -qq -o Acquire::Retries=3 download "$package") || return 1
	file=$(compgen -G "$kernel/download/*.deb") && dpkg-deb -x "$file" "$kernel" || return 1
	rm -rf "$kernel/download"
	echo "$package" >"$scratch/package"
	release=$(ls "$kernel/lib/modules") && depmod -b "$kernel" "$release" && unpack_kernel && touch "$kernel/ready"
}

number_at() # OFFSET BYTES, in $image
{
	od -An -t "u$2" -j "$1" -N "$2" "$image" | tr -d ' '
}

# vmlinuz unpacks itself more slowly than we do: its header says where the compressed kernel lies (boot protocol 2.08).
unpack_kernel()
{
	local image sectors offset length
	image=$(compgen -G "$kernel/boot/vmlinuz-*") || return 1
	sectors=$(number_at 0x1f1 1) offset=$(number_at 0x248 4) length=$(number_at 0x24c 4)
	tail -c "+$(((sectors + 1) * 512 + offset + 1))" "$image" | head -c "$length" >"$kernel/packed"
	{ xz -dc "$kernel/packed" || zstd -dc "$kernel/packed" || lz4 -dc "$kernel/packed" || zcat "$kernel/packed"; } \
		>"$kernel/vmlinux" 2>/dev/null
	rm -f "$kernel/packed"
	readelf -h "$kernel/vmlinux" >/dev/null 2>&1 || cp "$image" "$kernel/vmlinux"
}

# Modules in the order in which they have to be loaded.
module_files()
{
	local module release
	release=$(ls "$kernel/lib/modules")
	for module in $MODULES; do
		modprobe -d "$kernel" -S "$release" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++'
}

make_initramfs()
{
	local tree=$scratch/tree number=100 file
	rm -rf "$tree"
	mkdir -p "$tree"/{bin,dev,proc,sys,modules} || return 1
	cp "$(command -v busybox)" "$tree/bin/busybox" && cp init "$tree/init" && chmod 755 "$tree/init" || return 1
	while read -r file; do
		number=$((number + 1))
		cp "$file" "$tree/modules/$number-${file##*/}" || return 1
	done < <(module_files)
	[ $number -gt 100 ] || return 1
	(cd "$tree" && find . | cpio -o -H newc --quiet) >"$scratch/initramfs"
}

# Boots a guest in the background: its number, what bash runs in it, and arguments for QEMU (a network card).  $device
# is no: it gets no device.  no_timer_check: on a busy machine the timer ticks later than a booting kernel allows.
declare -A guests
boot() # NUMBER SCRIPT [QEMU-ARGUMENT...]
{
	local number=$1 net=dummy0
	cp "$2" "$share/guest$number.sh" || return 1
	rm -f "$share/guest$number".{log,status}
	shift 2
	[ $# -eq 0 ] || net=eth0
	[ "${device:-yes}" = yes ] || net=lo
	timeout -k 5 $BOOT_SECONDS qemu-system-x86_64 -machine pc -accel tcg,thread=multi -cpu max "${shape[@]}" \
		-nodefaults -no-user-config -display none -serial stdio -no-reboot \
		-kernel "$kernel/vmlinux" -initrd "$scratch/initramfs" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check guest=$number net=$net" \
		-fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=host,mount_tag=host \
		-fsdev "local,id=share,path=$share,security_model=none" \
		-device virtio-9p-pci,fsdev=share,mount_tag=share \
		"$@" >"$share/console$number.txt" 2>&1 </dev/null &
	guests[$number]=$!
}

# Until the guest is off.  What it printed is in $share/guestN.log.  False: it did not come to its end.
await_guest() # NUMBER
{
	wait "${guests[$1]}"
	unset "guests[$1]"
	[ -f "$share/guest$1.status" ]
}

end_guests()
{
	[ ${#guests[@]} -eq 0 ] || kill "${guests[@]}" 2>/dev/null
}

# What has passed, failed and was skipped, in the guests and before.
summary()
{
	echo "$(count 'ok  ') passed, $(count FAIL) failed, $(count skip) skipped"
	[ "$(count FAIL)" -eq 0 ]
}

count() # WORD
{
	cat "$share"/*.log "$scratch/own" | grep -c "^$1 "
}

tell() # RESULT NAME [REASON]
{
	printf '%-4s %s\n' "$1" "$2${3:+: $3}" | tee -a "$scratch/own"
}

# The script of a guest, with what it has to know from outside.
script() # FILE NAME=VALUE...
{
	local file=$1
	shift
	printf '%s\n' "build='$build' here='$here' nightly=${PORTALS_TEST_NIGHTLY:-yes}" "$@"
	cat "$file" || tell FAIL "$file" "is not there" >&2
}

show() # NUMBER
{
	cat "$share/guest$1.log" 2>/dev/null
	if [ -f "$share/guest$1.status" ]; then
		grep -Eq '^(ok|FAIL) ' "$share/guest$1.log" || tell FAIL "guest $1" "did nothing"
		return
	fi
	tail -n 20 "$share/console$1.txt"
	tell FAIL "guest $1" "did not come to its end"
}

# Empties the folder of results, and makes what guests boot from; ends with a skip where that cannot be had.
prepare_guests() # NAME [TOOL...]
{
	local name=$1 tool
	shift
	rm -rf "$share"
	mkdir -p "$share" || exit 1
	: >"$scratch/own"
	for tool in qemu-system-x86_64 busybox cpio modprobe depmod dpkg-deb "$@"; do
		command -v "$tool" >/dev/null && continue
		tell skip "$name" "no $tool on this machine"
		summary
		exit 0
	done
	if ! { fetch_kernel && make_initramfs; } >"$scratch/kernel.txt" 2>&1; then
		cat "$scratch/kernel.txt"
		tell skip "$name" "the distribution's kernel cannot be had"
		summary
		exit 0
	fi
}
