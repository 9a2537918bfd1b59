// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// checked is the geometry of a Gemm as a Conv.
func (o ConvOptions) checked() ConvOptions {
	fail.If(min(o.R, o.S, o.C, o.K) < 0, "r %d, s %d, c %d, k %d: sizes are 1 or more", o.R, o.S, o.C, o.K)
	return o
}

// along is how a value is cut along an axis.
func (c Cut) along(axis int) Cut {
	fail.If((c.Sizes == nil) == (c.Count == 0 && c.Size == 0),
		"want sizes, or count and size, one of which may be left out for equal pieces")
	fail.If(c.Size < 0 || c.Count < 0, "count %d, size %d; want positive ones", c.Count, c.Size)
	c.Axis = axis
	return c
}

// rewriteSteps write operators as others.
func rewriteSteps() []*stepDef {
	type gemmConv struct {
		Nodes nodeSel
		Conv  ConvOptions `yaml:",inline"`
		Flat  bool
	}
	type slicedConvs struct {
		Node    nodeSel
		Conv    ConvOptions `yaml:",inline"`
		Sizes   []int
		Outputs []string
	}
	type matmulConv struct {
		Nodes    nodeSel
		Layout   string
		KeepBias bool `yaml:"keep_bias"`
	}
	type einsum struct {
		Nodes     *nodeSel
		Equation  string
		Equations map[string]string
	}
	type transposePair struct {
		Nodes  nodeSel
		Before []int
		After  []int
	}
	type insertSlices struct {
		valueArg `yaml:",inline"`
		Axis     int
		Cut      `yaml:",inline"`
		Outputs  []string
	}
	type insertConcat struct {
		Values []string
		Nodes  *nodeSel
		Axis   int
		Name   string
		Output string
		To     *nodeSel
		Input  indexArg
	}
	type slicesConcat struct {
		After      string
		Before     *nodeSel
		SliceAxis  int `yaml:"slice_axis"`
		ConcatAxis int `yaml:"concat_axis"`
		Cut        `yaml:",inline"`
		Output     string
	}
	return []*stepDef{
		def("rewrite_gemm_as_conv", func(s *session, a *gemmConv) string {
			ns, opt := s.nodes(&a.Nodes), a.Conv.checked()
			opt.Flat = a.Flat
			s.want(len(ns) < 2 || opt.Name == "" && opt.After == "",
				"name and after are for one node, %d are named", len(ns))
			return s.each(ns, func(n *pb.NodeProto) *pb.NodeProto {
				return s.m().RewriteGemmAsConv(n, opt)
			})
		}),
		def("rewrite_gemm_as_sliced_convs", func(s *session, a *slicedConvs) string {
			n, opt := s.node(&a.Node), a.Conv.checked()
			s.want((a.Sizes == nil) == (a.Outputs == nil), "sizes and outputs go together")
			old := label(n)
			convs := s.m().RewriteGemmAsSlicedConvs(n, a.Sizes, a.Outputs, opt)
			return fmt.Sprintf("%s → %s", old, labels(convs))
		}),
		def("rewrite_matmul_as_conv", func(s *session, a *matmulConv) string {
			ns := s.nodes(&a.Nodes)
			s.choice("layout", a.Layout, "channels_last", "channels_first")
			opt := MatMulOptions{ChannelsFirst: a.Layout == "channels_first", KeepBias: a.KeepBias}
			return s.each(ns, func(n *pb.NodeProto) *pb.NodeProto {
				return s.m().RewriteMatMulAsConv(n, opt)
			})
		}),
		def("rewrite_matmul_as_einsum", func(s *session, a *einsum) string {
			s.want((a.Nodes == nil) != (a.Equations == nil),
				"want nodes (with equation), or equations (a map from nodes), one of them")
			for _, k := range sortedKeys(a.Equations) {
				n := s.m().Node(k)
				s.m().RewriteMatMulAsEinsum(n, a.Equations[k])
			}
			if a.Nodes == nil {
				return fmt.Sprintf("%d MatMuls → Einsum: %s", len(a.Equations), quoted(sortedKeys(a.Equations)))
			}
			ns := s.nodes(a.Nodes)
			for _, n := range ns {
				s.m().RewriteMatMulAsEinsum(n, a.Equation)
			}
			return fmt.Sprintf("%d MatMuls → Einsum: %s", len(ns), labels(ns))
		}),
		def("insert_transpose_pair", func(s *session, a *transposePair) string {
			ns := s.nodes(&a.Nodes)
			for _, n := range ns {
				s.m().InsertTransposePair(n, a.Before, a.After)
			}
			return fmt.Sprintf("around %d nodes: %s", len(ns), labels(ns))
		}),
		def("insert_slices", func(s *session, a *insertSlices) string {
			v := s.value(&a.valueArg)
			outs := s.m().InsertSlices(v, a.Cut.along(a.Axis), a.Outputs)
			return fmt.Sprintf("%s is cut into %s", quote(v), quoted(outs))
		}),
		def("insert_concat", func(s *session, a *insertConcat) string {
			s.oneOf(a.Values != nil, a.Nodes != nil, "values or nodes")
			values := a.Values
			if a.Nodes != nil {
				for _, n := range s.nodes(a.Nodes) {
					refuse(len(n.Output) != 1, n, "has %d outputs; name values instead", len(n.Output))
					values = append(values, n.Output[0])
				}
			}
			var to *pb.NodeProto
			index := 0
			if a.To != nil {
				to = s.node(a.To)
				index = s.place(&a.Input, to, to.Input, "input")
			}
			out := s.m().InsertConcat(values, a.Axis, a.Name, a.Output, to, index)
			return fmt.Sprintf("%s joins %d values", quote(out), len(values))
		}),
		def("insert_slices_concat", func(s *session, a *slicesConcat) string {
			var v string
			fail.Under("after", func() { v = s.m().ValueOf(a.After) })
			var before *pb.NodeProto
			if a.Before != nil {
				before = s.node(a.Before)
			}
			out := s.m().InsertSlicesConcat(v, a.Cut.along(a.SliceAxis), a.ConcatAxis, before, a.Output)
			return fmt.Sprintf("%s is joined from pieces of %s", quote(out), quote(v))
		}),
	}
}

// each rewrites nodes one by one.
func (s *session) each(ns []*pb.NodeProto, f func(*pb.NodeProto) *pb.NodeProto) string {
	old := labels(ns)
	return fmt.Sprintf("%s → %s", old, labels(lists.Map(ns, f)))
}
