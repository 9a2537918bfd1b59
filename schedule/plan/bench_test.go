// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/binary"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func BenchmarkPlace(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			var bufs [][]Buffer
			for seed := range 8 {
				n := makeNet(shape.build, seed)
				f, err := Buffers(n.nodes, n.values, identity(len(n.nodes)), Options{})
				testenv.OK(b, err)
				bufs = append(bufs, f)
			}
			worst := 1.0
			for i := 0; b.Loop(); i++ {
				res, err := Place(bufs[i%len(bufs)], Options{})
				testenv.OK(b, err)
				worst = max(worst, float64(res.Total)/float64(res.LowerBound))
			}
			b.ReportMetric(worst, "worst/bound")
		})
	}
	// Without the shape of a network: the bound is often out of reach.
	b.Run("random100", func(b *testing.B) {
		r := rng{1}
		sum, count := 0.0, 0
		for b.Loop() {
			res, err := Place(randomBufs(&r, 100, 50, 10000), Options{Seed: 1})
			testenv.OK(b, err)
			sum += float64(res.Total) / float64(res.LowerBound)
			count++
		}
		b.ReportMetric(sum/float64(count), "mean/bound")
	})
	b.Run("chain10000", func(b *testing.B) {
		r := rng{1}
		var bufs []Buffer
		for i := range 10000 {
			bufs = append(bufs, Buffer{ID: i, Bytes: int64(1 + r.below(100000)), First: i, Last: i + 1, AliasOf: -1})
		}
		for b.Loop() {
			if _, err := Place(bufs, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOrder(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			n := makeNet(shape.build, 3)
			for b.Loop() {
				if _, _, err := Order(n.nodes, n.values, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fuzzBytes hands out the bytes of a fuzz input as numbers; zeros at the end.
type fuzzBytes []byte

func (f *fuzzBytes) u8() int {
	if len(*f) == 0 {
		return 0
	}
	v := (*f)[0]
	*f = (*f)[1:]
	return int(v)
}

// FuzzPlace: any input gives an error or a plan that Check accepts, twice the
// same.
func FuzzPlace(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0, 0, 4, 5, 6, 7, 0, 9, 9, 9, 9, 0})
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<63))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := fuzzBytes(data)
		var bufs []Buffer
		for len(in) > 0 && len(bufs) < 60 {
			kind := in.u8()
			b := Buffer{ID: len(bufs), Bytes: int64(in.u8()) << (kind & 7), AliasOf: -1, First: in.u8() - 8}
			b.Last = b.First + in.u8()&31
			switch {
			case kind&0xc0 == 0xc0:
				b.AliasOf, b.Delta = in.u8()%64-1, int64(in.u8())-64
			case kind&0xc0 == 0x80:
				b.Align = int64(in.u8())
			case kind == 0x7f:
				b.Bytes = int64(in.u8()-3) << 56
			}
			bufs = append(bufs, b)
		}
		opt := Options{Budget: 1 << 16}
		res, err := Place(bufs, opt)
		if err != nil {
			return
		}
		testenv.OK(t, check(bufs, opt, res))
		again, err := Place(bufs, opt)
		if err != nil || again.Total != res.Total || again.Work != res.Work {
			t.Fatalf("two calls: %+v, %+v, %v", res, again, err)
		}
	})
}

// FuzzOrder: any input gives an error or an order which is valid, not worse
// than the one given, and whose peak is the lower bound of its buffers.
func FuzzOrder(f *testing.F) {
	f.Add([]byte{3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := fuzzBytes(data)
		n := &net{}
		for range 1 + in.u8()%20 {
			kind := in.u8()
			v := Value{Bytes: int64(in.u8()), AliasOf: -1, Input: kind&3 == 0, Output: kind&12 == 0}
			if kind&48 == 0 {
				v.AliasOf, v.Delta = in.u8()%21-1, int64(in.u8())-20
			}
			n.values = append(n.values, v)
		}
		for len(in) > 0 && len(n.nodes) < 30 {
			kind := in.u8()
			nd := Node{Out: []int{len(n.nodes) % len(n.values)}, Scratch: int64(kind & 32)}
			for range kind & 3 {
				nd.In = append(nd.In, in.u8()%(len(n.values)+1))
			}
			if kind&4 != 0 {
				nd.InPlace = []InPlace{{Out: nd.Out[0], In: in.u8() % 30}}
			}
			if kind&24 == 24 {
				nd.After = []int{in.u8()}
			}
			n.nodes = append(n.nodes, nd)
		}
		opt := Options{Budget: 1 << 16}
		order, st, err := Order(n.nodes, n.values, opt)
		if err != nil {
			return
		}
		if p, err := peakOf(n.nodes, n.values, order, opt); err != nil || p != st.Peak || p > st.GivenPeak ||
			p < st.Bound {
			t.Fatalf("peak %d, %v, %+v", p, err, st)
		}
		bufs, err := Buffers(n.nodes, n.values, order, opt)
		testenv.OK(t, err)
		res, err := Place(bufs, opt)
		testenv.OK(t, err)
		testenv.OK(t, check(bufs, opt, res))
		if res.LowerBound != st.Peak && len(n.nodes) > 0 {
			t.Fatalf("lower bound %d, peak %d\norder %v\nnodes %+v\nvalues %+v", res.LowerBound, st.Peak, order,
				n.nodes, n.values)
		}
	})
}
