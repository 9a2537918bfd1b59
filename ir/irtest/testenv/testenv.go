// SPDX-License-Identifier: Apache-2.0

// Package testenv is what tests may ask of their environment: which tools must
// be there, whether to run in their long form, where peers and data are. Every
// variable is a Knob; a test says that no other place reads one, and that the
// table in the README lists them all.
package testenv

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Knob is a variable of the environment that tests read.
type Knob struct{ Name, Values, Doc string }

// Knobs are all of them.
var Knobs = []Knob{
	{"NNCC_REQUIRE", "LABEL,...", "what must be there: a test that lacks it fails instead of being skipped (`cc`, " +
		"`clang`, `arm-gcc`, `qemu`, " +
		"`protoc`, `cmake`, `cargo`, `cppcheck`, `chromium`, `onnx-tests`, `shared`)"},
	{"NNCC_LONG", "1 or slow", "every test in its long form, where it has one: all boards, models, files, mutants; " +
		"measurements that are printed; slow: only the tests that `make test` leaves out, in their plain form"},
	{"NNCC_RANDOM", "N or FROM+N", "how many random cases a test draws, and from which seed on"},
	{"NNCC_KERNEL", "REGEXP", "the rows or functions whose layers tests of kernels run"},
	{"NNCC_BOARDS", "BOARD,...", "targets of tests that run on several"},
	{"NNCC_VELA", "DIR", "Vela's folder, to compile drawn layers"},
	{"NNCC_SHARED", "DIR or none", "the test data beside the repository are in DIR, or hidden"},
	{"NNCC_OBJECTS", "DIR", "compiled kernels are kept there between tests and programs (also outside of tests)"},
	{"NNCC_ORT", "DIR", "a node_modules with onnxruntime-node, to compare with"},
	{"NNCC_ONNX_BACKEND", "FILE.tar.gz,...", "ONNX's own tests, in place of those found"},
	{"NNCC_CONFORMANCE_ONLY", "REGEXP", "the tests of ONNX that are run"},
	{"NNCC_CHROOT", "DIR", "a Debian system for tests that install things, made there once"},
	{"NNCC_PICTURES", "DIR", "tests of pages leave pictures there"},
	{"NNCC_PACK_XSD", "FILE", "the schema of CMSIS packs, to check emitted ones with"},
	{"NNCC_TFLM_RUN", "PROGRAM", "runs TensorFlow Lite Micro's reference kernels: `PROGRAM MODEL.tflite RUNS`, raw " +
		"inputs on standard input, outputs on standard output"},
	{"NNCC_FREERTOS", "DIR", "an installed FreeRTOS kernel: headers in `include`, and `portmacro.h` and " +
		"`libfreertos.a`, built with the example's `FreeRTOSConfig.h`, in a folder for each board (`cortex-m4`)"},
	{"CMSIS_NN_INCLUDE", "DIR", "headers of an installed CMSIS-NN, to compare with"},
	{"CMSIS_NN_LIB", "FILE.a", "CMSIS-NN built for the host; with _M0PLUS, _M3, _M4, _M55 for a core, with _SINGLE " +
		"for single rounding"},
	{"CMSIS_NN_SOURCE", "DIR", "sources of CMSIS-NN, to hold the table of its facts against"},
}

// steering are variables by which users, and make with its own flags, steer what they build. Tests build as
// their commands say, and read what tools say in English.
var steering = []string{"AR", "CC", "CFLAGS", "CPPFLAGS", "CXX", "CXXFLAGS", "GNUMAKEFLAGS", "LANG", "LANGUAGE",
	"LDFLAGS", "MAKEFILES", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "CDPATH", "POSIXLY_CORRECT"}

// peers are the knobs that Makefiles of emitted folders read, too. They are for tests that ask for them alone.
var peers = hide()

func hide() map[string]string {
	hidden := map[string]string{}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		known := strings.HasPrefix(name, "CMSIS_NN_") && Known(name)
		if known {
			hidden[name] = value
		}
		if known || slices.Contains(steering, name) || strings.HasPrefix(name, "LC_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("LC_ALL", "C.UTF-8")
	return hidden
}

// Known reports a knob, or one with the suffix for a core or a build.
func Known(name string) bool {
	return slices.ContainsFunc(Knobs, func(k Knob) bool {
		return name == k.Name || k.Name == "CMSIS_NN_LIB" && strings.HasPrefix(name, k.Name+"_")
	})
}

// Get is the value of a knob.
func Get(name string) string {
	if !Known(name) {
		panic("testenv: no knob " + name)
	}
	if v, ok := peers[name]; ok {
		return v
	}
	return os.Getenv(name)
}

// Long says that a test is to run in its long form.
func Long() bool { return Get("NNCC_LONG") != "" && Get("NNCC_LONG") != "slow" }

// Slow skips a test that takes long and rarely finds what no other one does: `make test-long` runs it.
func Slow(t testing.TB) {
	t.Helper()
	if Get("NNCC_LONG") == "" {
		t.Skip("left to make test-long")
	}
}

// Range is which random cases to draw: n of them from seed 0 on where NNCC_RANDOM
// does not say.
func Range(t testing.TB, n int) (from, count int) {
	t.Helper()
	v := Get("NNCC_RANDOM")
	if v == "" {
		return 0, n
	}
	a, b, two := strings.Cut(v, "+")
	if !two {
		a, b = "0", v
	}
	from, err := strconv.Atoi(a)
	count, err2 := strconv.Atoi(b)
	if err := errors.Join(err, err2); err != nil || from < 0 || count < 1 {
		t.Fatalf("NNCC_RANDOM=%s: want N or FROM+N, N at least 1", v)
	}
	return from, count
}

// Count is how many random cases to draw: n where NNCC_RANDOM does not say.
func Count(t testing.TB, n int) int {
	t.Helper()
	_, count := Range(t, n)
	return count
}

// Boards are the targets to run on: those given where NNCC_BOARDS does not say.
func Boards(names ...string) []string {
	if v := Get("NNCC_BOARDS"); v != "" {
		return strings.Split(v, ",")
	}
	return names
}

// Required reports that NNCC_REQUIRE lists a label.
func Required(label string) bool {
	return slices.Contains(strings.Split(Get("NNCC_REQUIRE"), ","), label)
}

// Lacks ends a test that cannot run on this machine: it is skipped, or fails
// where NNCC_REQUIRE lists what is missing.
func Lacks(t testing.TB, label, why string) {
	t.Helper()
	if Required(label) {
		t.Fatalf("%s, but NNCC_REQUIRE lists %s", why, label)
	}
	t.Skip(why)
}

// Tool is the path of a program. The test ends as Lacks says where there is none.
func Tool(t testing.TB, label, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		Lacks(t, label, program+" is not installed")
	}
	return path
}
