// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestRows: all rows of a layer, in one call or in several, cost what they do, and the
// more the more calls there are.
func TestRows(t *testing.T) {
	for _, g := range []string{
		"convolution N=1 IH=24 IW=24 C=16 OH=24 OW=24 OC=16 KH=1 KW=1 SH=1 SW=1 DH=1 DW=1 groups=1",
		"depthwise N=1 IH=24 IW=24 C=16 OH=24 OW=24 OC=16 KH=3 KW=3 SH=1 SW=1 DH=1 DW=1 PH=1 PW=1 groups=16",
		"element N=1 IH=1 IW=1 C=9216 OH=1 OW=1 OC=9216 KH=1 KW=1 SH=1 SW=1 DH=1 DW=1 groups=9216 reads=2 sums=1",
	} {
		for _, isa := range []string{"mve", "dsp", "c"} {
			geometry := testenv.Must(ParseGeometry(g))(t)
			l := &Layer{Variant: "none", Geometry: geometry}
			target := &Target{ISA: isa}
			last := target.Rows(l, 24, 24)
			testenv.Check(t, !(last <= 0), "%s on %s costs %.0f", g, isa, last)
			for _, rows := range []int{8, 4, 2, 1} {
				n := target.Rows(l, rows, 24) * float64(24/rows)
				if n < 0.99*last || n > 3*last {
					t.Errorf("%s on %s: %.0f by %d rows, %.0f by more", g, isa, n, rows, last)
				}
				last = n
			}
		}
	}
}

// TestLines: parts of what is many lines by itself, whatever a line has, cost what all of it does, and their calls.
func TestLines(t *testing.T) {
	one := " IH=1 IW=1 OH=1 OW=1 KH=1 KW=1 SH=1 SW=1 DH=1 DW=1"
	for _, x := range []struct{ library, variant, geometry string }{
		{"nncc-helium", "nncc_helium_softmax_s8", "other N=128 C=32 OC=32" + one},
		{"nncc", "nncc_copy_rows", "copy N=4096 C=16 OC=16 groups=2" + one},
	} {
		l := &Layer{Library: x.library, Variant: x.variant, Geometry: testenv.Must(ParseGeometry(x.geometry))(t)}
		target := &Target{ISA: "mve"}
		whole, parts := target.Rows(l, 4, 4), 4*target.Rows(l, 1, 4)
		testenv.Check(t, whole > 0 && parts >= 0.99*whole && parts < 1.5*whole, "%s: %.0f in parts, %.0f at once",
			x.variant, parts, whole)
	}
}

// TestReads: constants of layers with one pixel are read once, others at least once for
// so many pixels or rows as a kernel can hold.
func TestReads(t *testing.T) {
	g := func(k Kind, oh, ow int) Geometry { return Geometry{Kind: k, N: 1, OH: oh, OW: ow} }
	for _, c := range []struct {
		l    Layer
		want int
	}{
		{Layer{Geometry: g(Matrix, 1, 1)}, 1},
		{Layer{Geometry: g(Matrix, 1, 9)}, 3},
		{Layer{Geometry: g(Convolution, 25, 5)}, 32},
		{Layer{Geometry: g(Convolution, 8, 8), Pixels: 8}, 8},
		{Layer{Geometry: g(Convolution, 5, 5), Pixels: 2}, 13},
		{Layer{Geometry: g(Depthwise, 25, 5)}, 13},
		{Layer{Geometry: g(Element, 25, 5)}, 1},
		{Layer{Geometry: g(Other, 0, 0)}, 1},
	} {
		testenv.Equal(t, c.l.Reads(), c.want, "%s, %d pixels: read times", c.l.Geometry, c.l.Pixels)
	}
}
