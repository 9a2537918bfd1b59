#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what "make demo" or "make test" needs and this machine lacks, with
# apt, and says so. Does nothing where everything is there.
#
#   setup.sh demo|test
set -eu

# One line for each need: the level that needs it, how to see that it is there,
# and the Debian package that brings it.
needs() {
	cat <<-END
		demo	command -v arm-none-eabi-gcc	gcc-arm-none-eabi
		demo	has_newlib	libnewlib-arm-none-eabi
		demo	command -v qemu-system-arm	qemu-system-arm
		test	command -v gcc	gcc
		test	command -v g++	g++
		test	test -e /usr/include/stdlib.h	libc6-dev
		test	command -v clang	clang
		test	command -v clang-format	clang-format
		test	has_clang_rt	libclang-rt-14-dev
		test	command -v cmake	cmake
		test	command -v cargo	cargo
		test	dpkg -s librust-cc-dev	librust-cc-dev
		test	command -v protoc	protobuf-compiler
		test	command -v cppcheck	cppcheck
		test	command -v chromium	chromium
		test	dpkg -s libonnx-testdata	libonnx-testdata
	END
}

has_newlib() {
	f=$(arm-none-eabi-gcc -print-file-name=libc.a) && test "$f" != libc.a
}

# clang's sanitizers, a package of their own.
has_clang_rt() {
	echo 'int main(void) { return 0; }' | clang -fsanitize=address,undefined -x c - -o /dev/null 2>/dev/null
}

# shown keeps what apt says, and prints of it how much there is to load and every tenth
# package that is loaded or set up.
shown() {
	all=0 done=0
	while read -r line; do
		echo "$line" >>"$log"
		case $line in
		*" newly installed, "*) all=${line%% newly installed, *} all=${all##* } ;;
		"Need to get "*) echo "setup: $all packages. $line" ;;
		Get:*"/main "*) say loaded "${line#Get:}" ;;
		"Setting up "*) done=$((done + 1)) && say "set up" $done ;;
		esac
	done
}

# say WHAT NUMBER
say() {
	number=${2%% *}
	if [ $((number % 10)) = 0 ] || [ "$number" = "$all" ]; then
		echo "setup: $number of $all $1"
	fi
}

level=${1-}
case $level in
demo | test) ;;
*)
	echo "usage: $0 demo|test" >&2
	exit 2
	;;
esac

if ! command -v go >/dev/null; then
	echo "setup: Go is not in PATH; nncc needs the version in go.mod or a newer one (https://go.dev/dl)" >&2
	exit 1
fi

missing=$(needs | while IFS='	' read -r at check package; do
	if [ "$at" = demo ] || [ "$level" = test ]; then
		eval "$check" >/dev/null 2>&1 || printf '%s ' "$package"
	fi
done)
[ -n "$missing" ] || exit 0

install="apt-get -o Acquire::Retries=3 install -y --no-install-recommends $missing"
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "setup: missing: $missing" >&2
	echo "setup: as root on Debian or Ubuntu: apt-get update && $install" >&2
	exit 1
fi
echo "setup: installing with apt: $missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log" "$log.failed"' EXIT
{ apt-get -o Acquire::Retries=3 update && $install || touch "$log.failed"; } 2>&1 | shown
if [ -e "$log.failed" ]; then
	cat "$log" >&2
	echo "setup: apt failed" >&2
	exit 1
fi
echo "setup: done"
