// SPDX-License-Identifier: Apache-2.0

package ethosu_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu"
)

// recorded are streams that Vela wrote for layers that were drawn here (cmd/internal/tflm, TestVela).
func recorded(t *testing.T) (all []*ir.Node) {
	t.Helper()
	for _, p := range testenv.Must(filepath.Glob("testdata/*.tflite"))(t) {
		n := read(t, testenv.Must(os.ReadFile(p))(t))
		for _, d := range n.Nodes {
			if d.Op == op.Device {
				all = append(all, d)
			}
		}
	}
	return all
}

// with is a node with other bytes as input i.
func with(n *ir.Node, i int, b []byte) *ir.Node {
	m := &ir.Node{Op: n.Op, Name: n.Name, Origin: n.Origin, In: slices.Clone(n.In), Out: n.Out, Attrs: n.Attrs}
	v := *n.In[i]
	v.Const = tensor.Of([]int{len(b)}, b)
	m.In[i] = &v
	return m
}

// outcome is what a node gives for drawn data; nil where it is refused.
func outcome(t *testing.T, n *ir.Node) [][]byte {
	t.Helper()
	var data [][]byte
	rng := rand.New(rand.NewPCG(5, 6))
	for _, v := range n.In[2:] {
		b := make([]byte, v.Type.Bytes())
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		data = append(data, b)
	}
	out, err := ethosu.New().Device().Run(n, data)
	if err != nil {
		return nil
	}
	return out
}

// TestDamaged: whatever bytes of a stream or of weights are damaged, a run ends, with results or a reason; one that
// is cut short is refused.
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range recorded(t) {
		testenv.Require(t, outcome(t, n) != nil, "%s is refused as it is", n)
		for range testenv.Count(t, 40) {
			i := rng.IntN(2)
			b := n.In[i].Const.Bytes()
			if len(b) == 0 {
				continue
			}
			for range 1 + rng.IntN(3) {
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
			outcome(t, with(n, i, b))
			b = n.In[0].Const.Bytes()
			testenv.Check(t, outcome(t, with(n, 0, b[:rng.IntN(len(b)/4)*4])) == nil, "%s runs cut short", n)
		}
	}
}

// bases are the commands with addresses: another one may be that of other bytes that are known.
var bases = []uint16{0x4000, 0x4010, 0x4020, 0x4022}

// TestSpoilt: a wait, a dependency or a block size that is not Vela's is refused, or changes nothing that is seen; so
// are most addresses.
func TestSpoilt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	refused, same, unseen := 0, 0, 0
	for _, n := range recorded(t) {
		want := outcome(t, n)
		stream := n.In[0].Const.Bytes()
		for range testenv.Count(t, 150) {
			b := slices.Clone(stream)
			at := 32 + 4*rng.IntN(len(b)/4-8)
			code := binary.LittleEndian.Uint16(b[at:])
			switch {
			case code == 0x12F: // BLOCKDEP
				b[at+2] = 3
			case code >= 0x115 && code <= 0x117: // block size
				b[at+2] ^= 1 << rng.IntN(7)
			case code == 0x11 || code == 0x12: // waits
				b[at] = 0x13
			case slices.Contains(bases, code):
				b[at+4+rng.IntN(2)] ^= 16 << rng.IntN(4)
			default:
				continue
			}
			switch got := outcome(t, with(n, 0, b)); {
			case got == nil:
				refused++
			case slices.EqualFunc(got, want, slices.Equal):
				same++
			default:
				unseen++
				testenv.Check(t, slices.Contains(bases, code), "%s: command %#x at %d gives other results", n, code, at)
			}
		}
	}
	t.Logf("%d refused, %d change nothing, %d are not seen", refused, same, unseen)
	testenv.Check(t, refused >= 4*unseen, "%d spoilt streams give other results, %d are refused", unseen, refused)
}
