package fidelity

import (
	"math/rand/v2"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// draws is how often a stretch is evaluated with its values moved.
const draws = 8

// roundings is by how much floats are moved, relative to their size: some
// roundings of float32, as another order of summation gives.
const roundings = 0x1p-21

// spread is how far each element at the end of a stretch moves when the values
// on the way do as they legitimately may: floats by roundings, quantised tensors
// that the program does not have by Steps. It is next to nothing but where a
// comparison, a rounding or an index jumps, and where errors are amplified.
func (c *Checker) spread(s *Stretch, want *tensor.Dense, fed map[*ir.Value]*tensor.Dense) ([]float64, error) {
	out := make([]float64, want.Len())
	r := rand.New(rand.NewPCG(uint64(len(out)), 12))
	for range draws {
		env := map[*ir.Value]*tensor.Dense{}
		get := func(v *ir.Value) *tensor.Dense {
			switch {
			case env[v] != nil:
				return env[v]
			case fed[v] != nil:
				return fed[v]
			}
			return c.model.fixed[v]
		}
		for _, n := range s.nodes {
			res, err := evalNode(n, get)
			if err != nil {
				return nil, err
			}
			for i, v := range n.Out {
				if env[v] = res[i]; v != s.value {
					env[v] = moved(r, n, res[i])
				}
			}
		}
		end := get(s.value)
		if s.quant != nil && end.DType.IsFloat() {
			end = ir.QuantiseEven(end, s.held.Type)
		}
		for i := range out {
			out[i] = max(out[i], distance(want, end, i))
		}
	}
	return out, nil
}

// moved is a result of a node, moved.
func moved(r *rand.Rand, n *ir.Node, d *tensor.Dense) *tensor.Dense {
	out := tensor.New(d.DType, d.Shape)
	switch {
	case n.Op == op.DequantizeLinear || n.Op.Quant == ir.QMove:
		return d
	case d.DType.IsFloat():
		for i := range d.Len() {
			out.SetFloat(i, d.Float(i)*(1+roundings*(2*r.Float64()-1)))
		}
	case n.Op == op.QuantizeLinear:
		lo, hi := d.DType.IntRange()
		for i := range d.Len() {
			out.SetInt(i, min(max(d.Int(i)+r.Int64N(2*Steps+1)-Steps, lo), hi))
		}
	default:
		return d
	}
	return out
}
