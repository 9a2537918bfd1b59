// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// compileAll runs Vela on every model of a folder; what it cannot compile has no result.
const compileAll = `
import sys, os, glob
sys.path.insert(0, sys.argv[1])
from ethosu.vela import vela
configs = ["ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512"]
for i, p in enumerate(sorted(glob.glob(sys.argv[2] + "/*.tflite"))):
    try:
        vela.main([p, "--accelerator-config", configs[i % 6], "--output-dir", sys.argv[2] + "/out"])
    except BaseException as e:
        print(p, repr(e)[:200], file=sys.stderr)
`

// results are those of a model's program, which the interpreter runs.
func results(t *testing.T, model string, data [][]byte) ([]*tensor.Dense, error) {
	t.Helper()
	c := driver.Defaults()
	c.Model, c.Board, c.Name = model, "host", "net"
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	var in []*tensor.Dense
	for i, v := range o.Lowered.Graph.In {
		in = append(in, testenv.Must(tensor.FromBytes(v.Type.DType, v.Type.Shape, data[i]))(t))
	}
	return interp.Run(o.Lowered.Graph, in, nil)
}

// drawnFor writes drawn layers of the types that Vela takes.
func drawnFor(t *testing.T, dir string) []*layer {
	t.Helper()
	var drawn []*layer
	from, count := testenv.Range(t, 4)
	for seed := from; seed < from+count; seed++ {
		for _, d := range stateless {
			for _, typ := range d.typesOf() {
				if !slices.Contains([]string{"i8", "i16", "u8"}, typ) {
					continue
				}
				l := draw(d, typ, uint64(seed))
				path := filepath.Join(dir, fmt.Sprintf("m%04d.tflite", len(drawn)))
				testenv.OK(t, os.WriteFile(path, l.Graph.Bytes(), 0o666))
				drawn = append(drawn, l)
			}
		}
	}
	return drawn
}

// apart is how many elements differ, and by how much at most.
func apart(a, b *tensor.Dense) (n int, most float64) {
	for e := range b.Len() {
		if d := a.Float(e) - b.Float(e); d != 0 {
			n, most = n+1, max(most, d, -d)
		}
	}
	return n, most
}

// faults are operators and types ("": any) of which Vela's streams are known to give other numbers, or none: the
// table in lower/accel/ethosu/README.md.
var faults = map[string]string{"PAD": "", "PADV2": "", "PACK": "", "SPLIT": "", "SPLIT_V": "", "UNPACK": "",
	"TRANSPOSE": "", "TRANSPOSE_CONV": "", "MEAN": "i16", "CONV_2D": "i16", "PRELU": "i16", "ADD": "i16", "SUB": "i16"}

// TestVela: drawn layers that Vela (NNCC_VELA, the folder of its package ethosu) compiles give the results of the
// layers themselves; how many differ by operator is what its own tables and scales do.
func TestVela(t *testing.T) {
	vela := testenv.Get("NNCC_VELA")
	testenv.SkipIf(t, vela == "", "NNCC_VELA is not set")
	dir := t.TempDir()
	drawn := drawnFor(t, dir)
	if out, err := exec.Command("/usr/bin/python3", "-c", compileAll, vela, dir).CombinedOutput(); err != nil {
		t.Fatalf("Vela: %v\n%s", err, out[max(0, len(out)-2000):])
	}
	compiled, known := 0, 0
	for i, l := range drawn {
		name := fmt.Sprintf("m%04d", i)
		path := filepath.Join(dir, "out", name+"_vela.tflite")
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), "COP1") {
			continue
		}
		data := l.inputs()
		want, err := results(t, filepath.Join(dir, name+".tflite"), data)
		if err != nil {
			continue // nncc refuses the layer
		}
		compiled++
		fail, typ := t.Errorf, faults[l.op]
		if _, ok := faults[l.op]; ok && (typ == "" || typ == l.typ) {
			fail = func(format string, args ...any) {
				t.Logf(format, args...)
				known++
			}
		}
		got, err := results(t, path, data)
		if err != nil {
			fail("%s %s %s: %v", name, l.op, l.typ, err)
			continue
		}
		for k := range want {
			if n, most := apart(got[k], want[k]); n > 0 {
				fail("%s %s %s: %d of %d elements differ, by up to %g", name, l.op, l.typ, n, want[k].Len(), most)
			}
		}
	}
	t.Logf("%d of %d layers are compiled, %d results have known faults", compiled, len(drawn), known)
}
