// SPDX-License-Identifier: Apache-2.0

package ethosu_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
	_ "github.com/nncc/nncc/lower/accel/kinds"
)

// network is a model with what it keeps from run to run.
type network struct {
	*ir.Graph
	state []model.State
	kept  map[string]*tensor.Dense
}

func read(t *testing.T, b []byte) *network {
	t.Helper()
	m := testenv.Must(tflite.Parse(b, onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	n := &network{g, m.State, map[string]*tensor.Dense{}}
	for _, s := range m.State {
		n.kept[s.In] = s.Init
	}
	return n
}

// run gives the outputs for inputs, without what is kept.
func (n *network) run(t *testing.T, in []*tensor.Dense) []*tensor.Dense {
	t.Helper()
	var all []*tensor.Dense
	for i, v := range n.In {
		if kept := n.kept[v.Name]; kept != nil {
			all = append(all, kept)
		} else {
			all = append(all, in[i])
		}
	}
	out := testenv.Must(interp.Run(n.Graph, all, nil))(t)
	for _, s := range n.state {
		n.kept[s.In] = out[slices.Index(n.OutNames, s.Out)]
	}
	return out
}

// TestStreams: every stream that Vela wrote gives TensorFlow Lite Micro's results.
func TestStreams(t *testing.T) {
	var list struct {
		Streams []struct{ Configuration, Model string }
	}
	testenv.OK(t, json.Unmarshal(testenv.Must(os.ReadFile(sharedata.Need(t, "ethosu", "manifest.json")))(t), &list))
	for _, s := range list.Streams {
		t.Run(s.Configuration+"/"+s.Model, func(t *testing.T) {
			t.Parallel()
			b := testenv.Must(os.ReadFile(sharedata.Need(t, "ethosu", s.Configuration, s.Model+".tflite")))(t)
			n := read(t, b)
			for _, d := range n.Nodes {
				if windows := lostSlices[s.Model]; windows != nil && d.Op == op.Device {
					withSlices(t, d.In[0], windows)
				}
			}
			stored := map[string]*tensor.Dense{}
			cases := sharedata.Need(t, "tflite", s.Model+".npz")
			for _, e := range testenv.Must(npz.ReadNpzFile(cases, npz.Limits{}))(t) {
				stored[e.Name] = testenv.Must(npz.ToTensor(e.Array))(t)
			}
			part := func(k int, d *tensor.Dense, name string) bool {
				all := stored[name]
				if all != nil {
					d.Copy(0, all.Cast(d.DType), k*d.Len(), d.Len())
				}
				return all != nil
			}
			different := 0
			for k := range stored["input_0"].Shape[0] {
				var in []*tensor.Dense
				for i, v := range n.In {
					in = append(in, tensor.New(v.Type.DType, v.Type.Shape))
					part(k, in[i], fmt.Sprintf("input_%d", i))
				}
				for i, got := range n.run(t, in) {
					want := tensor.New(got.DType, got.Shape)
					for j := 0; part(k, want, fmt.Sprintf("output_%d", i)) && j < got.Len(); j++ {
						if got.Float(j) != want.Float(j) {
							different++
						}
					}
				}
			}
			testenv.Check(t, different <= 0, "%d elements differ", different)
		})
	}
}

// lostSlices are models whose streams read the first rows of a value where the model slices the last ones off:
// Vela 3.10 forgets a STRIDED_SLICE behind a SPLIT. By rows of the window: rows that there are.
var lostSlices = map[string]map[int]int{"okay_nabu": {7: 11, 9: 15}}

// withSlices moves the base of what reads such rows, and back behind it.
func withSlices(t *testing.T, v *ir.Value, windows map[int]int) {
	t.Helper()
	b := v.Const.Bytes()
	s := testenv.Must(npu.Parse(b))(t)
	words := slices.Clone(s.Words)
	moved := 0
	testenv.OK(t, s.Ops(func(o *npu.Op) error {
		if rows := windows[o.IFM.H]; o.Kind == npu.Depthwise && rows > 0 {
			const setBase = 0x4000
			at := o.At + 4*moved
			from := uint32(o.IFM.Base[0]) + uint32(rows-o.IFM.H)*uint32(o.IFM.StrideY)
			words = slices.Insert(words, at+1, setBase, uint32(o.IFM.Base[0]))
			words = slices.Insert(words, at, setBase, from)
			moved++
		}
		return nil
	}))
	testenv.Require(t, moved >= len(windows), "%d operations whose slice is lost, want %d or more", moved,
		len(windows))
	b = b[:len(b)-4*len(s.Words)]
	binary.LittleEndian.PutUint16(b[len(b)-2:], uint16(len(words)))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	v.Const = tensor.Of([]int{len(b)}, b)
	v.Type = ir.T(tensor.U8, len(b))
}
