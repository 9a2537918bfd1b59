// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
)

// Frames cuts samples of whole windows into steps.
func Frames(s *stream.Options, samples []quant.Sample) []quant.Sample {
	var out []quant.Sample
	for _, x := range samples {
		for at := 0; at+s.Hop <= x[s.Input].Shape[s.Axis]; at += s.Hop {
			y := slices.Clone(x)
			y[s.Input] = x[s.Input].Slice(s.Axis, at, at+s.Hop)
			out = append(out, y)
		}
	}
	return out
}

// shifted is a window with frames appended and as many dropped in front.
func shifted(window, frames *tensor.Dense, axis int) *tensor.Dense {
	y := tensor.New(window.DType, window.Shape)
	n, hop, inner := window.Shape[axis], frames.Shape[axis], tensor.Count(window.Shape[axis+1:])
	for i := range y.Len() {
		k := i / inner % n
		src, at := window, i+hop*inner
		if k >= n-hop {
			src, at = frames, (i/inner/n*hop+k-(n-hop))*inner+i%inner
		}
		y.CopyElem(i, src, at)
	}
	return y
}
