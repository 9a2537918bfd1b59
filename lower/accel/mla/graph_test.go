// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// integer takes a float graph to integers as the pipeline does.
func integer(t testing.TB, g *ir.Graph) *ir.Graph {
	t.Helper()
	m := &pass.Manager{Passes: legal.Passes}
	testenv.OK(t, m.Run(&pass.Ctx{}, g))
	return quantised(t, g)
}

// quantised takes a float graph to integers as it is.
func quantised(t testing.TB, g *ir.Graph) *ir.Graph {
	t.Helper()
	if _, err := quant.Insert(g, quant.Options{Samples: []quant.Sample{irtest.Inputs(g, 99)},
		Method: option.MinMax}); err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
	return g
}

// TestRandomNetworks: whole networks, of any rank, as a segment each.
func TestRandomNetworks(t *testing.T) {
	var cases []*kase
	for seed := range uint64(200) {
		g := integer(t, irtest.Gen(seed, tensor.F32))
		float := false
		for _, n := range g.Nodes {
			for _, v := range n.Out {
				float = float || v.Type.DType.IsFloat()
			}
		}
		if float || len(g.Nodes) == 0 {
			continue
		}
		cases = append(cases, compiled(t, fmt.Sprint("network ", seed), g, seed))
	}
	testenv.Check(t, len(cases) >= 125, "only %d networks became integers", len(cases))
	compare(t, cases)
}

// TestAcceptedCompiles: what the rules accept of random networks, the compiler
// takes.
func TestAcceptedCompiles(t *testing.T) {
	accepted := 0
	for seed := range uint64(60) {
		g := integer(t, irtest.Gen(1000+seed, tensor.F32))
		for _, n := range g.Nodes {
			if len(mla.CheckQuantised(n, mla.Defaults())) > 0 {
				continue
			}
			accepted++
			one := ir.New("one")
			in := make([]*ir.Value, len(n.In))
			for i, v := range n.In {
				switch {
				case v == nil:
				case v.Const != nil:
					in[i] = one.AddConst(v.Name, v.Const)
					in[i].Type = v.Type
				default:
					in[i] = one.AddInput(fmt.Sprintf("%s_%d", v.Name, i), v.Type)
				}
			}
			m := testenv.Must(one.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...))(t)
			for i, v := range n.Out {
				m.Out[i].Type = v.Type
				one.AddOutput(v.Name, m.Out[i])
			}
			_, err := mla.Compile(one, mla.Defaults())
			testenv.Check(t, err == nil, "seed %d: accepted, but: %v", seed, err)
		}
	}
	testenv.Check(t, accepted >= 100, "only %d nodes were accepted", accepted)
}

// TestBorder: outputs that are inputs, constants, or given twice are copied;
// inputs and outputs of rank 4 are channels last.
func TestBorder(t *testing.T) {
	x := "in %x : i8[1,3,4,5] q(0.05:-3)\n"
	var cases []*kase
	for i, src := range []string{
		x + "%y : i8[1,3,4,5] q(0.05:-3) = Relu(%x)\nout \"y\" = %y\nout \"x\" = %x\nout \"again\" = %y",
		x + "%y : i8[1,5,3,4] q(0.05:-3) = Transpose(%x) {perm=[0,3,1,2]}\nout \"y\" = %y",
		x + "%y : i8[1,3,5,4] q(0.05:-3) = Transpose(%x) {perm=[0,1,3,2]}\n%z : i8[1,3,5,4] q(0.1:-3) = " +
			"Exp(%y)\nout \"y\" = %y\nout \"z\" = %z",
		x + "const %s : i64[2]={3,20}\n%y : i8[3,20] q(0.05:-3) = Reshape(%x, %s)\nout \"y\" = %y",
		x + "in %z : i8[1,3,4,5] q(0.02:9)\n%y : i8[1,3,4,5] q(0.05:-3) = Add(%x, %z)\nconst %s : f32[5] = rand " +
			"3\n%l : i8[1,3,4,5] q(0.03:1) = LayerNormalization(%y, %s)\nout \"l\" = %l\nout \"y\" = %y",
		x + "%a : i8[1,3,2,5] q(0.05:-3), %b : i8[1,3,2,5] q(0.05:-3) = Split(%x) {axis=2}\n%c : i8[1,3,4,5] " +
			"q(0.05:-3) = Concat(%b, %a) {axis=2}\nout \"c\" = %c\nout \"b\" = %b",
		x + "%a : i8[1,3,4,5] q(0.05:-3) = Relu(%x)\n%b : i8[1,3,4,5] q(0.05:-3) = Sigmoid(%x)\n%c : i8[1,3,8,5] " +
			"q(0.05:-3) = Concat(%a, %b) {axis=2}\n%d : i8[1,3,8,5] q(0.05:-3) = MaxPool(%c) {kernel_shape=[3,3], " +
			"pads=[1,1,1,1]}\nout \"d\" = %d",
	} {
		k := compiled(t, fmt.Sprint("border ", i), parse(t, src), uint64(i)+1)
		for _, x := range append(k.seg.Inputs(), k.seg.Outputs()...) {
			e := &k.seg.Tensors[x]
			testenv.Check(t, len(e.Shape) != 4 || e.Layout() == "NHWC", "case %d: %s lies as %v", i, e.Name, e.Order)
		}
		for j, x := range k.seg.Outputs() {
			testenv.Equal(t, k.seg.Tensors[x].Name, k.g.OutNames[j], "case %d: output %d is called", i, j)
		}
		cases = append(cases, k)
	}
	compare(t, cases)
}

func TestCompileRefuses(t *testing.T) {
	for want, src := range map[string]string{
		"symmetric": q4 + "const %w : i8[2,4,3,3] q(0.02:7) = rand 1\n%o : i8[1,2,4,4] q(0.4:1) = Conv(%x, %w)\nout " +
			"\"o\" = %o",
		"the MLA has no operation for nncc_softmax_f32 of kernel nncc_softmax_f32": x4 +
			"%o = Softmax(%x)\nout \"o\" = %o",
		"working memory": "in %x : i8[1,4,600,600] q(0.05:-3)\n%o : i8[1,4,600,600] q(0.05:-3) = Sigmoid(%x)\nout " +
			"\"o\" = %o",
	} {
		lim := mla.Defaults()
		lim.MemoryBytes = 1 << 20
		_, err := mla.Compile(parse(t, src), lim)
		if err == nil {
			t.Errorf("%s: compiled", want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want one with %q", err, want)
		}
	}
}

// TestAcceptedFloats: what the rules accept of float graphs is still accepted
// after quantisation, and runs.
func TestAcceptedFloats(t *testing.T) {
	var list []*kase
	for i, c := range cases {
		// roots of negative samples
		if c.goodNode == "" || !strings.Contains(c.goodDecl, "f32") || strings.Contains(c.goodDecl, "-0.5") {
			continue
		}
		node := c.goodNode
		if !strings.HasPrefix(node, "%") {
			node = "%o = " + node
		}
		end := "%z = HardSwish(%o)\nout \"z\" = %z" // data that is only moved would stay float
		if strings.Contains(node, "ArgMax") {
			node, end = strings.Replace(node, "%x", "%y", 1), "out \"o\" = %o"
			c.goodDecl += "%y = HardSwish(%x)"
		}
		g := quantised(t, parse(t, c.goodDecl+"\n"+node+"\n"+end))
		for _, n := range g.Nodes {
			for _, r := range mla.CheckQuantised(n, mla.Defaults()) {
				t.Errorf("%s, %s: %s: %s", c.code, node, n, r.Text)
			}
		}
		list = append(list, compiled(t, c.code, g, uint64(i)))
	}
	compare(t, list)
}
