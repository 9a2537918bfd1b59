// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// rustTarget is a board's target in Rust, QEMU's machine for it, and what the object of a
// kernel says of the core that it was compiled for.
type rustTarget struct{ triple, machine, cpu, attribute string }

var rustTargets = map[string]rustTarget{
	"cortex-m4": {"thumbv7em-none-eabihf", "mps2-an386",
		"-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", "Tag_CPU_arch: v7E-M"},
	"cortex-m55": {"thumbv8m.main-none-eabihf", "mps3-an547",
		"-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto", "Tag_MVE_arch"},
}

// debianRust is the compiler whose sources Debian has, too.
const debianRust = "/usr/bin/rustc"

// rustCore builds the library core for a target, of which Debian has the sources only, and
// gives the folder that rustc takes in place of its own. It is kept beside compiled kernels.
func rustCore(t *testing.T, triple string) string {
	t.Helper()
	sources, err := filepath.Glob("/usr/src/rustc-*/library/core/src/lib.rs")
	require(t, err)
	if _, err := os.Stat(debianRust); err != nil || len(sources) == 0 {
		t.Skip("no sources of Rust's core (Debian's rustc and rust-src)")
	}
	kept := testenv.Get("NNCC_OBJECTS")
	if kept == "" {
		kept = t.TempDir()
	}
	kept = filepath.Join(kept, strings.Split(sources[0], "/")[3]+"-"+triple)
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	root := t.TempDir()
	lib := filepath.Join(root, "lib", "rustlib", triple, "lib")
	require(t, os.MkdirAll(lib, 0o777))
	// The compiler's own functions, memcpy and the like, are in the C library.
	builtins := filepath.Join(t.TempDir(), "builtins.rs")
	putText(t, builtins, "#![feature(compiler_builtins)]\n#![compiler_builtins]\n#![no_std]\n")
	for _, args := range [][]string{{"core", sources[0]}, {"compiler_builtins", builtins, "--sysroot", root}} {
		args = append(args[1:], "--crate-name", args[0], "--crate-type", "rlib", "--edition", "2021", "--target",
			triple, "-C", "panic=abort", "-C", "embed-bitcode=no", "-A", "warnings", "--out-dir", lib)
		cmd := exec.CommandContext(t.Context(), debianRust, args...)
		cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1")
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
	}
	if testenv.Get("NNCC_OBJECTS") != "" && os.Rename(root, kept) == nil {
		return kept
	}
	return root
}

// rustApp builds an application that uses a crate, and gives the program and the crate's
// objects.
func rustApp(t *testing.T, b rustTarget, crate, sysroot string) (elf, objects string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	main, err := os.ReadFile(filepath.Join("testdata", "rust", "main.rs"))
	require(t, err)
	putText(t, filepath.Join(home, "config.toml"), "[source.crates-io]\nreplace-with = \"debian\"\n"+
		"[source.debian]\ndirectory = \"/usr/share/cargo/registry\"\n")
	putText(t, filepath.Join(dir, "main.rs"), string(main))
	putText(t, filepath.Join(dir, "Cargo.toml"), fmt.Sprintf("[package]\nname = \"app\"\nversion = \"0.1.0\"\n"+
		"edition = \"2021\"\n[[bin]]\nname = \"app\"\npath = \"main.rs\"\n[dependencies]\ndigits = { path = %q }\n"+
		"[profile.release]\npanic = \"abort\"\n[workspace]\n", crate))
	script, err := filepath.Abs(filepath.Join("..", "..", "nncc", "examples", "freertos", "qemu.ld"))
	require(t, err)
	flags := "--sysroot " + sysroot + " -C linker=arm-none-eabi-gcc"
	for _, f := range append(strings.Fields(b.cpu), "-T"+script, "-nostartfiles", "-lc", "-lgcc", "-lm") {
		flags += " -C link-arg=" + f
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/cargo", "build", "--offline", "--release", "--target", b.triple)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CARGO_HOME="+home, "RUSTC="+debianRust, "RUSTFLAGS="+flags)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := filepath.Join(dir, "target", b.triple, "release")
	libs, err := filepath.Glob(filepath.Join(out, "build", "digits-*", "out", "libdigits_c.a"))
	require(t, err)
	if len(libs) != 1 {
		t.Fatalf("archives of the crate: %q", libs)
	}
	return filepath.Join(out, "app"), libs[0]
}

// TestRustOnTarget: the crate in an application without std: cross-compiled by cargo, its C
// for the board's core, run under QEMU step by step, with the interpreter's result.
func TestRustOnTarget(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	boards := []string{"cortex-m4"}
	if testenv.Long() {
		boards = append(boards, "cortex-m55")
	}
	for _, board := range testenv.Boards(boards...) {
		t.Run(board, func(t *testing.T) {
			b := rustTargets[board]
			sysroot := rustCore(t, b.triple)
			c := digitsConfig(board)
			c.Project = "rust"
			o := mustCompile(t, c)
			crate := t.TempDir()
			require(t, files.WriteTree(crate, files.Of(o.Files)))
			elf, objects := rustApp(t, b, crate, sysroot)
			said, err := exec.CommandContext(t.Context(), "arm-none-eabi-readelf", "-A", objects).Output()
			if err != nil || !strings.Contains(string(said), b.attribute) {
				t.Errorf("%v: no object has %s\n%s", err, b.attribute, said)
			}
			text, err := exec.CommandContext(t.Context(), "qemu-system-arm", "-M", b.machine, "-display", "none",
				"-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel",
				elf).CombinedOutput()
			if want := rustSays(t, o); err != nil || string(text) != want {
				t.Errorf("%v: the application says %q, want %q", err, text, want)
			}
		})
	}
}

// rustSays is what the application prints.
func rustSays(t *testing.T, o *driver.Compiled) string {
	t.Helper()
	x := make([]int8, 28*28)
	for i := range x {
		x[i] = -128
		if i%27 < 4 {
			x[i] = 127
		}
	}
	ports := o.Lowered.Ports()
	y, err := ports.Step([]*tensor.Dense{tensor.Of(ports.Inputs()[0].Type.Shape, x)})
	require(t, err)
	out := strings.ReplaceAll(fmt.Sprint(tensor.As[int8](y[0])), " ", ", ")
	return fmt.Sprintf("%s\n%s %s\n", out, o.Info.Prefix, o.Lowered.Program.Steps[0].Name)
}
