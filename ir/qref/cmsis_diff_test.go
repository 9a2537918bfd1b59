// SPDX-License-Identifier: Apache-2.0

package qref_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	runtimec "github.com/nncc/nncc/runtime_c"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

// A call is one kernel invocation for testdata/cmsis_driver.c, with the bytes
// that the Go reference computed for it.
type call struct {
	op    int32
	ints  []int32
	blobs [][]byte
	want  []byte
	fails bool   // the reference refused the arguments: the kernel must return an error
	limit string // why CMSIS-NN must not be asked this, beyond what the knowledge base says
	mve   string // the same for its MVE build
	desc  string
	fn    string       // function of the library, "" where nothing is known against it
	query *cmsis.Query // for the knowledge base
}

// The operations of the driver, in its order.
const (
	opConv = iota
	opDepthwise
	opTransposeConv
	opFC
	opBatchMatMul
	opAdd
	opMul
	opMinMax
	opPool
	opSoftmax
	opConcat
	opPad
	opTranspose
	opActivation
	opLSTM
	opRelu
	opVectorSum
	opConv16
	opDepthwise16
	opFC16
	opBatchMatMul16
	opAdd16
	opMul16
	opPool16
	opSoftmax16
	opConv4
	opDepthwise4
	opFC4
)

func (c *call) encode(b *bytes.Buffer) {
	put := func(v int) { b.Write(binary.NativeEndian.AppendUint32(nil, uint32(int32(v)))) }
	put(int(c.op))
	put(len(c.ints))
	for _, v := range c.ints {
		put(int(v))
	}
	put(len(c.blobs))
	for _, d := range c.blobs {
		put(len(d))
		b.Write(d)
	}
}

// bytesOf reinterprets integers as bytes.
func bytesOf[T int8 | uint8 | int16 | int32 | int64](s []T) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, s); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// buildDriver compiles the driver with the given include folders, sources and
// libraries, or skips the test.
func buildDriver(t *testing.T, flags []string, inputs ...string) string {
	t.Helper()
	path, err := exec.LookPath("cc")
	if err != nil {
		if testenv.Required("cc") {
			t.Fatalf("no C compiler: %v", err)
		}
		t.Skip("no C compiler")
	}
	exe := filepath.Join(t.TempDir(), "driver")
	args := append(slices.Clone(flags), "-o", exe, "testdata/cmsis_driver.c")
	out, err := exec.Command(path, append(args, inputs...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", path, strings.Join(args, " "), err, out)
	}
	return exe
}

func portable(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := runtimec.WriteTree(dir); err != nil {
		t.Fatal(err)
	}
	include, source := filepath.Join(dir, "include", "cmsis_nn"), filepath.Join(dir, "src", "cmsis_nn")
	own := filepath.Join(dir, "src", "nncc") // copies and tables, which the portable bodies share with our own kernels
	files, err := filepath.Glob(filepath.Join(source, "*.c"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no kernels in %s: %v", source, err)
	}
	files = append(files, filepath.Join(own, "nncc_sigmoid_points.c"))
	return buildDriver(t, append([]string{"-std=c99", "-O1", "-g", "-fsanitize=address,undefined",
		"-fno-sanitize-recover=all",
		"-I" + include, "-I" + source, "-I" + own}, flags...), files...)
}

// library builds the driver with a real CMSIS-NN. CMSIS_NN_DRIVER may name a
// ready one instead: a program that runs the driver on another core, with the
// requests on its standard input and the replies on its standard output
// (CMSIS_NN_ISA=mve or dsp tells what the library was built for).
func library(t *testing.T) string {
	t.Helper()
	if d := testenv.Get("CMSIS_NN_DRIVER"); d != "" {
		return d
	}
	inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get("CMSIS_NN_LIB")
	if inc == "" || lib == "" {
		t.Skip("set CMSIS_NN_INCLUDE and CMSIS_NN_LIB to a host build of CMSIS-NN to compare with it")
	}
	return buildDriver(t, []string{"-std=gnu99", "-O1", "-w", "-I" + inc}, lib)
}

// compare runs the calls through a driver and checks every reply.
func compare(t *testing.T, exe string, calls []*call) {
	t.Helper()
	var req, resp, stderr bytes.Buffer
	for _, c := range calls {
		c.encode(&req)
	}
	cmd := exec.Command(exe)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &req, &resp, &stderr
	if err := cmd.Run(); err != nil {
		n := countReplies(resp.Bytes())
		what := "?"
		if n < len(calls) {
			what = calls[n].desc
		}
		t.Fatalf("driver: %v in or after call %d: %s\n%s", err, n, what, stderr.String())
	}
	b := resp.Bytes()
	bad := 0
	for i, c := range calls {
		status, n := int32(binary.NativeEndian.Uint32(b)), int(binary.NativeEndian.Uint32(b[4:]))
		got := b[8 : 8+n]
		b = b[8+n:]
		var msg string
		switch {
		case c.fails && status == 0:
			msg = "succeeded, but the reference refuses it"
		case c.fails:
		case status != 0:
			msg = fmt.Sprintf("returned %d", status)
		case !bytes.Equal(got, c.want):
			j := 0
			for j < len(got) && j < len(c.want) && got[j] == c.want[j] {
				j++
			}
			msg = fmt.Sprintf("differs from byte %d of %d on: got %v, want %v", j, len(c.want),
				got[j:min(j+8, len(got))], c.want[j:min(j+8, len(c.want))])
		}
		if msg != "" {
			t.Errorf("call %d: %s\n\t%s", i, msg, c.desc)
			if bad++; bad == 5 {
				t.Fatal("giving up after 5 differences")
			}
		}
	}
}

func countReplies(b []byte) int {
	n := 0
	for len(b) >= 8 {
		l := 8 + int(binary.NativeEndian.Uint32(b[4:]))
		if len(b) < l {
			break
		}
		b = b[l:]
		n++
	}
	return n
}

func generate(draw func(*gen) *call, seed uint64, n int, r fixp.Rounding) []*call {
	g := &gen{rand.New(rand.NewPCG(seed, 20)), r}
	var calls []*call
	for range n {
		calls = append(calls, draw(g))
	}
	return calls
}

// TestPortableC compares the Go reference with our own C kernels, built with
// the address and undefined-behaviour sanitizers.
func TestPortableC(t *testing.T) {
	exe := portable(t)
	for i, k := range allKernels {
		t.Run(k.name, func(t *testing.T) {
			compare(t, exe, generate(k.make, uint64(i), testenv.Count(t, 2000), fixp.DoubleRounding))
		})
	}
}

// TestSingleRounding compares the reference for one rounding with our kernels
// built so and, where CMSIS_NN_INCLUDE and CMSIS_NN_LIB_SINGLE name one, with a
// host build of CMSIS-NN with CMSIS_NN_USE_SINGLE_ROUNDING.
func TestSingleRounding(t *testing.T) {
	run := func(t *testing.T, exe string, library bool) {
		for i, k := range kernels {
			t.Run(k.name, func(t *testing.T) {
				calls := generate(k.make, uint64(i), testenv.Count(t, 2000)/4, fixp.SingleRounding)
				if library {
					calls = slices.DeleteFunc(calls, func(c *call) bool {
						return c.limit != "" || c.fn != "" && len(cmsis.Defects(c.fn, c.asked(cmsis.PlainC))) > 0
					})
				}
				compare(t, exe, calls)
			})
		}
	}
	t.Run("portable", func(t *testing.T) { run(t, portable(t, "-DCMSIS_NN_USE_SINGLE_ROUNDING"), false) })
	t.Run("library", func(t *testing.T) {
		inc, lib := testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get("CMSIS_NN_LIB_SINGLE")
		if inc == "" || lib == "" {
			t.Skip("set CMSIS_NN_INCLUDE and CMSIS_NN_LIB_SINGLE to a host build of CMSIS-NN with " +
				"CMSIS_NN_USE_SINGLE_ROUNDING")
		}
		run(t, buildDriver(t, []string{"-std=gnu99", "-O1", "-w", "-I" + inc}, lib), true)
	})
}

// TestLibrary compares the Go reference with a real CMSIS-NN. Calls that the
// library is known to compute wrongly are left out.
func TestLibrary(t *testing.T) {
	exe := library(t)
	build := cmsis.PlainC
	switch testenv.Get("CMSIS_NN_ISA") {
	case "mve":
		build = cmsis.MVE
	case "dsp":
		build = cmsis.DSP
	}
	for i, k := range allKernels {
		t.Run(k.name, func(t *testing.T) {
			calls := slices.DeleteFunc(generate(k.make, uint64(i), testenv.Count(t, 2000), fixp.DoubleRounding),
				func(c *call) bool {
					if c.limit != "" || build == cmsis.MVE && c.mve != "" {
						return true
					}
					if c.fn == "" {
						return false
					}
					return len(cmsis.Defects(c.fn, c.asked(build))) > 0
				})
			compare(t, exe, calls)
		})
	}
}
