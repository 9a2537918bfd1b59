package driver

import (
	"testing"

	"github.com/nncc/nncc/ir"
)

// TestTargetMayChoose: without flags nothing insists on int8 for single layers,
// so that an accelerator with a wider format can use it; with flags they do.
func TestTargetMayChoose(t *testing.T) {
	for _, c := range []struct {
		precision, weights string
		free               bool
	}{{"auto", "", true}, {"int8", "", true}, {"int16x8", "", false}, {"auto", "int4", false}} {
		d := Defaults()
		d.Precision = c.precision
		if c.weights != "" {
			d.Weights = c.weights
		}
		f, err := d.layerPrecision(ir.New("g"))
		if err != nil {
			t.Fatal(err)
		}
		if free := f == nil; free != c.free {
			t.Errorf("--precision %s --weights %s: free %v", c.precision, c.weights, free)
		}
	}
}
