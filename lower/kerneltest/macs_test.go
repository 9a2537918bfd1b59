// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/kerneltest"
)

// macLayer is a convolution without groups whose instructions a MAC are counted.
type macLayer struct {
	in, out, size, kernel, stride int
	relu                          bool
}

// outputs are the pixels of the result along an axis: windows of odd size, padded to the input's size.
func (m *macLayer) outputs() int { return (m.size + m.stride - 1) / m.stride }

// macs are the layer's multiplications: of a padded window, all of it.
func (m *macLayer) macs() int { return m.outputs() * m.outputs() * m.in * m.out * m.kernel * m.kernel }

func (m *macLayer) String() string {
	s := fmt.Sprintf("%dx%d %d to %d, %dx%d", m.kernel, m.kernel, m.in, m.out, m.size, m.size)
	if m.stride > 1 {
		s += fmt.Sprintf(", stride %d", m.stride)
	}
	if m.relu {
		s += ", Relu"
	}
	return s
}

// text is the layer as IR text on int16 data, or on floats.
func (m *macLayer) text(wide bool) string {
	pad := m.kernel / 2
	attrs := fmt.Sprintf("pads=[%d,%d,%d,%d], strides=[%d,%d]", pad, pad, pad, pad, m.stride, m.stride)
	if m.relu {
		attrs += ", act_min=0.0"
	}
	data, weights, sums, in, coded, out := "f32", "f32", "f32", "", "", ""
	if wide {
		data, weights, sums, in, coded, out = "i16", "i8", "i64", " q(0.0002:0)", " q(0.004:0)", " q(0.001:0)"
	}
	return fmt.Sprintf("in %%x# : %s[1,%d,%d,%d]%s\nconst %%w# : %s[%d,%d,%d,%d]%s = rand 1\n"+
		"const %%b# : %s[%d] = rand 2\n%%y# : %s[1,%d,%d,%d]%s = Conv(%%x#, %%w#, %%b#) {%s}\n",
		data, m.in, m.size, m.size, in, weights, m.out, m.in, m.kernel, m.kernel, coded, sums, m.out, data, m.out,
		m.outputs(), m.outputs(), out, attrs)
}

// macLayers are channels of 16 and more, those that no kernel's step divides beside those that it does, with few pixels
// and many.
func macLayers() []macLayer {
	var layers []macLayer
	for _, io := range [][2]int{{16, 16}, {17, 17}, {18, 18}, {19, 19}, {20, 20}, {21, 21}, {22, 22}, {23, 23},
		{24, 24}, {25, 25}, {16, 33}, {33, 16}, {31, 31}, {32, 32}, {33, 33}, {47, 47}, {48, 48}, {49, 49}} {
		layers = append(layers, macLayer{io[0], io[1], 9, 1, 1, false})
	}
	// The most instructions a MAC: rests of channels on nine pixels, with a stride, too.
	for _, c := range []int{17, 18, 19, 21, 27, 33} {
		layers = append(layers, macLayer{c, c, 3, 1, 1, false}, macLayer{c, c, 5, 1, 2, false})
	}
	for _, io := range [][2]int{{17, 16}, {17, 17}, {17, 19}, {21, 17}} {
		layers = append(layers, macLayer{io[0], io[1], 17, 1, 2, false}, macLayer{io[0], io[1], 5, 1, 1, false})
	}
	return append(layers, macLayer{18, 18, 5, 1, 1, false}, macLayer{19, 19, 9, 1, 2, false},
		macLayer{17, 17, 3, 3, 1, false}, macLayer{16, 16, 8, 1, 1, false}, macLayer{17, 17, 8, 1, 1, true},
		macLayer{16, 16, 9, 1, 1, true}, macLayer{16, 16, 3, 1, 1, false}, macLayer{64, 64, 2, 1, 1, false},
		macLayer{17, 17, 9, 1, 2, false}, macLayer{16, 16, 9, 3, 1, false}, macLayer{17, 17, 9, 3, 1, true},
		macLayer{19, 19, 9, 3, 1, false}, macLayer{16, 16, 9, 3, 2, false}, macLayer{33, 33, 9, 3, 1, false},
		// Windows of few pixels, which stick out, most of them.
		macLayer{16, 16, 3, 3, 1, false}, macLayer{17, 17, 5, 3, 2, false}, macLayer{17, 17, 5, 3, 1, false},
		macLayer{19, 19, 3, 3, 1, true}, macLayer{27, 27, 3, 3, 1, false}, macLayer{33, 33, 5, 3, 2, false},
		macLayer{35, 35, 3, 1, 1, false}, macLayer{42, 42, 3, 1, 1, true}, macLayer{43, 43, 3, 1, 1, false},
		macLayer{43, 43, 5, 1, 2, false}, macLayer{49, 49, 3, 1, 1, false}, macLayer{49, 49, 5, 1, 2, false},
		macLayer{59, 59, 3, 1, 1, false}, macLayer{59, 59, 5, 1, 2, false})
}

// TestMACs holds the instructions of convolutions on int16 data and on floats at what they were; the log has those of a
// multiplication and what they are meant to be at most. Layers of few pixels pay what is done once.
func TestMACs(t *testing.T) {
	sets := []struct {
		core string
		wide bool
		bar  float64
	}{{"cortex-m4", true, 1.2}, {"cortex-m55", true, 0.45}, {"cortex-m55", false, 0.6}}
	held := kerneltest.Hold(t, filepath.Join("testdata", "macs.csv"), "cortex-m4 int16x8", "cortex-m55 int16x8",
		"cortex-m55 float32")
	for column, x := range sets {
		layers, spec := macLayers(), load(t, x.core)
		kinds := lists.Map(layers, func(l macLayer) kerneltest.Kind {
			return kerneltest.Kind{Name: l.String(), Layers: []string{l.text(x.wide)}}
		})
		var log strings.Builder
		build := run.BuildOptions{Opt: "speed", Trace: true}
		for i, n := range kerneltest.Counts(t, spec, build, kinds, chosen(t, spec)) {
			name, each := kinds[i].Name, float64(n)/float64(layers[i].macs())
			held.Count(t, name, column, n)
			over := ""
			if each > x.bar {
				over = fmt.Sprintf(" over %.2f", x.bar)
			}
			fmt.Fprintf(&log, "\n%-30s %8d %.3f%s", name, n, each, over)
		}
		t.Log(x.core, log.String())
	}
}
