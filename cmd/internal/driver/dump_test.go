// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// TestDumpWarnsOnce: nodes that ONNX has no form for, at several stages, are one short warning.
func TestDumpWarnsOnce(t *testing.T) {
	g := ir.New("mixed")
	x := g.AddInput("x", ir.T(tensor.BF16, 1, 1, 1, 1))
	weight := g.AddConst("w", tensor.New(tensor.BF16, []int{1, 1, 1, 1}))
	bias := g.AddConst("b", tensor.New(tensor.F32, []int{1})) // ONNX wants it in bfloat16
	for range 100 {
		n, err := g.Add(op.Conv, "", nil, 1, x, weight, bias)
		testenv.OK(t, err)
		x = n.Out[0]
	}
	g.AddOutput("y", x)
	c := Defaults()
	c.Board = "host"
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	d, err := c.openDump()
	testenv.OK(t, err)
	defer d.Discard()
	for _, stage := range []string{"00-one", "01-two"} {
		testenv.OK(t, d.graph(stage, g))
	}
	d.warnNoONNX()
	if len(c.Diags) != 1 {
		t.Fatalf("%d warnings", len(c.Diags))
	}
	if s := c.Diags[0].Msg; len(s) > 300 || !strings.Contains(s, "00-one, 01-two") || !strings.Contains(s, "99 more") {
		t.Error(s)
	}
}

// TestTargetMayChoose: without flags nothing insists on int8 for single layers,
// so that an accelerator with a wider format can use it; with flags they do.
func TestTargetMayChoose(t *testing.T) {
	for _, c := range []struct {
		precision option.Precision
		weights   option.Weights
		free      bool
	}{{option.Auto, option.Int8Weights, true}, {option.Int8, option.Int8Weights, true},
		{option.Int16x8, option.Int8Weights, false}, {option.Auto, option.Int4Weights, false}} {
		d := Defaults()
		d.Precision, d.Weights = c.precision, c.weights
		f, err := d.layerPrecision(ir.New("g"))
		testenv.OK(t, err)
		if free := f == nil; free != c.free {
			t.Errorf("--precision %s --weights %s: free %v", c.precision, c.weights, free)
		}
	}
}

// TestWeightsFileIsNoFlash: --max-flash and the board's memories do not count constants
// that are bound at run time.
func TestWeightsFileIsNoFlash(t *testing.T) {
	bytes := func(bound bool) (n, weights int, region string) {
		c := Defaults()
		c.Model, c.Board = filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx"), "stm32h743"
		c.WeightsFile = bound
		o, err := c.Compile()
		testenv.OK(t, err)
		n, err = o.Firmware.flashBytes()
		testenv.OK(t, err)
		return n, o.Info.WeightBytes, o.Placement.At("weights")
	}
	linked, weights, at := bytes(false)
	const binding = 2048 // code that checks the file
	if bound, _, none := bytes(true); bound > linked-weights+binding || at == "" || none != "" {
		t.Errorf("%d bytes of flash in %q, %d in %q with %d bytes of constants apart", linked, at, bound, none, weights)
	}
}

// TestBoundIsData: the pointer to bound constants is RAM, beside the C library's.
func TestBoundIsData(t *testing.T) {
	c := Defaults()
	c.Model, c.Board = filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx"), "stm32h743"
	c.WeightsFile = true
	o, err := c.Compile()
	testenv.OK(t, err)
	built := &run.Sizes{By: map[run.Origin]run.Section{run.ModelCode: {BSS: 4}, run.Kernels: {Data: 8},
		run.Libc: {Data: 16, BSS: 32}, run.Harness: {BSS: 64}}}
	for _, i := range o.Firmware.items(built, 0) {
		if i.What == "data" && i.Bytes == 4+8+16+32 {
			return
		}
	}
	t.Error("want 60 bytes of data")
}

// TestWeightsFileRefuses what cannot be together with a file that is bound.
func TestWeightsFileRefuses(t *testing.T) {
	for want, set := range map[string]func(*Config){
		"--dead-channels on": func(c *Config) { c.Told = map[string]bool{"dead-channels": true} },
	} {
		c := Defaults()
		c.Model, c.Board = "none.onnx", "cortex-m4"
		set(&c)
		var e *UsageError
		if err := c.Check(); err != nil {
			t.Errorf("%s without a weights file: %v", want, err)
		}
		c.WeightsFile = true
		if err := c.Check(); !errors.As(err, &e) || !strings.Contains(e.Msg, want) {
			t.Errorf("want a word of %s, got %v", want, err)
		}
	}
}
