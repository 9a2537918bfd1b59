package op_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// TestTraits compares the traits of functions of one number with the functions.
func TestTraits(t *testing.T) {
	x := []float64{0, 1e-30, -1e-30, 1e4, -1e4, math.MaxFloat32, -math.MaxFloat32}
	for v := -20.0; v <= 20; v += 0.125 {
		x = append(x, v)
	}
	for _, d := range op.All() {
		if d.Scalar == nil || d.MaxIn != 1 {
			continue
		}
		n, other := &ir.Node{Op: d}, &ir.Node{Op: d}
		for _, a := range d.Attrs {
			if a.Kind == ir.AttrFloat {
				other.SetAttr(a.Name, ir.Float(-0.75))
			}
		}
		negative := false
		for _, v := range x {
			y := d.Scalar(n, v)
			negative = negative || y < 0 || d.Scalar(other, v) < 0
			if d.Finite && (math.IsInf(y, 0) || y != y) {
				t.Errorf("%s is marked Finite, and %g at %g", d.Name, y, v)
			}
		}
		if d.NonNegative == negative && d.Quant == ir.QFloat {
			t.Errorf("%s: NonNegative is %v, and the function has negative results: %v", d.Name, d.NonNegative,
				negative)
		}
		for _, side := range []float64{-1, 1} { // on a line, the middle is the mean of the ends
			if a, m, b := d.Scalar(n, side), d.Scalar(n, 1.5*side), d.Scalar(n, 2*side); d.Straight &&
				math.Abs(m-(a+b)/2) > 1e-12 {
				t.Errorf("%s is marked Straight, and is %g, %g, %g at %g and on", d.Name, a, m, b, side)
			}
		}
	}
}
