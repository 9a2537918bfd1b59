package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// flattenOrder lets a feature map be flattened without moving data. Kernels
// keep feature maps with the channels innermost, while ONNX flattens them with
// the channels outermost. Where everything behind the Reshape is a Gemm or
// MatMul with constant weights (element-wise operators of one input may stand
// between), the rows of the weights are permuted instead:
//
//	%f = Reshape(%c, {1,72})        %t = Transpose(%c) {perm=[0,2,3,1]}
//	%y = Gemm(%f, %B, %b)       =>  %f = Reshape(%t, {1,72})
//	                                %y = Gemm(%f, %B', %b)
//
// With %c stored channels-last both Transpose and Reshape are views. Row
// (c*H+h)*W+w of B is row (h*W+w)*C+c of B'. Done only for results of spatial
// operators with more than one channel and more than one position.
func flattenOrder(c *pass.Ctx, g *ir.Graph) error {
	return c.Each(g, func(n *ir.Node) error {
		if isReshape(n) {
			reorderFlatten(c, g, n)
		}
		return nil
	})
}

func reorderFlatten(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	x, y := n.In[0], n.Out[0]
	rank := x.Type.Rank()
	if rank < 3 || y.Type.Rank() == 0 || x.Type.Quant.PerAxis() || !spatial(x, 16) {
		return
	}
	s := x.Type.Shape
	ch, pos := s[1], product(s[2:])
	last := y.Type.Shape[y.Type.Rank()-1]
	if ch < 2 || pos < 2 || last != ch*pos || y.Type.Elems() != s[0]*last {
		return
	}
	readers := flatReaders(g, y, 8)
	if readers == nil {
		return
	}
	rows := make([]int, last) // rows[new] = old
	for i := range rows {
		rows[i] = i%ch*pos + i/ch
	}
	for _, r := range readers {
		axis := 0
		if is(r, "Gemm") && r.Int("transB") != 0 {
			axis = 1
		}
		g.SetInput(r, 1, constLike(g, r.In[1], take(r.In[1].Const, axis, rows)))
		c.Did(r, "rows of the weights permuted, so that %s takes channels last", n)
	}
	p := append([]int{0}, append(ir.Identity(rank)[2:], 1)...)
	t := transpose(g, n, x, p, n.Name+"/channels_last")
	v := reshape(g, n, t, y.Type.Shape, n.Name)
	g.ReplaceUses(y, v)
	g.Remove(n)
}

// spatial reports that v comes from a convolution or a pool, over operators
// that keep the feature map's order.
func spatial(v *ir.Value, depth int) bool {
	d := v.Def
	if d == nil || depth == 0 || d.Op.Domain != "" {
		return false
	}
	switch {
	case is(d, "Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "Resize", "DepthToSpace", "SpaceToDepth"):
		return true
	case d.Op.Pattern == ir.Elementwise, is(d, "BatchNormalization", "Pad", "Slice", "Split"):
		return spatial(d.In[0], depth-1)
	case d.Op.Pattern == ir.Broadcast, is(d, "Concat"):
		for _, x := range d.In {
			if x != nil && x.Const == nil && x.Type.Rank() == v.Type.Rank() && spatial(x, depth-1) {
				return true
			}
		}
	case isReshape(d): // a 1-D feature map in two dimensions, and back
		a, b := d.In[0].Type.Shape, v.Type.Shape
		if len(a) >= 3 && len(b) >= 3 && slices.Equal(a[:2], b[:2]) {
			return spatial(d.In[0], depth-1)
		}
	}
	return false
}

// flatReaders are the Gemm and MatMul nodes with constant weights that read v,
// directly or behind element-wise operators; nil when something else reads it.
func flatReaders(g *ir.Graph, v *ir.Value, depth int) []*ir.Node {
	if g.IsOutput(v) || depth == 0 || len(v.Uses()) == 0 {
		return nil
	}
	var out []*ir.Node
	for _, u := range v.Uses() {
		n := u.Node
		switch {
		case is(n, "QuantizeLinear", "DequantizeLinear") && n.In[1].Type.Elems() > 1:
			return nil
		case u.Index == 0 && n.Op.Pattern == ir.Elementwise && len(n.Out) == 1 && n.Op.Domain == "":
			more := flatReaders(g, n.Out[0], depth-1)
			if more == nil {
				return nil
			}
			out = append(out, more...)
		case u.Index == 0 && is(n, "Gemm", "MatMul") && n.In[1].Const != nil && n.In[1].Type.Rank() == 2 &&
			!(is(n, "Gemm") && n.Int("transA") != 0) && rowsFree(n):
			out = append(out, n)
		default:
			return nil
		}
	}
	return out
}

// rowsFree reports that the quantisation of the weights, if any, does not vary
// along the rows to permute.
func rowsFree(n *ir.Node) bool {
	q := n.In[1].Type.Quant
	if !q.PerAxis() {
		return true
	}
	return (is(n, "Gemm") && n.Int("transB") != 0) == (q.Axis == 0)
}

// take picks indices along an axis of a matrix.
func take(d *tensor.Dense, axis int, idx []int) *tensor.Dense {
	out := tensor.New(d.DType, d.Shape)
	st := tensor.Strides(d.Shape)
	for to, from := range idx {
		// one line of the other dimension
		src, dst := from*st[axis], to*st[axis]
		for k := range d.Shape[1-axis] {
			moveElem(out, dst+k*st[1-axis], d, src+k*st[1-axis])
		}
	}
	return out
}

// moveElem copies one element bit for bit.
func moveElem(dst *tensor.Dense, i int, src *tensor.Dense, j int) {
	switch s := src.Data.(type) {
	case []float32:
		dst.Data.([]float32)[i] = s[j]
	case []float64:
		dst.Data.([]float64)[i] = s[j]
	case []uint16:
		dst.Data.([]uint16)[i] = s[j]
	default:
		dst.SetInt(i, src.Int(j))
	}
}
