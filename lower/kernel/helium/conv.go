// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// convolution is a Conv node in the terms of the kernels.
type convolution struct {
	*quantised.Convolution
	l     *layer
	phase bool // of a transposed convolution: rows of the result lie apart
}

// convOf and convOf16 are those of int8 and of int16 data.
var convOf, convOf16 = convFact(quantised.ConvOf), convFact(quantised.ConvOf16)

func convFact(of *kernel.Fact[*quantised.Convolution]) *kernel.Fact[*convolution] {
	return kernel.FactFrom(of, func(n *kernel.Node, c *quantised.Convolution) (*convolution, string) {
		return &convolution{Convolution: c, l: layerOf(n, c.Layer, c.G.Group)}, ""
	})
}

// depth is the number of bytes that an output channel reads of a pixel.
func (c *convolution) depth() int { return c.Depth() * c.l.bytes() }

// pixels is the number of output pixels of all images.
func (c *convolution) pixels() int { return c.G.N * c.Out.H * c.Out.W }

// pointwise: every output pixel is a product of one input pixel, or of an image.
func (c *convolution) pointwise() bool {
	return !c.phase && (c.Entire() || c.Kernel == quantised.Tile{H: 1, W: 1} && c.Stride == c.Kernel &&
		c.In == c.Out && c.Pad == quantised.Tile{} && c.G.Group == 1)
}

// convRule is a rule about a convolution.
func convRule(code, doc string, check func(c *convolution) string) kernel.Rule {
	return convOf.Rule(code, doc, func(_ *kernel.Node, c *convolution) string { return check(c) })
}

// shiftsRule is the rule that no channel is requantised by a shift to the left.
var shiftsRule = convRule("RIGHT-SHIFT", "requantisation shifts to the right",
	func(c *convolution) string { return c.l.shifts() })

// conv computes any convolution by dot products: of the pixels themselves
// where they lie as the kernels want them, else of patches in scratch.
var conv = &kernel.Kernel{
	Name: "nncc_helium_convolve_s8", Library: Library, Doc: "int8 convolution with groups and dilation, packed weights",
	Ops: []*ir.OpDef{op.Conv}, Layout: kernel.SpatialLayout, Lower: lowerConv,
	Was: "HELIUM-CONV", Rules: kernel.All(cond.Helium, quantised.ConvRules(false, nil)),
}

// scratchBytes is about how much scratch a convolution may take: more saves a
// few instructions and costs arena.
const scratchBytes = 1024

// piece is about what it takes to copy n bytes of a row (nncc_helium_copy.h).
func piece(n int) int {
	if n <= vector {
		return 6
	}
	return 9 + 3*roundUp(n, vector)/vector
}

// gathered is about what it takes to copy columns that n pixels of a row share, and a patch for each of them.
func (c *convolution) gathered(n int) (shared, patches int) {
	d, row := c.depth(), (n-1)*c.Stride.W+c.Kernel.W
	shared, patches = row*piece(d), n*piece(c.Kernel.W*d)+12
	if c.G.Group > 1 {
		patches = n * c.Kernel.W * piece(d)
	} else if some := vector / d; some >= 3 && ((vector-1)/d*c.Kernel.H+1)*d <= 256 {
		shared = 8 + 5*roundUp(row, some)/some + 90/(c.Out.H*c.Kernel.H)
	}
	return c.Kernel.H * shared, c.Kernel.H * patches
}

// columns is the layer with the weights [KH][KW][CI] of every row in the order
// [KW][KH][CI].
func (c *convolution) columns() *layer {
	d := c.Depth()
	l := *c.l
	l.Rows = make([][]int8, len(c.l.Rows))
	for i, w := range c.l.Rows {
		for x := range c.Kernel.W {
			for y := range c.Kernel.H {
				l.Rows[i] = append(l.Rows[i], w[(y*c.Kernel.W+x)*d:][:d]...)
			}
		}
	}
	return &l
}

func lowerConv(n *kernel.Node) *call.Lowered {
	c := convOf.Must(n)
	return c.l.over(c.lower(n.Generic, true, call.Null{}))
}

// lower is the layer's, with a table of results at its end or Null; where: pixels may be
// read where they lie. p: its call is that of a tile, nil: of another kernel.
func (c *convolution) lower(generic, where bool, table call.Arg) (l *call.Lowered, p *products) {
	if l, p = c.lowerApart(generic); l == nil {
		l, p = c.lowerTiled(generic, where, table)
	}
	return l, p
}

// apart is how many pixels of the input lie from one that a convolution of
// single pixels reads to the next; 0: not always as many, or patches are read.
func (c *convolution) apart() int {
	one := quantised.Tile{H: 1, W: 1}
	switch {
	case c.phase || c.Kernel != one || c.Padded() || c.G.Group > 1 || c.G.N > 1:
		return 0
	case c.Out.H == 1 || c.Stride.H*c.In.W == c.Stride.W*c.Out.W:
		return c.Stride.W
	case c.Out.W == 1:
		return c.Stride.H * c.In.W
	}
	return 0
}

// lowerApart multiplies the pixels where they are, if some lie between them; nil:
// it is another layer, or its pixels end within what a kernel loads.
func (c *convolution) lowerApart(generic bool) (*call.Lowered, *products) {
	depth, step := c.depth(), c.apart()*c.depth()
	vectors := roundUp(depth, vector) / vector
	whole := depth%vector == 0 || vectors <= unrolled
	t, want := c.l.tile(vectors, c.G.COut, generic, !generic && whole && c.l.upper(c.G.COut))
	if step <= depth || want != vectors {
		return nil, nil
	}
	out, outR := outRows(c.G.COut * c.l.bytes())
	return own(&call.Lowered{Unused: []int{1, 2}, Rows: []call.Rows{outR}},
			c.l.rowsBy(t, depth, step, vectors, c.pixels(), out, call.I32(step), c.l.weights(t, vectors))),
		&products{t, step, vectors, c.pixels()}
}

// lowerTiled is lower without lowerApart.
func (c *convolution) lowerTiled(generic, where bool, table call.Arg) (*call.Lowered, *products) {
	out, outR := outRows(c.G.COut * c.l.bytes())
	x := c.call(out, generic, where, table)
	l := &call.Lowered{Scratch: x.scratch, Unused: []int{1, 2}, Rows: []call.Rows{x.rows, outR}}
	if x.direct == nil {
		l.Route, l.Overlap = x.tile.String(), c.overlap(&x, 0)
	}
	return own(l, x.Call), x.direct
}

// overlap is how patches go through scratch, or, where they are read where they lie, a row of results at a time; so
// many
// results wait.
func (c *convolution) overlap(x *computed, wait int) []call.Overlap {
	k := param.Walk{Images: c.G.N, From: c.G.CIn * c.l.bytes(), To: c.G.COut * c.l.bytes(), Pixels: x.block, Wait: wait}
	switch {
	case c.G.Group > 1:
		return nil
	case x.block == 0:
		k.Rows, k.Reads, k.Last = 1, param.Mixed, c.l.bytes()
		if x.tile.body != fourRows {
			k.Last *= param.Rest(c.G.COut, 4)
		}
	case x.shared:
		k.Rows = 1
	}
	return k.Overlap(&c.Window)
}

// single is the number of last pixels of a pointwise convolution that have no
// whole last vector behind their beginning (nncc_helium_matmul_params).
func (c *convolution) single() int {
	depth := len(c.l.Rows[0]) * c.l.bytes()
	return (roundUp(depth, vector) - 1) / depth
}

// computed is the call for a convolution, and what it takes.
type computed struct {
	call.Call
	tile    tile
	direct  *products // nil: the tile itself is not called
	rows    call.Rows // of the input
	scratch int       // bytes
	block   int       // patches that are in scratch at a time
	shared  bool      // those of a row have columns in common
}

// call is the kernel's, for rows of the output that are so far apart. Where: pixels may be
// read where they lie, instead of patches in scratch.
func (c *convolution) call(out call.Arg, generic, where bool, table call.Arg) computed {
	g, l := c.G, c.l
	depth := len(l.Rows[0]) * l.bytes()
	vectors := roundUp(depth, vector) / vector
	// Pixels of a map may end within a vector: short rows are copied then.
	whole := !c.pointwise() || depth%vector == 0 || vectors <= unrolled
	t, vectors := l.tile(vectors, g.COut/g.Group, generic, !generic && whole && l.upper(g.COut/g.Group))
	kept := l.resident(t, g.COut/g.Group, generic)
	if c.pointwise() && (kept != t || vectors*vector < depth+vector) {
		conv, rows := l.products(kept, depth, vectors, c.pixels(), out)
		return computed{Call: conv, tile: kept, direct: &products{kept, depth, vectors, c.pixels()}, rows: rows}
	}
	b := c.copied(t, vectors)
	if where && c.direct(kept, vectors, b) {
		b = blocks{l: l, step: c.Stride.W * g.CIn * l.bytes()}
	}
	per := g.COut / g.Group
	var weights []byte
	for k := range g.Group {
		weights = append(weights, b.l.part(k*per, per).weights(kept, vectors)...)
	}
	in, rows := inRows(g.CIn * l.bytes())
	mac := l.mac(out, per, vector*vectors, b.step, vectors, call.I32(b.step))
	if b.block == 0 {
		mac = l.mac(out, per, depth, b.step, vectors, call.Pitch{Row: in.Row, Times: c.Stride.W})
	}
	params := param.Struct(&param.HeliumConvolve{Mac: mac, Batch: g.N, InPitch: in, Depth: c.depth(), Groups: g.Group,
		InZero: call.T(-c.l.Params.InOff), Block: b.block, Shared: b.shared, GroupBytes: len(weights) / g.Group,
		GroupStep: per * l.bytes(), Table: table}, &c.Window)
	x := computed{tile: kept, rows: rows, scratch: b.scratch, block: b.block, shared: b.shared == 1}
	if b.block == 0 {
		x.Call = call.Call{Func: "nncc_helium_convolve_rows_s8", Args: []call.Arg{params, i8In(0), packed(weights),
			i8Out(0), kept.fn()}}
	} else {
		x.Call = call.Call{Func: "nncc_helium_convolve_s8", Args: []call.Arg{params, i8In(0), packed(weights),
			i8Scratch(0), i8Out(0), kept.fn()}}
	}
	return x
}

// blocks is how the pixels of a convolution go through scratch: so many at a time, step bytes apart; 0: they are read
// where they lie.
type blocks struct {
	l                            *layer // in the order of what is copied
	block, shared, step, scratch int
}

// once is about what a kernel takes more for n pixels than for as many of a long row.
func once(t tile, channels, n int) int {
	if t.body == fourRows {
		return 20 * channels * (n % 4) // which go one by one
	}
	passes := min(n/2, 1) + n%2
	return 40 * roundUp(channels, 4) / 4 * passes
}

// direct: to read pixels where they lie, a row of results at a time, takes less than to copy them in blocks.
func (c *convolution) direct(t tile, vectors int, b blocks) bool {
	depth, per := c.depth(), c.G.COut/c.G.Group
	if c.Kernel != (quantised.Tile{H: 1, W: 1}) || c.Padded() || vectors*vector >= depth+vector {
		return false
	}
	if t.folded && t.body == loop && depth%vector != 0 { // this tile would load behind the last pixel
		return false
	}
	rows, w := c.Out.H, c.Out.W
	// A row that is copied takes 145 besides its pixels; those at the end of the input go one by one where they lie.
	last := min(w, (vectors*vector-depth)/(c.Stride.W*c.G.CIn*c.l.bytes()))
	where := rows*once(t, per, w) + last*once(t, per, 1)
	n := rows * w
	return where < n/b.block*once(t, per, b.block)+once(t, per, n%b.block)+rows*145+n*piece(depth)
}

// copied is how patches are copied for a kernel of rows of so many vectors.
func (c *convolution) copied(t tile, vectors int) blocks {
	g, l := c.G, c.l
	patch := vector * vectors
	b := blocks{l: l, step: patch}
	rest := 0
	// Large maps may have some more scratch: at most a fiftieth of what they take.
	some := (c.In.H*c.In.W*g.CIn + c.Out.H*c.Out.W*g.COut) * l.bytes() / 50
	most := scratchBytes * l.bytes()
	block := min(most/patch, 16*l.bytes()+some/patch, c.Out.H*c.Out.W)
	w, column := c.Out.W, c.Kernel.H*c.depth()
	strip := ((w-1)*c.Stride.W + c.Kernel.W) * column
	columns, patches := c.gathered(w)
	per := g.COut / g.Group
	alone := once(t, per, w) + w%2*roundUp(per, 4)/4*(7*vectors+11) // the products of a row of pixels
	among, copies := w*once(t, per, block)/max(1, block), w*piece(c.Kernel.W*column)
	if l.bytes() > 1 { // halves of tiles cost what they compute
		alone, among = 0, 0
	}
	if c.Dilation.W == 1 && w > 1 && columns+min(alone, copies+among) < patches+among {
		b.l = c.columns()
		if copies+among < alone && strip+2*patch <= most {
			b.shared, rest = 2, strip
			block = min(block, (most-rest)/patch)
		} else {
			b.shared, b.step = 1, c.Stride.W*column
			rest = patch - b.step // of the last pixel
			block = min((most-rest)/b.step, w)
			if block < w { // blocks of about the same size
				block = max(2, block)
				block = roundUp((w+roundUp(w, block)/block-1)/(roundUp(w, block)/block), 2)
			}
		}
	}
	if block = max(block, min(2, c.Out.H*c.Out.W)); block < c.Out.H*c.Out.W && b.shared != 1 {
		block &^= 1 // the last of an odd number goes by itself; so do rows beside fours
		if t.body == fourRows && patch <= most {
			block = min(roundUp(block, 4), c.Out.H*c.Out.W)
		}
	}
	b.block, b.scratch = block, block*b.step+rest
	return b
}

// products multiplies rows of inputs with all channels; the rows of the output
// are so far apart.
func (l *layer) products(t tile, depth, vectors, rows int, out call.Arg) (call.Call, call.Rows) {
	in, inR := inRows(depth)
	return l.rowsBy(t, depth, depth, vectors, rows, out, in, l.weights(t, vectors)), inR
}

// rowsBy multiplies rows of depth bytes, at least step bytes apart (or so far), by packed weights.
func (l *layer) rowsBy(t tile, depth, step, vectors, rows int, out, apart call.Arg, weights []byte) call.Call {
	return call.Call{Func: t.String(), Args: []call.Arg{
		param.Struct(l.mac(out, len(l.Rows), depth, step, vectors, apart)),
		i8In(0), packed(weights), i8Out(0), call.I32(rows)}}
}

// products are those of a tile with some rows step bytes apart.
type products struct {
	tile
	step, vectors, rows int
}

// blockPart is the part of its instructions by which blocks may make a product longer.
const blockPart = 22

// over says how results of products, where the layer calls a tile for them, may lie over the rows. Tiles that go
// through all records with every row do so with a block of rows then: with as many as make up for what is done in
// front of a record at least. Smaller blocks are right nearer, and too slow to be stated.
func (l *layer) over(low *call.Lowered, p *products) *call.Lowered {
	if p == nil {
		return low
	}
	k := param.Walk{Images: 1, From: p.step, To: len(l.Rows) * l.bytes(), Pixels: 1, Reads: param.Mixed,
		Last: l.bytes()}
	switch p.body {
	case oneRow:
		k.Last *= param.Rest(len(l.Rows), 4)
	case fourRows:
		k.Pixels = 4
	case resident:
		return low
	case fixed, loop:
		records := roundUp(len(l.Rows), 4) / 4
		blocks := 1 + p.rows/2*records*(14*p.vectors+22)/(blockPart*(30*records+95))
		n := roundUp((p.rows+blocks-1)/blocks, 2)
		if n >= p.rows {
			return low
		}
		low.Overlap = []call.Overlap{{Ahead: max(n*k.To, p.rows*(k.To-k.From)+n*k.From),
			Behind: max(n*k.From, p.rows*(k.From-k.To)+n*k.To), Slower: (n + 1) / 2 * min(k.From, k.To)}}
		mac := &low.Calls[0]
		low.Route, low.Variant = mac.Func, mac.Func
		mac.Func, mac.Args = "nncc_helium_matmul_blocks_s8", append(mac.Args, call.Func(mac.Func))
		return low
	}
	line := param.Line(p.rows)
	low.Overlap = k.Overlap(&line)
	return low
}
