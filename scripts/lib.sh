# SPDX-License-Identifier: GPL-2.0
# What the scripts share; sourced, not run. Every message is one line that states what to do.

top=$(cd "$(dirname "$0")/.." && while [ ! -e COPYING ] && [ "$PWD" != / ]; do cd ..; done; pwd)

die() { echo "error: $*" >&2; exit 1; }
say() { echo "$*" >&2; }

# log_of NAME: the file in which a step keeps its output.
log_of() { mkdir -p "$build/log"; echo "$build/log/$1.log"; }

case $(uname -m) in
aarch64) host=arm64 ;;
*)       host=x86_64 ;;
esac

build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac

# triplet ARCH: the GNU name of an architecture; cross ARCH: the compiler prefix it needs here.
triplet() {
	case $1 in
	arm64)   echo aarch64-linux-gnu ;;
	arm)     echo arm-linux-gnueabihf ;;
	i386)    echo i686-linux-gnu ;;
	powerpc) echo powerpc64le-linux-gnu ;;
	riscv)   echo riscv64-linux-gnu ;;
	s390)    echo s390x-linux-gnu ;;
	*)       echo x86_64-linux-gnu ;;
	esac
}
cross() { [ "$1" = "$host" ] || echo "$(triplet "$1")-"; }

check_arch() {
	case $1 in
	arm64|x86_64) ;;
	*) die "ARCH=$1 is not known; use ARCH=arm64 or ARCH=x86_64" ;;
	esac
}

# cpu_of PMU: what QEMU's -cpu is for this PMU model.
cpu_of() {
	sed -n "s/^$1[[:space:]][[:space:]]*//p" "$top/tools/testing/qemu/pmus" | grep . ||
		die "PMU=$1 is not known; see tools/testing/qemu/pmus"
}

# machine_of NAME: what arm64 guests are made of: -cpu, -machine, edit of the device tree.
machine_of() {
	sed -n "s/^$1[[:space:]][[:space:]]*//p" "$top/tools/testing/qemu/machines" | grep . ||
		die "PMU=$1 is not known; see tools/testing/qemu/machines"
}

# image_of ARCH KERNEL: the kernel image that make built for it.
image_of() {
	case $2 in
	ours)  objects=$build/$1 ;;
	stock) objects=$build/stock-$1 ;;
	debug) objects=$build/debug-$1 ;;
	*)     die "KERNEL=$2 is not known; use ours, stock or debug" ;;
	esac
	case $1 in
	arm64) echo "$objects/arch/arm64/boot/Image" ;;
	*)     echo "$objects/arch/x86/boot/bzImage" ;;
	esac
}
