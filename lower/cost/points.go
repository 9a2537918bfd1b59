// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"cmp"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Point is one measured layer.
type Point struct {
	Key
	Geometry
	Instructions float64
}

// HeldOut reports that no model is fitted to the point: one in four, by its
// geometry alone, so that it stays what it is when others come.
func (p *Point) HeldOut() bool { return p.draw(0)%4 == 0 }

// draw is a number that depends on the layer.
func (p *Point) draw(salt byte) uint32 {
	h := fnv.New32a()
	h.Write(append([]byte(p.Geometry.String()), salt))
	x := h.Sum32()
	x ^= x >> 15
	x *= 0x2c1b3c6d
	return x ^ x>>12
}

// split divides points into those that are fitted and those that are held out.
func split(ps []Point) (fitted, held []Point) {
	for _, p := range ps {
		if p.HeldOut() {
			held = append(held, p)
		} else {
			fitted = append(fitted, p)
		}
	}
	return fitted, held
}

const (
	sampleFirst = 3             // layers of a variant in the sample that nncccost -check draws again
	sampleHeld  = 8             // and others that are held out
	wholeUpTo   = MinPoints + 4 // points of a variant that the sample has altogether
)

// Sample are the points that tests need, by variant: all of small variants, some of others. Those held out are chosen
// by their geometry, so that kernels that ran the same layers have the same ones.
func Sample(points []Point) []Point {
	by := map[Key][]Point{}
	for _, p := range points {
		by[p.Key] = append(by[p.Key], p)
	}
	var out []Point
	for _, k := range slices.SortedFunc(maps.Keys(by), byName) {
		ps := by[k]
		if len(ps) > wholeUpTo {
			_, held := split(ps[sampleFirst:])
			lists.Sort(held, func(a, b Point) int { return cmp.Compare(a.draw(2), b.draw(2)) })
			ps = slices.Concat(ps[:sampleFirst], held[:min(len(held), sampleHeld)])
		}
		out = append(out, ps...)
	}
	return out
}

var pointColumns = []string{"make", "isa", "variant", "geometry", "instructions"}

// ReadPoints reads what WritePoints wrote.
func ReadPoints(r io.Reader) (_ []Point, err error) {
	defer fail.Catch(&err)
	return lists.Map(fail.Must(lines(r, pointColumns)), func(row []string) Point {
		fail.If(len(row) != len(pointColumns), "%v: want %d fields", row, len(pointColumns))
		return Point{Key{row[0], row[1], row[2]}, fail.Must(ParseGeometry(row[3])), number(row[4])}
	}), nil
}

// WritePoints writes a line for each point.
func WritePoints(w io.Writer, ps []Point) error {
	rows := make([][]string, len(ps))
	for i, p := range ps {
		rows[i] = []string{p.Make, p.ISA, p.Variant, p.Geometry.String(),
			strconv.FormatFloat(p.Instructions, 'f', 0, 64)}
	}
	return writeLines(w, pointColumns, rows)
}
