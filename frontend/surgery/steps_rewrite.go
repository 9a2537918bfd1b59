package surgery

import (
	"errors"
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// kernelArgs are the geometry of a Gemm as a Conv.
type kernelArgs struct {
	After string `yaml:"after"`
	R     int    `yaml:"r"`
	S     int    `yaml:"s"`
	C     int    `yaml:"c"`
	K     int    `yaml:"k"`
	Name  string `yaml:"name"`
}

func (a *kernelArgs) options() (ConvOptions, error) {
	if a.R < 0 || a.S < 0 || a.C < 0 || a.K < 0 {
		return ConvOptions{}, fmt.Errorf("r %d, s %d, c %d, k %d: sizes are 1 or more", a.R, a.S, a.C, a.K)
	}
	return ConvOptions{After: a.After, R: a.R, S: a.S, C: a.C, K: a.K, Name: a.Name}, nil
}

// cutArgs say how a value is cut.
type cutArgs struct {
	Count int   `yaml:"count"`
	Size  int   `yaml:"size"`
	Sizes []int `yaml:"sizes"`
}

func (a *cutArgs) cut(axis int) (Cut, error) {
	if (a.Sizes == nil) == (a.Count == 0 && a.Size == 0) {
		return Cut{}, errors.New("want sizes, or count and size, one of which may be left out for equal pieces")
	}
	if a.Size < 0 || a.Count < 0 {
		return Cut{}, fmt.Errorf("count %d, size %d; want positive ones", a.Count, a.Size)
	}
	return Cut{Axis: axis, Sizes: a.Sizes, Count: a.Count, Size: a.Size}, nil
}

func rewriteSteps() []*stepDef {
	type gemmConv struct {
		Nodes      nodeSel `yaml:"nodes"`
		kernelArgs `yaml:",inline"`
		Flat       bool `yaml:"flat"`
	}
	type slicedConvs struct {
		Node       nodeSel `yaml:"node"`
		kernelArgs `yaml:",inline"`
		Sizes      []int    `yaml:"sizes"`
		Outputs    []string `yaml:"outputs"`
	}
	type matmulConv struct {
		Nodes    nodeSel `yaml:"nodes"`
		Layout   string  `yaml:"layout"`
		KeepBias bool    `yaml:"keep_bias"`
	}
	type einsum struct {
		Nodes     *nodeSel          `yaml:"nodes"`
		Equation  string            `yaml:"equation"`
		Equations map[string]string `yaml:"equations"`
	}
	type transposePair struct {
		Nodes  nodeSel `yaml:"nodes"`
		Before []int   `yaml:"before"`
		After  []int   `yaml:"after"`
	}
	type insertSlices struct {
		valueArg `yaml:",inline"`
		Axis     int `yaml:"axis"`
		cutArgs  `yaml:",inline"`
		Outputs  []string `yaml:"outputs"`
	}
	type insertConcat struct {
		Values []string `yaml:"values"`
		Nodes  *nodeSel `yaml:"nodes"`
		Axis   int      `yaml:"axis"`
		Name   string   `yaml:"name"`
		Output string   `yaml:"output"`
		To     *nodeSel `yaml:"to"`
		Input  indexArg `yaml:"input"`
	}
	type slicesConcat struct {
		After      string   `yaml:"after"`
		Before     *nodeSel `yaml:"before"`
		SliceAxis  int      `yaml:"slice_axis"`
		ConcatAxis int      `yaml:"concat_axis"`
		cutArgs    `yaml:",inline"`
		Output     string `yaml:"output"`
	}
	return []*stepDef{
		def("rewrite_gemm_as_conv", "Flatten or Reshape + Gemm → Conv with a kernel of the map's size; the result is [N,K,1,1], with flat: true [N,K] as before; r, s, c, k are checked, or given where shapes are not known; after: the map that is read",
			`rewrite_gemm_as_conv: {nodes: /fc/Gemm, r: 10, s: 25, c: 8, k: 2048}`,
			func(s *session, a *gemmConv) (string, error) {
				m := s.cur().m
				ns, err := a.Nodes.find(m)
				if err != nil {
					return "", err
				}
				opt, err := a.options()
				if err != nil {
					return "", err
				}
				opt.Flat = a.Flat
				if len(ns) > 1 && (opt.Name != "" || opt.After != "") {
					return "", fmt.Errorf("name and after are for one node, %d are named", len(ns))
				}
				return each(ns, func(n *pb.NodeProto) (*pb.NodeProto, error) { return m.RewriteGemmAsConv(n, opt) })
			}),
		def("rewrite_gemm_as_sliced_convs", "Gemm + Slices (or Split) → one Conv per slice with its rows of the weights; with sizes and outputs the pieces are those, for Slices that were removed before",
			`rewrite_gemm_as_sliced_convs: {node: /cls/Gemm}`,
			func(s *session, a *slicedConvs) (string, error) {
				m := s.cur().m
				n, err := a.Node.single(m)
				if err != nil {
					return "", err
				}
				opt, err := a.options()
				if err != nil {
					return "", err
				}
				if (a.Sizes == nil) != (a.Outputs == nil) {
					return "", errors.New("sizes and outputs go together")
				}
				old := label(n)
				convs, err := m.RewriteGemmAsSlicedConvs(n, a.Sizes, a.Outputs, opt)
				return fmt.Sprintf("%s → %s", old, labels(convs)), err
			}),
		def("rewrite_matmul_as_conv", "MatMul by a constant matrix, and the Add of a constant vector behind it → 1×1 Conv; layout: channels_last (default) keeps what is around as it is, channels_first says that it reads and gives [N,C,H,W] by now",
			`rewrite_matmul_as_conv: {nodes: {regex: "/mlp/fc[12]/MatMul"}, layout: channels_first}`,
			func(s *session, a *matmulConv) (string, error) {
				m := s.cur().m
				ns, err := a.Nodes.find(m)
				if err != nil {
					return "", err
				}
				switch a.Layout {
				case "", "channels_last", "channels_first":
				default:
					return "", fmt.Errorf("layout %s; want channels_last or channels_first", quote(a.Layout))
				}
				opt := MatMulOptions{ChannelsFirst: a.Layout == "channels_first", KeepBias: a.KeepBias}
				return each(ns, func(n *pb.NodeProto) (*pb.NodeProto, error) { return m.RewriteMatMulAsConv(n, opt) })
			}),
		def("rewrite_matmul_as_einsum", "MatMul → Einsum with an equation, or without one with that of MatMul",
			`rewrite_matmul_as_einsum: {equations: {/attn/MatMul: "nchq,nchk->nkhq"}}`,
			func(s *session, a *einsum) (string, error) {
				m := s.cur().m
				if (a.Nodes == nil) == (a.Equations == nil) {
					return "", errors.New("want nodes (with equation), or equations (a map from nodes), one of them")
				}
				eqs := a.Equations
				if a.Nodes == nil {
					for _, k := range sortedKeys(eqs) {
						n, err := m.Node(k)
						if err != nil {
							return "", err
						}
						if err := m.RewriteMatMulAsEinsum(n, eqs[k]); err != nil {
							return "", err
						}
					}
					return fmt.Sprintf("%d MatMuls → Einsum: %s", len(eqs), quoted(sortedKeys(eqs))), nil
				}
				ns, err := a.Nodes.find(m)
				if err != nil {
					return "", err
				}
				for _, n := range ns {
					if err := m.RewriteMatMulAsEinsum(n, a.Equation); err != nil {
						return "", err
					}
				}
				return fmt.Sprintf("%d MatMuls → Einsum: %s", len(ns), labels(ns)), nil
			}),
		def("insert_transpose_pair", "Transposes around nodes: before input 0 and after output 0",
			`insert_transpose_pair: {nodes: {op: LayerNormalization}, before: [0, 2, 3, 1], after: [0, 3, 1, 2]}`,
			func(s *session, a *transposePair) (string, error) {
				m := s.cur().m
				ns, err := a.Nodes.find(m)
				if err != nil {
					return "", err
				}
				for _, n := range ns {
					if err := m.InsertTransposePair(n, a.Before, a.After); err != nil {
						return "", err
					}
				}
				return fmt.Sprintf("around %d nodes: %s", len(ns), labels(ns)), nil
			}),
		def("insert_slices", "Slices of a value along an axis: count equal pieces, pieces of size, both, or sizes; readers of the value stay",
			`insert_slices: {node: /qkv, axis: 1, count: 3, outputs: [q, k, v]}`,
			func(s *session, a *insertSlices) (string, error) {
				m := s.cur().m
				v, err := a.find(m)
				if err != nil {
					return "", err
				}
				c, err := a.cut(a.Axis)
				if err != nil {
					return "", err
				}
				outs, err := m.InsertSlices(v, c, a.Outputs)
				return fmt.Sprintf("%s is cut into %s", quote(v), quoted(outs)), err
			}),
		def("insert_concat", "a Concat of values (or of the only outputs of nodes, in graph order) along an axis; to and input: who reads it",
			`insert_concat: {values: [a, b], axis: 1, output: ab, to: /conv, input: 0}`,
			func(s *session, a *insertConcat) (string, error) {
				m := s.cur().m
				values := a.Values
				if (a.Nodes == nil) == (a.Values == nil) {
					return "", errors.New("want values or nodes, one of them")
				}
				if a.Nodes != nil {
					ns, err := a.Nodes.find(m)
					if err != nil {
						return "", err
					}
					for _, n := range ns {
						if len(n.Output) != 1 {
							return "", nodeErr(n, "has %d outputs; name values instead", len(n.Output))
						}
						values = append(values, n.Output[0])
					}
				}
				var to *pb.NodeProto
				index := 0
				if a.To != nil {
					var err error
					if to, err = a.To.single(m); err != nil {
						return "", err
					}
					if index, err = a.Input.in(to, to.Input, "input", 0); err != nil {
						return "", err
					}
				}
				out, err := m.InsertConcat(values, a.Axis, a.Name, a.Output, to, index)
				return fmt.Sprintf("%s joins %d values", quote(out), len(values)), err
			}),
		def("insert_slices_concat", "cut a value (or the output of the node of that name) along one axis and join the pieces along another: a Reshape made of Slices; before: the only node that reads the result, else all readers do",
			`insert_slices_concat: {after: /patch/Conv, slice_axis: 2, count: 16, concat_axis: 3}`,
			func(s *session, a *slicesConcat) (string, error) {
				m := s.cur().m
				v, err := m.ValueOf(a.After)
				if err != nil {
					return "", fmt.Errorf("after: %w", err)
				}
				var before *pb.NodeProto
				if a.Before != nil {
					if before, err = a.Before.single(m); err != nil {
						return "", err
					}
				}
				c, err := a.cut(a.SliceAxis)
				if err != nil {
					return "", err
				}
				out, err := m.InsertSlicesConcat(v, c, a.ConcatAxis, before, a.Output)
				return fmt.Sprintf("%s is joined from pieces of %s", quote(out), quote(v)), err
			}),
	}
}

// each rewrites nodes one by one.
func each(ns []*pb.NodeProto, f func(*pb.NodeProto) (*pb.NodeProto, error)) (string, error) {
	var made []*pb.NodeProto
	old := labels(ns)
	for _, n := range ns {
		c, err := f(n)
		if err != nil {
			return "", err
		}
		made = append(made, c)
	}
	return fmt.Sprintf("%s → %s", old, labels(made)), nil
}
