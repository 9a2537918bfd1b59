// SPDX-License-Identifier: Apache-2.0

package qref

// Table256 applies a table indexed by bit patterns to 8-bit values:
// nncc_lut_s8. x and y may be the same slice.
func Table256(table *[256]uint8, x, y []uint8) error {
	if err := checkLen("Table256", "output", len(y), len(x)); err != nil {
		return err
	}
	for i, v := range x {
		y[i] = table[v]
	}
	return nil
}

// Lines applies the function to Count elements: nncc_piecewise_linear_s16,
// nncc_piecewise_linear_s16_s8, nncc_piecewise_linear_s8_s16.
func Lines[X, Y int8 | int16](p *PiecewiseLinear, x []X, y []Y) error {
	if err := firstErr(checkLen("Lines", "input", len(x), int(p.Count)), checkLen("Lines", "output", len(y),
		int(p.Count))); err != nil {
		return err
	}
	for i, v := range x {
		y[i] = Y(p.Apply(int32(v)))
	}
	return nil
}

// BuildSub builds the tables of an int8 subtraction with the given
// quantisations and clamp: the value of the definition in float64 for every
// pair. Where none are found, Binary or Table2 computes the same.
func BuildSub(a, b, out QP, lo, hi int32) (*SumTables, bool) {
	partA := func(q int32) float64 { return a.Real(q)/float64(out.Scale) + float64(out.Zero) }
	partB := func(q int32) float64 { return -b.Real(q) / float64(out.Scale) }
	return BuildSum(partA, partB, lo, hi, func(x, y int32) int32 { return out.Quantise(a.Real(x)-b.Real(y), lo, hi) })
}

// SumParams is nncc_sum_s8_params.
type SumParams struct {
	Bcast          Broadcast
	Shift          int32
	ActMin, ActMax int32
}

// Sum applies SumTables to two broadcast tensors: nncc_sum_s8. p.Shift is that
// of the tables.
func Sum(p *SumParams, t *SumTables, a, b, y []int8) error {
	if err := firstErr(p.Bcast.check("Sum", len(a), len(b), len(y)),
		checkClamp("Sum", p.ActMin, p.ActMax)); err != nil {
		return err
	}
	p.Bcast.each(func(i, ia, ib int) { y[i] = t.at(uint8(a[ia]), uint8(b[ib]), p.ActMin, p.ActMax) })
	return nil
}

// Table2Data are the constants of nncc_lut2_s8: the result for bit patterns a
// and b is Rows[RowOf[b]*256+a].
type Table2Data struct {
	RowOf [256]uint8
	Rows  []uint8
}

// BuildTable2 tabulates a function of two bit patterns. Equal rows are stored
// once; used, if not nil, says which values the second operand can take (a
// constant operand has few): the others share the first row.
func BuildTable2(f func(a, b uint8) uint8, used func(b uint8) bool) *Table2Data {
	t := &Table2Data{}
	seen := map[[256]uint8]uint8{}
	for b := range 256 {
		if used != nil && !used(uint8(b)) {
			continue
		}
		var row [256]uint8
		for a := range row {
			row[a] = f(uint8(a), uint8(b))
		}
		at, ok := seen[row]
		if !ok {
			at = uint8(len(t.Rows) / 256)
			seen[row] = at
			t.Rows = append(t.Rows, row[:]...)
		}
		t.RowOf[b] = at
	}
	return t
}

// Table2 applies the table to two broadcast tensors of bit patterns: nncc_lut2_s8.
func Table2(p *Broadcast, t *Table2Data, a, b, y []uint8) error {
	if err := p.check("Table2", len(a), len(b), len(y)); err != nil {
		return err
	}
	p.each(func(i, ia, ib int) { y[i] = t.Rows[int(t.RowOf[b[ib]])*256+int(a[ia])] })
	return nil
}
