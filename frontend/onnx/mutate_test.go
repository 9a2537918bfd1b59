// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// mutate opens models that were damaged in the bytes and in their meaning.
func mutate(t *testing.T, rounds int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	seeds := fuzzSeeds(t)
	var decoded []*pb.ModelProto
	for _, b := range seeds {
		if m, err := Parse(b, fuzzLimits); err == nil {
			decoded = append(decoded, m.Proto)
		}
	}
	for range rounds {
		b := slices.Clone(seeds[r.IntN(len(seeds))])
		if r.IntN(2) == 0 {
			m := proto.Clone(decoded[r.IntN(len(decoded))]).(*pb.ModelProto)
			for range 1 + r.IntN(3) {
				damage(r, m)
			}
			b = tBytes(m)
		} else {
			for range 1 + r.IntN(4) {
				if len(b) < 2 {
					break
				}
				switch at := r.IntN(len(b)); r.IntN(4) {
				case 0:
					b[at] = byte(r.Uint32())
				case 1:
					b[at] ^= 1 << r.IntN(8)
				case 2:
					b = slices.Delete(b, at, min(len(b), at+1+r.IntN(8)))
				case 3:
					b = slices.Insert(b, at, b[at:min(len(b), at+r.IntN(16))]...)
				}
			}
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("panic: %v\nmodel %q", p, b)
				}
			}()
			openFuzzed(t, b)
		}()
		if t.Failed() {
			t.Fatalf("model %q", b)
		}
	}
}

// damage changes one thing in a model that stays a well-formed message.
func damage(r *rand.Rand, m *pb.ModelProto) {
	g := m.GetGraph()
	if g == nil || len(g.Node) == 0 {
		return
	}
	odd := []int64{0, 1, -1, 2, 3, 7, 100, 1 << 20, 1 << 31, 1 << 40, -1 << 63, 1<<63 - 1}
	number := func() int64 { return odd[r.IntN(len(odd))] }
	n := g.Node[r.IntN(len(g.Node))]
	switch r.IntN(11) {
	case 0:
		m.OpsetImport[0].Version = proto.Int64(int64(r.IntN(30)))
	case 1: // another input
		if len(n.Input) > 0 {
			o := g.Node[r.IntN(len(g.Node))]
			n.Input[r.IntN(len(n.Input))] = slices.Concat(o.Output, o.Input, []string{"x", ""})[0]
		}
	case 2:
		n.Input = append(n.Input, "x")
	case 3:
		if len(n.Input) > 0 {
			n.Input = n.Input[:len(n.Input)-1]
		}
	case 4:
		n.OpType = proto.String(g.Node[r.IntN(len(g.Node))].GetOpType())
	case 5:
		ops := []string{"Conv", "Gather", "Slice", "Split", "Tile", "Expand", "Concat", "Transpose", "Squeeze",
			"Einsum", "ReduceMax", "ArgMax", "OneHot", "Resize", "Cast", "GRU", "ConvTranspose", "DepthToSpace",
			"Range", "ScatterND", "Identity", "Clip", "TopK", "CumSum"}
		n.OpType = proto.String(ops[r.IntN(len(ops))])
	case 6:
		for _, a := range n.Attribute {
			if a.I != nil {
				a.I = proto.Int64(number())
			}
			if len(a.Ints) > 0 {
				a.Ints[r.IntN(len(a.Ints))] = number()
			}
			if a.T != nil && len(a.T.Int64Data) > 0 {
				a.T.Int64Data[r.IntN(len(a.T.Int64Data))] = number()
			}
		}
	case 7:
		names := []string{"axis", "axes", "pads", "strides", "dilations", "group", "kernel_shape", "perm", "to", "mode",
			"blocksize", "keepdims", "auto_pad"}
		a := &pb.AttributeProto{Name: proto.String(names[r.IntN(len(names))])}
		if r.IntN(2) == 0 {
			a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(number())
		} else {
			a.Type, a.Ints = pb.AttributeProto_INTS.Enum(), []int64{number(), number()}
		}
		n.Attribute = append(n.Attribute, a)
	case 8:
		if d := g.Input[0].GetType().GetTensorType().GetShape().GetDim(); len(d) > 0 {
			d[r.IntN(len(d))].Value = &pb.TensorShapeProto_Dimension_DimValue{DimValue: number()}
		}
	case 9:
		if t := g.Input[0].GetType().GetTensorType(); t != nil {
			t.ElemType = proto.Int32(int32(r.IntN(27)))
		}
	case 10:
		i, j := r.IntN(len(g.Node)), r.IntN(len(g.Node))
		g.Node[i], g.Node[j] = g.Node[j], g.Node[i]
	}
}
