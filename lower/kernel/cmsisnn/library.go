// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
)

// ISA is the instruction set that a CMSIS-NN library was built for.
type ISA = cmsis.Build

// The builds of CMSIS-NN.
const (
	PlainC = cmsis.PlainC
	DSP    = cmsis.DSP
	MVE    = cmsis.MVE
)

// CoreISA is the build of CMSIS-NN that a core gets.
func CoreISA(c kernel.Core) ISA {
	switch {
	case c.MVE:
		return MVE
	case c.DSP:
		return DSP
	}
	return PlainC
}

// Dims are NHWC dimensions; filters are {output channels, H, W, input channels}.
type Dims cmsis.Dims

// Tile is a vertical and a horizontal value.
type Tile = param.Tile

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// routed is a function of the library that computes a layer rightly.
type routed struct {
	Func    string // to call
	Inner   string // what runs then
	Why     string // why nothing better runs; "" when nothing better was missed
	Scratch int    // bytes
}

// route is the first of the functions that the knowledge base has nothing
// against, or the reasons against all of them. Which of a library's revisions
// gets linked is not known here: none that the table knows may be wrong.
func route(q *cmsis.Query, names ...string) (routed, string) {
	var avoided [][2]string // function and reason
	for _, name := range names {
		bad := against(name, q)
		if len(bad) > 0 {
			avoided = append(avoided, bad...)
			continue
		}
		c := cmsis.Ask(name, q)
		r := routed{Func: name, Inner: c.Kernel, Scratch: cmsis.Size(name, q)}
		var why []string
		for _, a := range avoided {
			if a[0] == r.Inner {
				a[0] = name
			}
			why = append(why, fmt.Sprintf("%s instead of %s: %s", r.Inner, a[0], a[1]))
		}
		if s := c.Reason(); s != "" {
			why = append(why, s)
		}
		r.Why = strings.Join(why, "; ")
		return r, ""
	}
	why := lists.Map(avoided, func(a [2]string) string { return a[0] + ": " + a[1] })
	return routed{}, strings.Join(why, "; ")
}

// against is what speaks against calling a function: the one that would run
// and the reason.
func against(name string, q *cmsis.Query) [][2]string {
	out := lists.Map(cmsis.Unmet(name, q), func(s string) [2]string { return [2]string{name, s} })
	for _, d := range append(cmsis.Defects(name, q), cmsis.Past(name, q)...) {
		s := d.Says
		if d.Until != "" {
			s += ", in revisions before " + d.Until
		}
		out = append(out, [2]string{d.Function, s + " [" + d.ID + "]"})
	}
	return out
}
