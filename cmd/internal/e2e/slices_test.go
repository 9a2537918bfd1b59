// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/verify"
)

// slicesPort gives the example the harness's SysTick and says how it went.
//
//go:embed testdata/slicesPort.c
var slicesPort string

// TestSlices: the example keeps its deadline while it computes: work between the
// steps waits for the longest step at most, and the result is that of a run.
func TestSlices(t *testing.T) {
	o := digitsOn(t, "cortex-m4")
	v := mustVerify(t, o)
	longest := uint64(0)
	for _, l := range v.Layers {
		longest = max(longest, l.Instructions)
	}
	dir := folder(t, o.Files)
	for _, name := range []string{"slices.c", "slices.h"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "nncc", "examples", "slices", name))
		require(t, err)
		putText(t, filepath.Join(dir, name), string(text))
	}
	putText(t, filepath.Join(dir, "slices_port.c"), slicesPort)
	putText(t, filepath.Join(dir, "slices_port.h"), "#include \"digits.h\"\nint32_t slices_timed(void *arena);\n")
	m := o.Harness
	m.Header, m.RunFunc = "slices_port.h", "slices_timed"
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Model: &m, Opt: "speed"})
	ports := o.Lowered.Ports()
	x := ir.Rand(7, ports.Inputs()[0].Type.DType, ports.Inputs()[0].Type.Shape)
	want, err := ports.Step([]*tensor.Dense{x})
	require(t, err)
	res, err := run.Run(context.Background(), o.Board, im,
		[]run.Case{{Inputs: verify.Memory([]*tensor.Dense{x}, ports.Inputs())}})
	require(t, err)
	if r := res.Cases[0]; r.Status != 0 || !bytes.Equal(r.Outputs[0], want[0].Bytes()) {
		t.Errorf("status %d, or another result than that of a run", r.Status)
	}
	var served, latest, took uint64
	_, line, _ := strings.Cut(res.Console, "slices ")
	if _, err := fmt.Sscanf(line, "%v %v %v", &served, &latest, &took); err != nil {
		t.Fatalf("%v in %q", err, res.Console)
	}
	// A step takes its share of the ticks; looking at the clock takes some, too.
	allowed := took*longest/v.Instructions*11/10 + 500
	t.Logf("served %d times, at most %d ticks late (longest step %d), %d ticks in all", served, latest, allowed, took)
	if served < 3 || latest > allowed || allowed*2 > took {
		t.Errorf("served %d times in %d ticks, at most %d late; want at most %d", served, took, latest, allowed)
	}
}
