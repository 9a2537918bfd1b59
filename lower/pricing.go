package lower

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/cmsisnn"
)

// ISA names the instruction set of a core in the cost tables.
func ISA(c target.Core) string {
	switch {
	case c.MVE:
		return "mve"
	case c.DSP:
		return "dsp"
	}
	return "c"
}

// Make names the make of the kernels behind the CMSIS-NN API in the cost tables.
func (o *Options) Make() string {
	if o.Installed {
		return "cmsis-nn"
	}
	return "nncc"
}

// pricer prices the layers of a graph on integers: the kernel that the table
// chooses, the function in it that would run on the given shapes, and the model
// of that function. Kernels without a model have no price.
func pricer(table target.Table, o *Options) align.Pricer {
	models := cost.Models()
	return func(n *ir.Node, in, out [][]int) align.Price {
		if isView(n) && slices.Equal(withoutOnes(in[0]), withoutOnes(out[0])) {
			return align.Price{Kernel: "view"}
		}
		choice, err := table.Choose(n, &o.Target)
		if err != nil {
			return align.Price{Unknown: "no kernel takes it"}
		}
		k := choice.Kernel
		s, route, ok := priced(n, k, in, out, o.Target.Core)
		if !ok {
			return align.Price{Unknown: "layers of this kind have no cost table (" + k.Name + ")"}
		}
		m := models[cost.Key{Make: o.Make(), ISA: ISA(o.Target.Core), Route: route}]
		if m == nil {
			return align.Price{Unknown: route + " has no cost table for this core"}
		}
		return align.Price{Instructions: m.Predict(s), Kernel: route, Error: m.Error}
	}
}

func withoutOnes(s []int) []int {
	return slices.DeleteFunc(slices.Clone(s), func(d int) bool { return d == 1 })
}

// priced is the shape by which a layer is priced, and the function that would
// compute it; false for layers that no model covers.
func priced(n *ir.Node, k *target.Kernel, in, out [][]int, core target.Core) (cost.Shape, string, bool) {
	none := cost.Shape{}
	if k.Library != cmsisnn.Library || !strings.HasSuffix(k.Name, "_s8") { // 16-bit activations and int4 weights have costs of their own
		return none, "", false
	}
	switch n.Op {
	case op.Conv:
		g, err := op.ConvGeometry(n)
		if err != nil || len(g.In) > 2 || slices.Max(g.Dilations) > 1 {
			return none, "", false
		}
		p := *g
		p.CIn, p.COut = in[0][1], out[0][1]
		switch {
		case op.IsDepthwise(g) && g.CIn == g.COut:
			p.Group = p.CIn
		case g.Group != 1:
			return none, "", false
		}
		s := spatial(p.N, p.In, p.Out, p.Kernel, p.Strides, p.PadBegin)
		s.C, s.OC, s.Groups = p.CIn, p.COut, p.Group
		return s, cmsisnn.Inner(core, &p), true
	case op.MaxPool, op.AveragePool, op.GlobalAveragePool:
		g, err := op.PoolGeometry(n)
		if err != nil || len(g.In) > 2 || slices.Max(g.Dilations) > 1 {
			return none, "", false
		}
		s := spatial(in[0][0], g.In, g.Out, g.Kernel, g.Strides, g.PadBegin)
		s.C, s.OC, s.Groups = in[0][1], out[0][1], in[0][1]
		return s, k.Name, true
	case op.Gemm:
		route := "arm_fully_connected_s8"
		if n.In[1].Type.Quant.PerAxis() {
			route = "arm_fully_connected_per_channel_s8"
		}
		s := spatial(in[0][0], []int{1}, []int{1}, []int{1}, []int{1}, []int{0})
		s.C, s.OC, s.Groups = in[0][1], out[0][1], 1
		return s, route, true
	case op.Add:
		if in[0] == nil || in[1] == nil || !slices.Equal(in[0], in[1]) {
			return none, "", false
		}
		s := spatial(1, []int{1}, []int{1}, []int{1}, []int{1}, []int{0})
		s.C = 1
		for _, d := range out[0] {
			s.C *= d
		}
		s.OC, s.Groups = s.C, s.C
		return s, k.Name, true
	}
	return none, "", false
}

// spatial fills in the extents; one dimension has height 1.
func spatial(n int, in, out, kernel, stride, pad []int) cost.Shape {
	two := func(s []int, one int) (h, w int) {
		if len(s) == 1 {
			return one, s[0]
		}
		return s[0], s[1]
	}
	s := cost.Shape{N: n, DH: 1, DW: 1}
	s.IH, s.IW = two(in, 1)
	s.OH, s.OW = two(out, 1)
	s.KH, s.KW = two(kernel, 1)
	s.SH, s.SW = two(stride, 1)
	s.PH, s.PW = two(pad, 0)
	return s
}

// copyPricer prices copies that add channels to a feature map.
func copyPricer(o *Options) func(in, out []int) align.Price {
	const kernel = "arm_pad_s8"
	m := cost.Models()[cost.Key{Make: o.Make(), ISA: ISA(o.Target.Core), Route: kernel}]
	return func(in, out []int) align.Price {
		if m == nil {
			return align.Price{Unknown: kernel + " has no cost table for this core"}
		}
		pixels := in[0]
		for _, d := range in[2:] {
			pixels *= d
		}
		s := spatial(1, []int{pixels}, []int{pixels}, []int{1}, []int{1}, []int{0})
		s.C, s.OC, s.Groups = in[1], out[1], in[1]
		return align.Price{Instructions: m.Predict(s), Kernel: kernel, Error: m.Error}
	}
}
