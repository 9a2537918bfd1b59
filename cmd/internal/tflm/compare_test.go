// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/state"
)

// runs is how often a model is run, one after the other.
const runs = 3

// TestLayers: programs give what TensorFlow Lite Micro's reference kernels give, integers
// bit for bit, floats within 1e-4. NNCC_TFLM_RUN names the program that runs them.
func TestLayers(t *testing.T) {
	program := testenv.Get("NNCC_TFLM_RUN")
	if program == "" {
		t.Skip("NNCC_TFLM_RUN names no program that runs TensorFlow Lite Micro")
	}
	from, count := testenv.Range(t, 6)
	for i, d := range drawers {
		for _, typ := range d.typesOf() {
			t.Run(fmt.Sprintf("%s/%s/%d", d.op, typ, i), func(t *testing.T) {
				t.Parallel()
				accepted := 0
				for seed := from; seed < from+count; seed++ {
					if compare(t, program, draw(d, typ, uint64(seed)), seed) {
						accepted++
					}
				}
				t.Logf("%d of %d models compared", accepted, count)
				if accepted == 0 {
					t.Errorf("TensorFlow Lite Micro refuses all models")
				}
			})
		}
	}
}

// compare runs a model both ways; false where TensorFlow Lite Micro refuses it.
func compare(t *testing.T, program string, l *layer, seed int) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.tflite")
	testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
	var in [][][]byte
	var stream bytes.Buffer
	for range runs {
		x := l.inputs()
		in = append(in, x)
		stream.Write(bytes.Join(x, nil))
	}
	cmd := exec.Command(program, path, fmt.Sprint(runs))
	var msg bytes.Buffer
	cmd.Stdin, cmd.Stderr = &stream, &msg
	want, err := cmd.Output()
	if err != nil {
		t.Logf("seed %d: refused by TensorFlow Lite Micro: %v %s", seed, err, bytes.TrimSpace(msg.Bytes()))
		return false
	}
	have, err := program1(path, in)
	if err != nil {
		t.Errorf("seed %d: %s\n%s", seed, err, l)
		return true
	}
	if why := differ(have, want); why != "" {
		t.Errorf("seed %d: %s\n%s", seed, why, l)
	}
	return true
}

// program1 is what nncc's program of a model gives: of each run, each output.
func program1(path string, in [][][]byte) (out [][]*tensor.Dense, err error) {
	c := driver.Defaults()
	c.Model, c.Board, c.Name, c.IO = path, "host", "net", option.FloatIO
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	r := state.New(o.Lowered.Reference, o.Lowered.StateBindings)
	for _, given := range in {
		var x []*tensor.Dense
		for i, v := range r.Inputs() {
			d, err := tensor.FromBytes(v.Type.DType, v.Type.Shape, given[i])
			if err != nil {
				return nil, err
			}
			x = append(x, d)
		}
		y, err := r.Step(x)
		if err != nil {
			return nil, err
		}
		var seen []*tensor.Dense
		for _, i := range r.Outputs() {
			seen = append(seen, y[i])
		}
		out = append(out, seen)
	}
	return out, nil
}

// differ says where results differ, "" where they do not.
func differ(have [][]*tensor.Dense, want []byte) string {
	for run, outs := range have {
		for i, d := range outs {
			n := len(d.Bytes())
			if n > len(want) {
				return fmt.Sprintf("result %d has %d bytes too many", i, n-len(want))
			}
			ref, err := tensor.FromBytes(d.DType, d.Shape, want[:n])
			if err != nil {
				return err.Error()
			}
			want = want[n:]
			if !d.DType.IsFloat() {
				if !bytes.Equal(d.Bytes(), ref.Bytes()) {
					return integersDiffer(run, i, d, ref)
				}
				continue
			}
			most := 0.0
			for k := range ref.Len() {
				if v := math.Abs(ref.Float(k)); !math.IsInf(v, 0) {
					most = max(most, v)
				}
			}
			for k := range ref.Len() {
				a, b := d.Float(k), ref.Float(k)
				if a != b && !(math.Abs(a-b) <= 1e-4*most) && !(math.IsNaN(a) && math.IsNaN(b)) {
					return fmt.Sprintf("run %d, result %d, element %d: %g, want %g", run, i, k, a, b)
				}
			}
		}
	}
	if len(want) > 0 {
		return fmt.Sprintf("results lack %d bytes", len(want))
	}
	return ""
}

func integersDiffer(run, i int, have, want *tensor.Dense) string {
	n, first, most := 0, -1, int64(0)
	for k := range want.Len() {
		if d := have.Int(k) - want.Int(k); d != 0 {
			if n++; first < 0 {
				first = k
			}
			most = max(most, d, -d)
		}
	}
	return fmt.Sprintf("run %d, result %d: %d of %d elements differ, by at most %d; the first, %d, is %d, want %d", run,
		i, n, want.Len(), most, first, have.Int(first), want.Int(first))
}

// String is the layer for messages.
func (l *layer) String() string {
	var b strings.Builder
	for _, o := range l.Ops {
		fmt.Fprintf(&b, "%s %v -> %v", l.op, o.In, o.Out)
	}
	for i, t := range l.Tensors {
		s := t.Scale
		if len(s) > 3 {
			s = s[:3]
		}
		kind := ""
		if t.Data != nil {
			kind = " const"
			if l.kinds[i] == "i32" && len(t.Data) <= 32 && len(s) == 0 {
				kind = fmt.Sprint(" const ", t.Data)
			}
		}
		fmt.Fprintf(&b, "\n  %d %s%v scale %v zero %v%s", i, l.kinds[i], t.Shape, s,
			slices.Compact(slices.Clone(t.Zero)), kind)
	}
	return b.String()
}
