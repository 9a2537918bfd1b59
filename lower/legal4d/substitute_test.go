// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal4d"
)

func TestSubstitutes(t *testing.T) {
	m := newMaker(t, 700)
	x := m.conv(m.in(1, 3, 9, 11), 4, 3, 1)
	x = m.op(op.Gelu, ir.Attrs{"approximate": ir.Str("tanh")}, x)
	x = m.op(op.MaxPool, ir.Attrs{"kernel_shape": ir.Ints(3, 2), "strides": ir.Ints(2, 2), "ceil_mode": ir.Int(1)}, x)
	x = m.op(op.Mish, nil, x)
	x = m.op(op.AveragePool, ir.Attrs{"kernel_shape": ir.Ints(3, 3), "pads": ir.Ints(1, 1, 1, 1)}, x)
	m.out(m.op(op.Neg, nil, x))
	m.out(m.op(op.Abs, nil, x))
	m.out(m.op(op.Max, nil, m.k(0.1), x))
	m.out(m.op(op.Min, nil, x, m.k(0.1)))
	m.out(m.op(op.Max, nil, x, m.op(op.Sigmoid, nil, x), m.k(0.3)))
	m.out(m.op(op.Min, nil, m.op(op.Sigmoid, nil, x), x))
	m.out(m.op(op.ReduceSumSquare, nil, x, m.ints(2)))
	m.out(m.op(op.ReduceL1, nil, x, m.ints(1)))
	m.out(m.op(op.ReduceL2, nil, x, m.ints(2, 3)))
	m.out(m.op(op.LogSoftmax, ir.Attrs{"axis": ir.Int(1)}, x))
	m.out(m.op(op.ReduceMin, ir.Attrs{"keepdims": ir.Int(0)}, x, m.ints(1)))
	s := x.Type.Shape
	y := m.transpose(m.reshape(x, 1, s[1], s[2]*s[3]), 0, 2, 1)
	m.out(m.op(op.RMSNormalization, nil, y, m.c(s[1])))
	g := m.op(op.InstanceNormalization, nil, m.reshape(x, 1, 2, s[1]/2*s[2]*s[3]), m.c(2), m.c(2))
	m.out(m.op(op.Mul, nil, m.reshape(g, s...), m.c(s[1], 1, 1)))
	m.all4D()

	for _, d := range []*ir.OpDef{op.MaxPool, op.AveragePool} {
		for i := range 24 {
			m := newMaker(t, uint64(720+i))
			k, s, p := 2+i%3, 1+i/3%2, i/6%2
			attrs := ir.Attrs{"kernel_shape": ir.Ints(k, k+1), "strides": ir.Ints(s, s+1), "pads": ir.Ints(p, 0, p, p),
				"ceil_mode": ir.Int(i / 12)}
			if d == op.AveragePool && i < 12 { // windows that hang over the end of counted pads stay
				attrs["count_include_pad"] = ir.Int(i / 3 % 2)
			}
			out, err := m.try(d, attrs, 1, m.conv(m.in(1, 2, 8, 9), 2, 3, 1))
			if err != nil {
				continue
			}
			m.out(out[0])
			l := m.check(false)
			testenv.Check(t, len(l) <= 0, "%s %v: %v", d.Name, attrs, l)
		}
	}
}

func TestMovement(t *testing.T) {
	m := newMaker(t, 760)
	x := m.op(op.Relu, nil, m.in(1, 3, 4, 5))
	y := m.reshape(x, 1, 12, 5)
	m.out(m.op(op.Pad, nil, y, m.ints(0, 0, 2, 0, 0, 1)))
	m.out(m.op(op.Expand, nil, m.reshape(m.op(op.ReduceMax, nil, x, m.ints(2, 3)), 1, 3, 1), m.ints(1, 3, 7)))
	m.all4D()
	for _, keep := range []int{0, 1} {
		for _, axis := range []int{1, 2, 3} {
			m := newMaker(t, 770)
			x := m.conv(m.in(1, 3, 4, 5), 6, 3, 1)
			m.out(m.op(op.ArgMax, ir.Attrs{"axis": ir.Int(axis), "keepdims": ir.Int(keep)}, x))
			m.out(m.op(op.ArgMax, ir.Attrs{"axis": ir.Int(-1), "keepdims": ir.Int(keep)},
				m.transpose(m.reshape(x, 1, 6, 20), 0, 2, 1)))
			m.all4D()
		}
	}
}

// TestDescribe: the JSON tells all that is needed to rebuild the outputs.
func TestDescribe(t *testing.T) {
	m := newMaker(t, 800)
	x := m.in(1, 3, 8, 8)
	a, b := m.conv(x, 5, 3, 1), m.conv(x, 5, 3, 2)
	y := m.concat(2, m.reshape(a, 1, 5, 64), m.reshape(b, 1, 5, 16))
	m.out(m.transpose(y, 0, 2, 1))
	m.out(a)
	r := must(t, m.g)
	raw := testenv.Must(json.Marshal(r.Outputs))(t)
	var outs []legal4d.Output
	testenv.OK(t, json.Unmarshal(raw, &outs))
	in := irtest.Inputs(m.g, 1)
	want := irtest.Run(t, m.g, in)
	native := irtest.Run(t, r.Native, in)
	for i, o := range outs {
		env := map[string]*tensor.Dense{}
		for k, name := range r.Native.OutNames {
			env[name] = native[k]
		}
		last := ""
		if len(o.Steps) == 0 {
			last = o.From[0]
		}
		for _, s := range o.Steps {
			switch s.Op {
			case "reshape":
				env[s.Result] = env[s.Inputs[0]].Reshaped(s.Shape)
			case "transpose":
				env[s.Result] = env[s.Inputs[0]].Transpose(s.Perm)
			case "concat":
				g := ir.New("concat")
				var vs []*ir.Value
				var ds []*tensor.Dense
				for k, name := range s.Inputs {
					vs = append(vs, g.AddInput(fmt.Sprint("x", k), ir.T(env[name].DType, env[name].Shape...)))
					ds = append(ds, env[name])
				}
				n := testenv.Must(g.Add(op.Concat, "c", ir.Attrs{"axis": ir.Int(*s.Axis)}, 1, vs...))(t)
				g.AddOutput("y", n.Out[0])
				env[s.Result] = irtest.Run(t, g, ds)[0]
			}
			last = s.Result
		}
		testenv.Check(t, tensor.Equal(env[last], want[i]), "output %s rebuilt by the description differs: %s", o.Name,
			raw)
	}
}

// TestExport: both forms are valid ONNX that reads back as the same function.
func TestExport(t *testing.T) {
	for _, name := range []string{"ufld_tiny", "yolov8seg_tiny", "vit_tiny_ln17"} {
		g := open(t, name)
		r := must(t, g)
		full := testenv.Must(r.Original())(t)
		in := irtest.Inputs(g, 3)
		for i, h := range []*ir.Graph{r.Native, full} {
			p, err := onnx.Export(h, onnx.ExportOptions{})
			testenv.Require(t, err == nil, "%s: %v", name, err)
			back := reread(t, p)
			got, want := irtest.Run(t, back, in), irtest.Run(t, h, in)
			for k := range want {
				if d := irtest.Diff(got[k], want[k]); d > 1e-4 { // noise; Swish and Gelu are written out in float32
					t.Errorf("%s, form %d, output %s: %g", name, i, h.OutNames[k], d)
				}
			}
			testenv.Check(t, fmt.Sprint(back.OutNames) == fmt.Sprint(h.OutNames), "%s: outputs %v, want %v", name,
				back.OutNames, h.OutNames)
		}
	}
}

func reread(t *testing.T, p *pb.ModelProto) *ir.Graph {
	t.Helper()
	raw := testenv.Must(onnx.Marshal(p))(t)
	m := testenv.Must(onnx.Parse(raw, onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	return g
}

// TestEntry: an input of another rank enters by a view.
func TestEntry(t *testing.T) {
	m := newMaker(t, 900)
	x := m.in(1, 24)
	m.out(m.linear(m.op(op.Relu, nil, m.linear(x, 7)), 3))
	m.check(false)
	r := must(t, m.g)
	if e := entry(r); len(e) != 1 || len(notFour(r.Native)) != 1 {
		t.Errorf("entries %v in\n%s", e, brief(r.Native))
	}
}

// entry are the nodes of Native that only bring inputs of another rank to 4-D:
// views of memory that the host makes.
func entry(r *legal4d.Result) map[*ir.Node]bool {
	out := map[*ir.Node]bool{}
	for _, n := range r.Native.Nodes {
		if x := n.Input(0); n.Op == op.Reshape && x.IsInput() && x.Type.Rank() != 4 {
			out[n] = true
		}
	}
	return out
}
