package cost

// term is one summand of a model: how often something happens in a call.
type term struct {
	name string
	of   func(s *counts) int
}

// counts are derived from a shape once. Kernels take pixels by fours (Helium) or
// twos, outputs by fours or twos, and columns of a sum by 16 and by 4.
type counts struct {
	p, p4, p3, p2, p1      int // pixels, blocks of four of them and the rest, of two and the rest
	rows                   int
	oc, o4, o3, o2, o1, ou int // outputs; ou: blocks of four, the last one part full
	k, k16, kr, k4, k1     int // columns; k16 rounded up, kr the rest of 16 by fours, ...
	taps, inside           int // taps a pixel; taps that lie in the image, all pixels
	c, c16, c4, c1, cu     int // channels
	edge, m4, m3           int // pixels whose window leaves the row; blocks of four of the others and the rest
	// pixels two at a time; one by one where the vectors of the last ones would leave the input, or with few outputs
	pairs, single int
	across        int // vectors of the taps of a row
	c8, band      int // blocks of eight channels; input columns of the windows of all rows
	kh            int
}

func count(s *Shape) *counts {
	c := &counts{}
	c.p = s.N * s.OH * s.OW
	c.p4, c.p3, c.p2, c.p1 = c.p/4, c.p%4, c.p/2, c.p%2
	c.rows = s.N * s.OH
	c.oc = s.OC
	c.o4, c.o3, c.o2, c.o1, c.ou = s.OC/4, s.OC%4, s.OC/2, s.OC%2, (s.OC+3)/4
	ch := s.C
	if s.Groups > 0 {
		ch = s.C / s.Groups
	}
	c.taps = s.KH * s.KW
	c.k = c.taps * ch
	c.k16, c.k4, c.k1 = (c.k+15)/16, c.k/4, c.k%4
	c.kr = c.k % 16 / 4
	c.c = s.C
	c.c16, c.c4, c.c1, c.cu = (s.C+15)/16, s.C/4, s.C%4, (s.C+3)/4
	left, right := 0, 0
	for o := range s.OW {
		if at := o*s.SW - s.PW; at < 0 {
			left++
		} else if at+(s.KW-1)*s.DW >= s.IW {
			right++
		}
	}
	c.edge, c.m4, c.m3 = c.rows*(left+right), c.rows*((s.OW-left-right)/4), c.rows*((s.OW-left-right)%4)
	c.c8, c.band = (s.C+7)/8, c.rows*s.KH*((s.OW-1)*s.SW+s.KW)
	c.kh, c.across = s.KH, (s.KW*ch+15)/16
	if s.OC < 4 {
		c.single = c.p
	} else if c.taps == 1 && c.k > 0 {
		c.single = min(c.p, (16*c.k16-1)/c.k)
	}
	c.pairs = (c.p - c.single) / 2
	c.single = c.p - 2*c.pairs
	c.inside = s.N * reach(s.OH, s.KH, s.SH, s.DH, s.PH, s.IH) * reach(s.OW, s.KW, s.SW, s.DW, s.PW, s.IW)
	return c
}

// reach counts the pairs of an output position and a tap inside the input.
func reach(out, k, stride, dil, pad, in int) int {
	n := 0
	for o := range out {
		for t := range k {
			if x := o*stride - pad + t*dil; x >= 0 && x < in {
				n++
			}
		}
	}
	return n
}

// terms are the summands that a model may have; the fit leaves most of them out.
var terms = []term{
	{"1", func(c *counts) int { return 1 }},
	{"rows", func(c *counts) int { return c.rows }},
	{"p", func(c *counts) int { return c.p }},
	{"oc", func(c *counts) int { return c.oc }},
	{"c", func(c *counts) int { return c.c }},
	{"cu", func(c *counts) int { return c.cu }},
	{"c16", func(c *counts) int { return c.c16 }},
	{"taps.p", func(c *counts) int { return c.p * c.taps }},
	{"in", func(c *counts) int { return c.inside }},
	{"in.c", func(c *counts) int { return c.inside * c.c }},
	{"in.c16", func(c *counts) int { return c.inside * c.c16 }},
	{"in.cu", func(c *counts) int { return c.inside * c.cu }},
	{"in.c4", func(c *counts) int { return c.inside * c.c4 }},
	{"in.c1", func(c *counts) int { return c.inside * c.c1 }},
	{"out.c", func(c *counts) int { return (c.p*c.taps - c.inside) * c.c }},
	{"out.c4", func(c *counts) int { return (c.p*c.taps - c.inside) * c.c4 }},
	{"out.c1", func(c *counts) int { return (c.p*c.taps - c.inside) * c.c1 }},
	{"p.c", func(c *counts) int { return c.p * c.c }},
	{"p.c16", func(c *counts) int { return c.p * c.c16 }},
	{"p.cu", func(c *counts) int { return c.p * c.cu }},
	{"p.c4", func(c *counts) int { return c.p * c.c4 }},
	{"p.c1", func(c *counts) int { return c.p * c.c1 }},
	{"p4.cu", func(c *counts) int { return c.p4 * c.cu }},
	{"p4.cu.taps", func(c *counts) int { return c.p4 * c.cu * c.taps }},
	{"p3.cu", func(c *counts) int { return c.p3 * c.cu }},
	{"p3.cu.taps", func(c *counts) int { return c.p3 * c.cu * c.taps }},
	{"p.oc", func(c *counts) int { return c.p * c.oc }},
	{"p.ou", func(c *counts) int { return c.p * c.ou }},
	{"in.ou", func(c *counts) int { return c.inside * c.ou }},
	{"in.ou.c", func(c *counts) int { return c.inside * c.ou * c.c }},
	{"p.oc.k", func(c *counts) int { return c.p * c.oc * c.k }},
	{"p4", func(c *counts) int { return c.p4 }},
	{"p4.oc", func(c *counts) int { return c.p4 * c.oc }},
	{"p4.oc.k16", func(c *counts) int { return c.p4 * c.oc * c.k16 }},
	{"p3.oc", func(c *counts) int { return c.p3 * c.oc }},
	{"p3.oc.k16", func(c *counts) int { return c.p3 * c.oc * c.k16 }},
	{"oc.k16", func(c *counts) int { return c.oc * c.k16 }},
	{"p.ou.k16", func(c *counts) int { return c.p * c.ou * c.k16 }},
	{"p.o4.k16", func(c *counts) int { return c.p * c.o4 * c.k16 }},
	{"p.o3.k16", func(c *counts) int { return c.p * c.o3 * c.k16 }},
	{"p.o4", func(c *counts) int { return c.p * c.o4 }},
	{"p.o3", func(c *counts) int { return c.p * c.o3 }},
	{"p2.o2", func(c *counts) int { return c.p2 * c.o2 }},
	{"p2.o2.kr", func(c *counts) int { return c.p2 * c.o2 * c.kr }},
	{"p2.o2.k4", func(c *counts) int { return c.p2 * c.o2 * c.k4 }},
	{"p2.o2.k1", func(c *counts) int { return c.p2 * c.o2 * c.k1 }},
	{"p2.o1", func(c *counts) int { return c.p2 * c.o1 }},
	{"p2.o1.k4", func(c *counts) int { return c.p2 * c.o1 * c.k4 }},
	{"p2.o1.k1", func(c *counts) int { return c.p2 * c.o1 * c.k1 }},
	{"p1.oc", func(c *counts) int { return c.p1 * c.oc }},
	{"p1.oc.k4", func(c *counts) int { return c.p1 * c.oc * c.k4 }},
	{"p1.oc.k1", func(c *counts) int { return c.p1 * c.oc * c.k1 }},
	{"e", func(c *counts) int { return c.edge }},
	{"e.k16", func(c *counts) int { return c.edge * c.k16 }},
	{"e.oc", func(c *counts) int { return c.edge * c.oc }},
	{"e.oc.k16", func(c *counts) int { return c.edge * c.oc * c.k16 }},
	{"m4.oc", func(c *counts) int { return c.m4 * c.oc }},
	{"m4.oc.k16", func(c *counts) int { return c.m4 * c.oc * c.k16 }},
	{"m3.oc", func(c *counts) int { return c.m3 * c.oc }},
	{"m3.oc.k16", func(c *counts) int { return c.m3 * c.oc * c.k16 }},
	{"oc.k4", func(c *counts) int { return c.oc * c.k4 }},
	{"oc.k1", func(c *counts) int { return c.oc * c.k1 }},
	{"p.o2", func(c *counts) int { return c.p * c.o2 }},
	{"p.o2.k4", func(c *counts) int { return c.p * c.o2 * c.k4 }},
	{"p.o2.k1", func(c *counts) int { return c.p * c.o2 * c.k1 }},
	{"p.o1.k4", func(c *counts) int { return c.p * c.o1 * c.k4 }},
	{"p.o1.k1", func(c *counts) int { return c.p * c.o1 * c.k1 }},
	{"pairs.ou", func(c *counts) int { return c.pairs * c.ou }},
	{"pairs.ou.k16", func(c *counts) int { return c.pairs * c.ou * c.k16 }},
	{"single.ou", func(c *counts) int { return c.single * c.ou }},
	{"single.ou.k16", func(c *counts) int { return c.single * c.ou * c.k16 }},
	{"p.kh", func(c *counts) int { return c.p * c.kh }},
	{"p.kh.across", func(c *counts) int { return c.p * c.kh * c.across }},
	{"pairs.ou.k4", func(c *counts) int { return c.pairs * c.ou * c.k4 }},
	{"pairs.ou.k1", func(c *counts) int { return c.pairs * c.ou * c.k1 }},
	{"pairs.k4", func(c *counts) int { return c.pairs * c.k4 }},
	{"pairs.k1", func(c *counts) int { return c.pairs * c.k1 }},
	{"rows.cu", func(c *counts) int { return c.rows * c.cu }},
	{"ou", func(c *counts) int { return c.ou }},
	{"c8", func(c *counts) int { return c.c8 }},
	{"rows.c8", func(c *counts) int { return c.rows * c.c8 }},
	{"p.c8", func(c *counts) int { return c.p * c.c8 }},
	{"p.taps.c8", func(c *counts) int { return c.p * c.taps * c.c8 }},
	{"band.c8", func(c *counts) int { return c.band * c.c8 }},
}

// values are the terms of a shape.
func values(s *Shape) []float64 {
	c := count(s)
	out := make([]float64, len(terms))
	for i, t := range terms {
		out[i] = float64(t.of(c))
	}
	return out
}

func known(name string) bool {
	for _, t := range terms {
		if t.name == name {
			return true
		}
	}
	return false
}
