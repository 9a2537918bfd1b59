// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

var elemSizes = []int32{1, 2, 4, 8}

// dims8 is a dimension list as the kernels take it.
type dims8 = [8]int32

func randDims(r *rand.Rand, rank, most int) (d dims8, count int32) {
	count = 1
	for i := range rank {
		d[i] = between(r, 1, most)
		count *= d[i]
	}
	return d, count
}

func denseStrides(rank int32, dims dims8) (s dims8) {
	n := int32(1)
	for k := rank - 1; k >= 0; k-- {
		s[k], n = n, n*dims[k]
	}
	return s
}

// each calls f with every index of a box, row-major.
func each(rank int32, dims dims8, f func(i dims8)) {
	count := int32(1)
	for k := range rank {
		count *= dims[k]
	}
	for flat := range count {
		var i dims8
		for k := rank - 1; k >= 0; k-- {
			i[k] = flat % dims[k]
			flat /= dims[k]
		}
		f(i)
	}
}

func dot(rank int32, a, b dims8) (s int32) {
	for k := range rank {
		s += a[k] * b[k]
	}
	return s
}

// numbered returns count different elements of elem bytes (as far as they fit).
func numbered(r *rand.Rand, count, elem int32) []byte {
	b := make([]byte, count*elem)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return b
}

func at(b []byte, i, elem int32) []byte { return b[i*elem:][:elem] }

// checkBytes compares an output with a reference.
func checkBytes(t *testing.T, what string, p any, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: wrong bytes\n%+v\ngot  %v\nwant %v", what, p, got, want)
	}
}

func TestOwnCopy(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(41)
	for range 150 {
		elem, rank := elemSizes[r.IntN(4)], between(r, 1, 5)
		p := struct {
			Elem, Rank, XOffset, YOffset int32
			Dims, XStride, YStride       dims8
		}{Elem: elem, Rank: rank, XOffset: between(r, 0, 3), YOffset: between(r, 0, 3)}
		p.Dims, _ = randDims(r, int(rank), 4)
		p.Dims[r.IntN(int(rank))] = between(r, 1, 21)
		nx, ny := p.XOffset+1, p.YOffset+1
		step := [2]int32{1, 1}
		for _, k := range r.Perm(int(rank)) { // gaps in y
			p.YStride[k] = step[1]
			ny += (p.Dims[k] - 1) * step[1]
			step[1] = step[1]*p.Dims[k] + between(r, 0, 1)
		}
		for _, k := range r.Perm(int(rank)) { // gaps and repetitions in x
			if r.IntN(4) > 0 {
				p.XStride[k] = step[0]
			}
			nx += (p.Dims[k] - 1) * p.XStride[k]
			step[0] = step[0]*p.Dims[k] + between(r, 0, 1)
		}
		x, y := numbered(r, nx, elem), numbered(r, ny, elem)
		want := bytes.Clone(y)
		each(rank, p.Dims, func(i dims8) {
			copy(at(want, p.YOffset+dot(rank, i, p.YStride), elem), at(x, p.XOffset+dot(rank, i, p.XStride), elem))
		})
		d.call(t, "nncc_copy_nd", p, x, y)
		checkBytes(t, "copy_nd", p, y, want)

		q := struct{ Rows, Block, XPitch, YPitch int32 }{between(r, 1, 4), between(r, 1, 9), 0, 0}
		q.XPitch, q.YPitch = q.Block+between(r, 0, 2), q.Block+between(r, 0, 2)
		x, y = numbered(r, q.XPitch*(q.Rows-1)+q.Block, 1), numbered(r, q.YPitch*(q.Rows-1)+q.Block, 1)
		want = bytes.Clone(y)
		for i := range q.Rows {
			copy(want[i*q.YPitch:], x[i*q.XPitch:][:q.Block])
		}
		d.call(t, "nncc_copy_rows", q, x, y)
		checkBytes(t, "copy_rows", q, y, want)

		f := struct{ Elem, Count int32 }{elem, between(r, 1, 9)}
		value := numbered(r, 1, elem)
		y = make([]byte, f.Count*elem)
		d.call(t, "nncc_fill", f, value, y)
		checkBytes(t, "fill", f, y, bytes.Repeat(value, int(f.Count)))
	}
}

// padSource is numpy's rule for a position outside an axis of n elements; -1: constant.
func padSource(i, n, mode int32) int32 {
	for i < 0 || i >= n {
		switch mode {
		case 0:
			return -1
		case 1:
			i = min(max(i, 0), n-1)
		case 2:
			if i < 0 {
				i = -i
			} else {
				i = 2*(n-1) - i
			}
		case 3:
			if i < 0 {
				i += n
			} else {
				i -= n
			}
		}
	}
	return i
}

func TestOwnPad(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(42)
	for range 300 {
		elem, rank := elemSizes[r.IntN(4)], between(r, 1, 5)
		p := struct {
			Elem, Rank, Mode        int32
			InDims, OutDims, Before dims8
		}{Elem: elem, Rank: rank, Mode: between(r, 0, 3)}
		var n int32
		p.InDims, n = randDims(r, int(rank), 4)
		count := int32(1)
		if p.Mode == 2 {
			n = 1
			for k := range rank {
				p.InDims[k]++
				n *= p.InDims[k]
			}
		}
		for k := range rank {
			p.Before[k] = between(r, -1, 5)
			p.OutDims[k] = max(1, p.InDims[k]+p.Before[k]+between(r, -1, 5))
			count *= p.OutDims[k]
		}
		x, value, y := numbered(r, n, elem), numbered(r, 1, elem), make([]byte, count*elem)
		st, want := denseStrides(rank, p.InDims), []byte{}
		each(rank, p.OutDims, func(i dims8) {
			var src int32
			from := x
			for k := range rank {
				s := padSource(i[k]-p.Before[k], p.InDims[k], p.Mode)
				if s < 0 {
					from, src = value, 0
					break
				}
				src += s * st[k]
			}
			want = append(want, at(from, src, elem)...)
		})
		if p.Mode != 0 {
			value = nil
		}
		d.call(t, "nncc_pad", p, x, value, y)
		checkBytes(t, "pad", p, y, want)
	}
}

// indexTensor returns indices as int32 or int64 bytes.
func indexTensor(v []int64, size int32) []byte {
	var b []byte
	for _, i := range v {
		if size == 8 {
			b = binary.LittleEndian.AppendUint64(b, uint64(i))
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(i)))
		}
	}
	return b
}

// randIndex draws an index of an axis, from either end; about one call in
// `bad` is outside.
func randIndex(r *rand.Rand, n int32, bad int) (v int64, ok bool) {
	if r.IntN(bad) == 0 {
		if r.IntN(2) == 0 {
			return int64(n), false
		}
		return -int64(n) - 1, false
	}
	return int64(r.IntN(2*int(n))) - int64(n), true
}

func wrap(v int64, n int32) int32 {
	if v < 0 {
		v += int64(n)
	}
	return int32(v)
}

const errIndex = 4 // NNCC_ERR_INDEX

func TestOwnGatherScatter(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(43)
	for range 200 {
		size := []int32{4, 8}[r.IntN(2)]
		g := struct{ Outer, Axis, Block, Count, IndexBytes int32 }{between(r, 1, 3), between(r, 1, 5), between(r, 1, 6),
			between(r, 1, 5), size}
		var idx []int64
		good := true
		for range g.Count {
			v, ok := randIndex(r, g.Axis, 40)
			idx, good = append(idx, v), good && ok
		}
		x, y := numbered(r, g.Outer*g.Axis, g.Block), make([]byte, g.Outer*g.Count*g.Block)
		status := d.call(t, "nncc_gather", g, x, indexTensor(idx, size), y)
		if good {
			var want []byte
			for o := range g.Outer {
				for _, v := range idx {
					want = append(want, at(x, o*g.Axis+wrap(v, g.Axis), g.Block)...)
				}
			}
			checkBytes(t, "gather", g, y, want)
		}
		checkIndexStatus(t, "gather", status, good)

		elem, rank := elemSizes[r.IntN(4)], between(r, 1, 5)
		e := struct {
			Elem, Rank, Axis, AxisLen, IndexBytes int32
			Dims, XStride                         dims8
		}{Elem: elem, Rank: rank, Axis: between(r, 0, int(rank)-1), IndexBytes: size}
		data, n := randDims(r, int(rank), 4)
		e.AxisLen, e.XStride = data[e.Axis], denseStrides(rank, data)
		count := int32(1)
		for k := range rank {
			e.Dims[k] = between(r, 1, int(data[k]))
			if k == e.Axis {
				e.Dims[k] = between(r, 1, 5)
			}
			count *= e.Dims[k]
		}
		idx, good = nil, true
		for range count {
			v, ok := randIndex(r, e.AxisLen, 200)
			idx, good = append(idx, v), good && ok
		}
		x, list := numbered(r, n, elem), numbered(r, count, elem)
		y, scattered, k := bytes.Clone(list), bytes.Clone(x), int32(0)
		wantY, wantX := []byte{}, bytes.Clone(x)
		if good {
			each(rank, e.Dims, func(i dims8) {
				i[e.Axis] = wrap(idx[k], e.AxisLen)
				pos := dot(rank, i, e.XStride)
				wantY = append(wantY, at(x, pos, elem)...)
				copy(at(wantX, pos, elem), at(list, k, elem))
				k++
			})
		}
		s1 := d.call(t, "nncc_gather_elements", e, x, indexTensor(idx, size), y)
		s2 := d.call(t, "nncc_scatter_elements", e, list, indexTensor(idx, size), scattered)
		if good {
			checkBytes(t, "gather_elements", e, y, wantY)
			checkBytes(t, "scatter_elements", e, scattered, wantX)
		}
		checkIndexStatus(t, "gather_elements", s1, good)
		checkIndexStatus(t, "scatter_elements", s2, good)

		q := struct {
			Batch, Count, Depth, Block, IndexBytes int32
			AxisLen                                dims8
		}{Batch: between(r, 1, 3), Count: between(r, 1, 4), Depth: between(r, 1, 3), Block: between(r, 1, 5),
			IndexBytes: size}
		var blocks int32
		q.AxisLen, blocks = randDims(r, int(q.Depth), 3)
		idx, good = nil, true
		var places []int32
		for tup := range q.Batch * q.Count {
			pos := tup / q.Count
			for k := range q.Depth {
				v, ok := randIndex(r, q.AxisLen[k], 200)
				idx, good = append(idx, v), good && ok
				pos = pos*q.AxisLen[k] + wrap(v, q.AxisLen[k])
			}
			places = append(places, pos)
		}
		x, list = numbered(r, q.Batch*blocks, q.Block), numbered(r, q.Batch*q.Count, q.Block)
		y, scattered = bytes.Clone(list), bytes.Clone(x)
		wantY, wantX = nil, bytes.Clone(x)
		if good {
			for i, pos := range places {
				wantY = append(wantY, at(x, pos, q.Block)...)
				copy(at(wantX, pos, q.Block), at(list, int32(i), q.Block))
			}
		}
		s1 = d.call(t, "nncc_gather_nd", q, x, indexTensor(idx, size), y)
		s2 = d.call(t, "nncc_scatter_nd", q, list, indexTensor(idx, size), scattered)
		if good {
			checkBytes(t, "gather_nd", q, y, wantY)
			checkBytes(t, "scatter_nd", q, scattered, wantX)
		}
		checkIndexStatus(t, "gather_nd", s1, good)
		checkIndexStatus(t, "scatter_nd", s2, good)
	}
}

func checkIndexStatus(t *testing.T, what string, status int32, good bool) {
	t.Helper()
	if want := map[bool]int32{true: 0, false: errIndex}[good]; status != want {
		t.Fatalf("%s: status %d, want %d", what, status, want)
	}
}

func TestOwnWhereBoolNearest(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(44)
	for range 80 {
		b, na, nb := randBcast(r, int(between(r, 1, 5)), 1, 1)
		elem := elemSizes[r.IntN(4)]
		w := struct {
			Elem, Rank                      int32
			Dims, CStride, AStride, BStride dims8
		}{elem, b.Rank, b.Dims, b.BStride, b.AStride, b.BStride}
		c, x1, x2 := numbered(r, nb, 1), numbered(r, na, elem), numbered(r, nb, elem)
		for i := range c {
			c[i] &= 1
		}
		var want []byte
		for _, o := range b.pairs() {
			if c[o[1]] != 0 {
				want = append(want, at(x1, o[0], elem)...)
			} else {
				want = append(want, at(x2, o[1], elem)...)
			}
		}
		y := make([]byte, len(want))
		d.call(t, "nncc_where", w, c, x1, x2, y)
		checkBytes(t, "where", w, y, want)

		u := numbered(r, na, 1)
		for i := range u {
			u[i] &= 1
		}
		for name, f := range map[string]func(a, b byte) byte{
			"and": func(a, b byte) byte { return a & b }, "or": func(a, b byte) byte { return a | b },
			"xor": func(a, b byte) byte { return a ^ b },
		} {
			want = nil
			for _, o := range b.pairs() {
				want = append(want, f(u[o[0]], c[o[1]]))
			}
			y = make([]byte, len(want))
			d.call(t, "nncc_"+name+"_bool", b, u, c, y)
			checkBytes(t, name, b, y, want)
		}

		p := struct{ Batch, InH, InW, OutH, OutW, Pixel, XPitch, YPitch int32 }{between(r, 1, 2), between(r, 1, 4),
			between(r, 1, 4), between(r, 1, 5), between(r, 1, 5), between(r, 1, 8), 0, 0}
		p.XPitch, p.YPitch = p.Pixel, p.Pixel
		var ih, iw []int32
		for range p.OutH {
			ih = append(ih, between(r, -1, int(p.InH)-1))
		}
		for range p.OutW {
			iw = append(iw, between(r, 0, int(p.InW)-1))
		}
		x, outside := numbered(r, p.Batch*p.InH*p.InW, p.Pixel), numbered(r, 1, p.Pixel)
		want = nil
		for n := range p.Batch {
			for _, iy := range ih {
				for _, ix := range iw {
					if iy < 0 || ix < 0 {
						want = append(want, outside...)
					} else {
						want = append(want, at(x, (n*p.InH+iy)*p.InW+ix, p.Pixel)...)
					}
				}
			}
		}
		y = make([]byte, len(want))
		d.call(t, "nncc_resize_nearest", p, x, ih, iw, outside, y)
		checkBytes(t, "resize_nearest", p, y, want)
	}
}
