// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// ConvOptions of RewriteGemmAsConv.
type ConvOptions struct {
	// After is the value, or the node with one output, that the Conv reads: a
	// feature map [N,C,R,S]. Empty: the Gemm's own input, or the map in front of
	// the Reshape or Flatten that makes it.
	After string
	// R, S, C, K are the kernel's height and width, the channels and the
	// filters. 0: from the shapes. Where both are known they must agree.
	R, S, C, K int
	Name       string // of the Conv; empty: the node's with _Conv behind
	// Flat appends a Reshape to [N,K], so that whatever follows sees what it
	// saw; without it the result stays [N,K,1,1].
	Flat bool `yaml:"-"`
}

// RewriteGemmAsConv turns a Gemm, or a MatMul with a constant matrix on a 2-D
// value, into a Conv whose kernel is as large as the feature map, with the
// Flatten or Reshape in front taken out:
//
//	x[N,C,R,S] → Reshape → [N,C·R·S] → Gemm → [N,K]
//	x[N,C,R,S] → Conv with weights [K,C,R,S] → [N,K,1,1]
//
// Each output is the same sum of the same products, perhaps in another order;
// alpha and beta are multiplied into the constants.
func (m *Model) RewriteGemmAsConv(n *pb.NodeProto, opt ConvOptions) *pb.NodeProto {
	a := m.affineOf(n)
	src, k := m.convSource(n, a, &opt)
	name := cmp.Or(opt.Name, m.UniqueNode(n.GetName()+"_Conv"))
	conv := m.convNode(name, src, a, k, a.wName, a.bName)
	conv.Output = []string{n.Output[0]}
	nodes := []*pb.NodeProto{conv}
	if opt.Flat {
		inner := m.UniqueValue(n.Output[0] + "_4d")
		conv.Output[0] = inner
		shape := m.constant(n.Output[0]+"_shape", tensor.Ints(-1, a.k))
		nodes = append(nodes, newProto("Reshape", m.UniqueNode(name+"/Reshape"), n.Output[0], inner, shape))
	}
	m.placeBefore(n, nodes...)
	m.discard(n)
	m.Sort()
	return conv
}

// affine is y = x·W + b with constants, as Gemm and MatMul have it.
type affine struct {
	w            *tensor.Dense // [K, columns]
	b            *tensor.Dense // [K] or nil
	k, columns   int
	wName, bName string // of the constants it comes from
}

// affineOf reads the constants of a Gemm or MatMul.
func (m *Model) affineOf(n *pb.NodeProto) *affine {
	op := n.GetOpType()
	refuse(op != "Gemm" && op != "MatMul" || n.GetDomain() != "" || len(n.Input) < 2 || len(n.Output) != 1,
		n, "is no Gemm or MatMul with one output; want one of these")
	var w *tensor.Dense
	ofNode(n, "its weights (input 1) are not known: ", func() { w = m.Constant(n.Input[1]) })
	refuse(!w.DType.IsFloat(), n, "its weights %s are of type %s; a Conv wants float types", quote(n.Input[1]),
		w.DType.ONNXName())
	refuse(len(w.Shape) != 2, n, "its weights %s have shape %v; want a matrix", quote(n.Input[1]), w.Shape)
	a := &affine{w: w, wName: n.Input[1]}
	transB := op == "Gemm" && attrInt(n, "transB", 0) != 0
	if op == "Gemm" {
		refuse(attrInt(n, "transA", 0) != 0,
			n, "transA is set: its input is transposed; want transA 0 (insert a Transpose in "+
				"front, then remove the attribute)")
		if alpha := attrFloat(n, "alpha", 1); alpha != 1 {
			a.w = scaled(a.w, alpha)
		}
	}
	if !transB {
		a.w = a.w.Transpose([]int{1, 0})
	}
	a.k, a.columns = a.w.Shape[0], a.w.Shape[1]
	if op == "Gemm" && at(n.Input, 2) != "" {
		a.b = m.biasOf(n, a.k)
		a.bName = n.Input[2]
	}
	return a
}

// biasOf is input C of a Gemm as a vector of K elements.
func (m *Model) biasOf(n *pb.NodeProto, k int) *tensor.Dense {
	var c *tensor.Dense
	ofNode(n, "its bias (input 2) is not known: ", func() { c = m.Constant(n.Input[2]) })
	beta := attrFloat(n, "beta", 1)
	if beta == 0 {
		return nil
	}
	refuse(c.Len() != 1 && (c.Len() != k || len(c.Shape) == 0 || c.Shape[len(c.Shape)-1] != k), n,
		"its bias %s has shape %v; want one value, or one for each of the %d outputs", quote(n.Input[2]), c.Shape, k)
	b := tensor.New(c.DType, []int{k})
	for i := range k {
		b.SetFloat(i, c.Float(i%c.Len()))
	}
	if beta != 1 {
		b = scaled(b, beta)
	}
	return b
}

func scaled(d *tensor.Dense, f float32) *tensor.Dense {
	out := tensor.New(d.DType, d.Shape)
	for i, n := 0, d.Len(); i < n; i++ {
		out.SetFloat(i, d.Float(i)*float64(f))
	}
	return out
}

// kernel is the geometry of a Conv that covers a whole map.
type kernel struct{ c, r, s int }

// convSource finds the map that the Conv reads and its geometry.
func (m *Model) convSource(n *pb.NodeProto, a *affine, opt *ConvOptions) (string, kernel) {
	src := m.mapBefore(n, opt.After)
	k := kernel{opt.C, opt.R, opt.S}
	if t, ok := m.Shapes().Type(src); ok {
		refuse(len(t.Shape) != 4, n, "reads %s of shape %s; want a feature map [N,C,R,S] (after: names one)",
			quote(src), ShapeText(t.Shape))
		for i, p := range []*int{&k.c, &k.r, &k.s} {
			size := int(t.Shape[1+i].Size)
			switch {
			case size < 0 && *p <= 0:
				fail.Check(nodeErr(n, "dimension %d of %s is not fixed: %s; want sizes (pin_dims, or give r, s "+
					"and c)", 1+i, quote(src), ShapeText(t.Shape)))
			case size >= 0 && *p > 0 && *p != size:
				fail.Check(nodeErr(n, "%s is %d, but %s has shape %s", [...]string{"c", "r", "s"}[i], *p, quote(src),
					ShapeText(t.Shape)))
			case size >= 0:
				*p = size
			}
		}
	} else if k.c <= 0 || k.r <= 0 || k.s <= 0 {
		fail.Check(nodeErr(n, "%v; give r, s and c", m.noShape(src)))
	}
	refuse(k.c*k.r*k.s != a.columns, n, "its weights take %d values, the map %s has %d·%d·%d = %d", a.columns,
		quote(src), k.c, k.r, k.s, k.c*k.r*k.s)
	refuse(opt.K > 0 && opt.K != a.k, n, "k is %d, but the weights give %d outputs", opt.K, a.k)
	return src, k
}

// flattening reports operators that change the shape at most, and not the order.
func flattening(name string) bool {
	d := op.Get("", name)
	return d != nil && (d.View == ir.Reshaped || d == op.Identity || d == op.Dropout)
}

// mapBefore is the 4-D value behind the input of n.
func (m *Model) mapBefore(n *pb.NodeProto, after string) string {
	if after != "" {
		var v string
		ofNode(n, "after: ", func() { v = m.ValueOf(after) })
		return v
	}
	v := n.Input[0]
	for range 16 {
		if t, ok := m.Shapes().Type(v); ok && len(t.Shape) == 4 {
			break
		}
		p := m.Producer(v)
		if p == nil || !flattening(p.GetOpType()) || p.GetDomain() != "" || len(p.Input) == 0 {
			break
		}
		v = p.Input[0]
	}
	return v
}

// ValueOf is a value by its own name, or the only output of the node with that
// name.
func (m *Model) ValueOf(name string) string {
	found := m.Find(Query{Name: name})
	if m.known(name) {
		if len(found) > 0 && at(found[0].Output, 0) != name {
			fail.Errorf("%s is the name both of a value and of %s; want one that is clear", quote(name),
				label(found[0]))
		}
		return name
	}
	n, err := fail.Try(func() *pb.NodeProto { return m.Node(name) })
	if err != nil {
		fail.Errorf("no value and no node is called %s%s", quote(name), near(name, m.valueNames()))
	}
	refuse(len(n.Output) != 1, n, "has %d outputs (%s); name the one that is meant", len(n.Output), quoted(n.Output))
	return n.Output[0]
}

// convNode makes a Conv and its constants.
func (m *Model) convNode(name, src string, a *affine, k kernel, wName, bName string) *pb.NodeProto {
	in := []string{src, m.constant(wName+"_conv", a.w.Reshaped([]int{a.w.Shape[0], k.c, k.r, k.s}))}
	if a.b != nil {
		in = append(in, m.constant(bName+"_conv", a.b))
	}
	n := newProto("Conv", name, "", in...)
	n.Attribute = []*pb.AttributeProto{intsAttr("kernel_shape", int64(k.r), int64(k.s))}
	return n
}

// discard deletes a node that something else has replaced, and what only it
// read: constants, and reshaping nodes.
func (m *Model) discard(n *pb.NodeProto) {
	m.delete(n)
	for _, s := range reads(n) {
		if p := m.Producer(s); p != nil && flattening(p.GetOpType()) && len(m.Consumers(s)) == 0 && !m.IsOutput(s) {
			m.discard(p)
		}
	}
	m.dropConstants(slices.Clone(n.Input))
}

// RewriteGemmAsSlicedConvs turns a Gemm whose result is cut into pieces into
// one Conv per piece with the rows of weights and bias that belong to it:
//
//	Gemm → [N,K] → Slice 0:a, Slice a:b, ...   becomes   Conv → [N,a,1,1], Conv → [N,b-a,1,1], ...
//
// With sizes nil the Slices (or the Split) behind the Gemm say what the pieces
// are, and the Convs make their results. With sizes, outputs names the results:
// values that nothing makes (any more), such as graph outputs whose producers
// were removed.
func (m *Model) RewriteGemmAsSlicedConvs(n *pb.NodeProto, sizes []int, outputs []string,
	opt ConvOptions) []*pb.NodeProto {
	a := m.affineOf(n)
	src, k := m.convSource(n, a, &opt)
	var pieces []piece
	if sizes == nil {
		pieces = m.piecesBehind(n, a.k)
	} else {
		pieces = m.piecesOf(n, sizes, outputs, a.k)
	}
	var convs []*pb.NodeProto
	base := cmp.Or(opt.Name, n.GetName()+"_Conv")
	for i, p := range pieces {
		part := &affine{w: a.w.Slice(0, p.from, p.to)}
		if a.b != nil {
			part.b = a.b.Slice(0, p.from, p.to)
		}
		c := m.convNode(m.UniqueNode(fmt.Sprintf("%s_%d", base, i)), src, part, k, fmt.Sprintf("%s_%d", a.wName, i),
			fmt.Sprintf("%s_%d", a.bName, i))
		c.Output = []string{p.output}
		m.placeBefore(n, c)
		convs = append(convs, c)
	}
	for _, p := range pieces {
		if p.node != nil && slices.Contains(m.graph().Node, p.node) {
			m.delete(p.node)
			m.dropConstants(slices.Clone(p.node.Input[1:]))
		}
	}
	m.discard(n)
	m.Sort()
	return convs
}

// piece is a range of a Gemm's outputs and the value that gets it.
type piece struct {
	from, to int
	output   string
	node     *pb.NodeProto // that cuts it out now
}

func (m *Model) piecesOf(n *pb.NodeProto, sizes []int, outputs []string, k int) []piece {
	refuse(len(sizes) != len(outputs) || len(sizes) == 0,
		n, "%d sizes and %d outputs; want as many", len(sizes), len(outputs))
	if u := m.Consumers(n.Output[0]); len(u) > 0 {
		fail.Check(nodeErr(n, "its result is read by %s; with sizes given nothing may read it (without them the "+
			"Slices behind it are used)", label(u[0].Node)))
	}
	var out []piece
	sum := 0
	for i, s := range sizes {
		refuse(s <= 0 || s > k-sum, n, "sizes %v do not fit its %d outputs", sizes, k)
		if p := m.Producer(outputs[i]); p != nil && (p != n || i > 0 && slices.Contains(outputs[:i], outputs[i])) {
			fail.Check(nodeErr(n, "output %s is made by %s; remove that first", quote(outputs[i]), label(p)))
		}
		refuse(outputs[i] == "" || slices.Contains(outputs[:i], outputs[i]) || m.Producer(outputs[i]) == nil &&
			m.known(outputs[i]), n, "output name %s is empty, taken, or listed twice", quote(outputs[i]))
		out = append(out, piece{sum, sum + s, outputs[i], nil})
		sum += s
	}
	refuse(sum != k, n, "sizes %v make %d; the weights give %d outputs", sizes, sum, k)
	return out
}

// piecesBehind reads the Slices or the Split behind a node.
func (m *Model) piecesBehind(n *pb.NodeProto, k int) []piece {
	y := n.Output[0]
	refuse(m.IsOutput(y), n, "its result is a graph output as a whole; want one that is only cut into pieces")
	var out []piece
	for _, u := range m.Consumers(y) {
		refuse(u.Index != 0, n, "its result is read by %s; want Slices or a Split only", label(u.Node))
		ofNode(n, "its result is read by ", func() { out = append(out, m.cuts(u.Node, k)...) })
	}
	refuse(len(out) == 0, n, "nothing cuts its result into pieces; want Slices or a Split behind it, or sizes and "+
		"outputs")
	return out
}

// cuts are the pieces that a Slice or Split takes of the last of 2 dimensions.
func (m *Model) cuts(n *pb.NodeProto, k int) []piece {
	switch n.GetOpType() {
	case "Slice":
		st, en, ax := m.ints(n, 1, "starts"), m.ints(n, 2, "ends"), m.ints(n, 3, "axes")
		step := m.ints(n, 4, "")
		refuse(len(st) != 1 || len(en) != 1 || len(ax) != 1 || !channelAxis(ax[0]) || len(step) > 1 || len(step) == 1 &&
			step[0] != 1, n, "which does not take a known range of axis 1 with step 1")
		from, to := clampIndex(st[0], k), clampIndex(en[0], k)
		refuse(from >= to, n, "which takes the empty range %d to %d", from, to)
		return []piece{{from, to, n.Output[0], n}}
	case "Split":
		return m.splitCuts(n, k)
	}
	fail.Check(nodeErr(n, "which is neither Slice nor Split"))
	return nil
}

// ints are the numbers of a constant input, or of the attribute that older opsets have.
func (m *Model) ints(n *pb.NodeProto, i int, attr string) []int64 {
	if s := at(n.Input, i); s != "" {
		if d := m.Shapes().Const(s); d != nil {
			return d.Int64s()
		}
		return nil
	}
	return Attribute(n, attr).GetInts()
}

func channelAxis(axis int64) bool { return axis == 1 || axis == -1 }

func (m *Model) splitCuts(n *pb.NodeProto, k int) []piece {
	refuse(!channelAxis(attrInt(n, "axis", 0)), n, "which splits another axis than 1")
	sizes := m.ints(n, 1, "split")
	if sizes == nil {
		each := (k + len(n.Output) - 1) / len(n.Output)
		for left := k; left > 0; left -= each {
			sizes = append(sizes, int64(min(each, left)))
		}
	}
	refuse(len(sizes) != len(n.Output), n, "which has %d sizes for %d outputs", len(sizes), len(n.Output))
	var out []piece
	pos := 0
	for i, s := range sizes {
		refuse(s <= 0 || s > int64(k-pos), n, "whose sizes %v do not fit %d", sizes, k)
		if n.Output[i] != "" {
			out = append(out, piece{pos, pos + int(s), n.Output[i], n})
		}
		pos += int(s)
	}
	return out
}

func clampIndex(v int64, k int) int {
	if v < 0 {
		v = max(v+int64(k), 0)
	}
	return int(min(v, int64(k)))
}
