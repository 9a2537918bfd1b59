// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"bytes"
	"testing"

	"github.com/nncc/nncc/ir/tensor"
)

// Every element type survives tensor → array → file → array → tensor.
func TestTensors(t *testing.T) {
	want := map[tensor.DType]tensor.DType{tensor.I4: tensor.I8, tensor.U4: tensor.U8, tensor.BF16: tensor.F32}
	for dt := tensor.F32; dt <= tensor.Bool; dt++ {
		for _, shape := range [][]int{nil, {3}, {2, 0}, {2, 3}} {
			d := tensor.New(dt, shape)
			for i := range d.Len() {
				d.SetInt(i, int64(i))
			}
			var b bytes.Buffer
			if err := WriteNpy(&b, FromTensor(d)); err != nil {
				t.Fatalf("%v: %v", d, err)
			}
			a, err := ReadNpy(&b, Limits{})
			if err != nil {
				t.Fatalf("%v: %v", d, err)
			}
			g, err := ToTensor(a)
			if err != nil {
				t.Fatalf("%v: %v", d, err)
			}
			w := d
			if k, ok := want[dt]; ok {
				w = d.Cast(k)
			}
			if !tensor.Equal(g, w) {
				t.Errorf("%v became %v", w, g)
			}
		}
	}
	for _, a := range []*Array{{DType: "complex64", Data: []complex64{1}},
		{DType: "float32", Shape: []int{1 << 20, 1 << 20}, Data: []float32{}}} {
		if _, err := ToTensor(a); err == nil {
			t.Errorf("%s%v was taken", a.DType, a.Shape)
		}
	}
}
