// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// MatMulOptions of RewriteMatMulAsConv.
type MatMulOptions struct {
	// ChannelsFirst: the value read is [N,D,H,W] by now, channels in dimension 1,
	// and so is the result. Otherwise it is what MatMul reads, [...,D], and
	// Transposes and Reshapes around the Conv keep it so.
	ChannelsFirst bool
	// KeepBias leaves an Add of a constant behind the MatMul alone; it is taken
	// into the Conv otherwise.
	KeepBias bool
	Name     string // of the Conv; empty: the node's with _Conv behind
}

// RewriteMatMulAsConv turns x·W with a constant matrix W[D,K], and the Add of a
// constant vector behind it, into a 1×1 Conv with weights [K,D,1,1].
func (m *Model) RewriteMatMulAsConv(n *pb.NodeProto, opt MatMulOptions) *pb.NodeProto {
	refuse(n.GetOpType() != "MatMul", n, "is no MatMul")
	a := m.affineOf(n)
	out := n.Output[0]
	var add *pb.NodeProto
	if !opt.KeepBias {
		if add = m.biasBehind(out, a, opt.ChannelsFirst); add != nil {
			out = add.Output[0]
		}
	}
	src := n.Input[0]
	t, known := m.Shapes().Type(src)
	name := cmp.Or(opt.Name, m.UniqueNode(n.GetName()+"_Conv"))
	var nodes []*pb.NodeProto
	if opt.ChannelsFirst {
		refuse(known && (len(t.Shape) != 4 || t.Shape[1].Size >= 0 && int(t.Shape[1].Size) != a.columns), n,
			"reads %s of shape %s; channels first it must be [N,%d,H,W]", quote(src), ShapeText(t.Shape), a.columns)
		nodes = []*pb.NodeProto{m.convNode(name, src, a, kernel{a.columns, 1, 1}, a.wName, a.bName)}
		nodes[0].Output = []string{out}
	} else {
		shape, ok := m.Shapes().Static(src)
		if !ok {
			fail.Check(nodeErr(n, "%v", m.noShape(src)))
		}
		nodes = m.wrapped(n, name, src, out, shape, a)
	}
	if add != nil {
		m.delete(add)
	}
	m.placeBefore(n, nodes...)
	m.discard(n)
	if add != nil {
		m.dropConstants(slices.Clone(add.Input))
	}
	m.Sort()
	return nodes[slices.IndexFunc(nodes, func(c *pb.NodeProto) bool { return c.GetOpType() == "Conv" })]
}

// biasBehind is the Add of a constant vector that alone reads a value; its data
// become the bias. The vector lies along the last dimension; channels first
// also along the third from the end: it was converted already.
func (m *Model) biasBehind(value string, a *affine, channelsFirst bool) *pb.NodeProto {
	u := m.Consumers(value)
	if len(u) != 1 || u[0].Node.GetOpType() != "Add" || u[0].Node.GetDomain() != "" || u[0].Index < 0 ||
		len(u[0].Node.Input) != 2 || m.IsOutput(value) {
		return nil
	}
	name := u[0].Node.Input[1-u[0].Index]
	if !m.isConstant(name) {
		return nil
	}
	b, err := fail.Try(func() *tensor.Dense { return m.Constant(name) })
	if err != nil || b.Len() != a.k || b.DType != a.w.DType {
		return nil
	}
	if s, ok := m.Shapes().Type(value); ok && len(b.Shape) > len(s.Shape) {
		return nil
	}
	for i, d := range b.Shape {
		if d > 1 && i != len(b.Shape)-1 && !(channelsFirst && i == len(b.Shape)-3) {
			return nil
		}
	}
	a.b, a.bName = b.Reshaped([]int{a.k}), name
	return u[0].Node
}

// wrapped is a Conv between the nodes that turn [...,D] into [N,D,H,W] and the
// result back.
func (m *Model) wrapped(n *pb.NodeProto, name, src, out string, shape []int, a *affine) []*pb.NodeProto {
	var nodes []*pb.NodeProto
	r := len(shape)
	refuse(r < 2 || r > 4, n, "reads %s of shape %v; want rank 2, 3 or 4", quote(src), shape)
	cur := src
	step := func(op, to string, f func(*pb.NodeProto)) {
		if to == "" {
			to = m.UniqueValue(name + "_" + strings.ToLower(op) + "_output")
		}
		k := newProto(op, m.UniqueNode(name+"/"+op), to, cur)
		f(k)
		for _, o := range nodes { // names of nodes that are not placed yet
			if o.GetName() == k.GetName() {
				k.Name = proto.String(k.GetName() + "_back")
			}
			if o.Output[0] == to {
				k.Output[0] = to + "_back"
			}
		}
		nodes = append(nodes, k)
		cur = k.Output[0]
	}
	transpose := func(to string, p ...int64) {
		step("Transpose", to, func(k *pb.NodeProto) {
			k.Attribute = []*pb.AttributeProto{intsAttr("perm", p...)}
		})
	}
	reshape := func(to string, s ...int) {
		step("Reshape", to, func(k *pb.NodeProto) {
			k.Input = append(k.Input, m.constant(name+"_shape", tensor.Ints(s...)))
		})
	}
	conv := func(to string) {
		step("Conv", to, func(k *pb.NodeProto) {
			c := m.convNode(name, cur, a, kernel{a.columns, 1, 1}, a.wName, a.bName)
			k.Name, k.Input, k.Attribute = c.Name, c.Input, c.Attribute
		})
	}
	switch r {
	case 2:
		reshape("", shape[0], a.columns, 1, 1)
		conv("")
		reshape(out, shape[0], a.k)
	case 3:
		transpose("", 0, 2, 1)
		reshape("", shape[0], a.columns, 1, shape[1])
		conv("")
		reshape("", shape[0], a.k, shape[1])
		transpose(out, 0, 2, 1)
	case 4:
		transpose("", 0, 3, 1, 2)
		conv("")
		transpose(out, 0, 2, 3, 1)
	}
	return nodes
}

// RewriteMatMulAsEinsum makes a MatMul an Einsum with the equation; an empty
// one says what MatMul does, from the ranks of its inputs.
func (m *Model) RewriteMatMulAsEinsum(n *pb.NodeProto, equation string) {
	refuse(n.GetOpType() != "MatMul" || n.GetDomain() != "" || len(n.Input) != 2, n, "is no MatMul")
	if v := m.Opset(""); v < 12 {
		fail.Check(nodeErr(n, "Einsum came with opset 12, the model has %d (set_version)", v))
	}
	if equation == "" {
		a, ok1 := m.Shapes().Type(n.Input[0])
		b, ok2 := m.Shapes().Type(n.Input[1])
		refuse(!ok1 || !ok2, n, "the ranks of its inputs are not known; give the equation")
		refuse(len(a.Shape) < 2 || len(b.Shape) < 2 || len(a.Shape) > 8 || len(b.Shape) > 8, n,
			"its inputs have shapes %s and %s; give the equation", ShapeText(a.Shape), ShapeText(b.Shape))
		const batch = "abcdef"
		ba, bb := batch[6-(len(a.Shape)-2):], batch[6-(len(b.Shape)-2):]
		for i := range min(len(ba), len(bb)) {
			x, y := a.Shape[len(ba)-1-i], b.Shape[len(bb)-1-i]
			refuse(x != y, n, "its inputs %s and %s broadcast along a batch dimension, which no equation "+
				"says; give both the same sizes", ShapeText(a.Shape), ShapeText(b.Shape))
		}
		out := ba
		if len(bb) > len(ba) {
			out = bb
		}
		equation = ba + "mk," + bb + "kn->" + out + "mn"
	}
	if err := checkEquation(equation); err != "" {
		fail.Check(nodeErr(n, "equation %s: %s", quote(equation), err))
	}
	n.OpType = proto.String("Einsum")
	n.Attribute = nil
	m.Touch()
	m.SetAttribute(n, "equation", equation)
}

// checkEquation says what is wrong with an equation of two inputs.
func checkEquation(eq string) string {
	left, right, ok := strings.Cut(strings.ReplaceAll(eq, " ", ""), "->")
	terms := strings.Split(left, ",")
	if !ok || len(terms) != 2 {
		return `want the form "ab,bc->ac", with two inputs`
	}
	for _, t := range append(terms, right) {
		for _, r := range strings.Replace(t, "...", "", 1) {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				return "want letters, one per dimension"
			}
		}
	}
	for i, r := range right {
		if r != '.' && (!strings.ContainsRune(left, r) || strings.ContainsRune(right[i+1:], r)) {
			return "letter " + string(r) + " of the result is in no input, or twice in the result"
		}
	}
	return ""
}
