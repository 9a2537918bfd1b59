// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// Where the divisions of averages by multiplication end to be exact
// (nncc_helium.h).
const (
	largestWindow      = 4079
	largestShortWindow = 185
)

func pool(fn, was, doc string, last kernel.Rules, ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: Library, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout,
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Pool.Must(n)
			lo, hi, _ := op.PoolQuantClamp(n.Node)
			w := param.PoolWindow(g)
			x, xr := inRows(g.C)
			y, yr := outRows(g.C)
			k := param.Walk{Images: g.N, From: g.C, To: g.C, Rows: 1, Pixels: 1, Reads: param.Mixed, Last: g.C}
			if w.Kernel.H <= 2 && w.Kernel.W <= 2 && g.C > lanes { // not in assembly: blocks of channels of a row
				k.Pixels = 0
			}
			return own(&call.Lowered{Rows: []call.Rows{xr, yr}, Overlap: k.Overlap(&w)},
				call.Call{Func: fn, Args: []call.Arg{param.Struct(&param.HeliumPool{Batch: g.N, Channels: g.C,
					ActMin: call.T(lo), ActMax: call.T(hi), InPitch: x, OutPitch: y}, &w), i8In(0), i8Out(0)}})
		},
		Was: was, Rules: kernel.All(cond.Helium, quantised.PoolRules(), last),
	}
}

// windowLimit is a rule about the elements of a window that is cut to the input.
func windowLimit(most int) kernel.Rules {
	return kernel.Rules{kernel.Pool.Rule("WINDOW-ELEMENTS", fmt.Sprintf("at most %d elements in a window", most),
		func(_ *kernel.Node, g *op.PoolGeom) string {
			count := 1
			for d, k := range g.Kernel {
				count *= min(k, g.In[d])
			}
			if count > most {
				return fmt.Sprintf("a window has %d elements, want at most %d", count, most)
			}
			return ""
		})}
}

var (
	avgPoolShort = pool("nncc_helium_avg_pool_short_s8", "HELIUM-AVGS", "int8 average pooling of small windows",
		windowLimit(largestShortWindow), op.AveragePool, op.GlobalAveragePool)
	avgPool = pool("nncc_helium_avg_pool_s8", "HELIUM-AVG", "int8 average pooling",
		windowLimit(largestWindow), op.AveragePool, op.GlobalAveragePool)
	maxPool = pool("nncc_helium_max_pool_s8", "HELIUM-MAXP", "int8 max pooling", nil, op.MaxPool, op.GlobalMaxPool)
)
