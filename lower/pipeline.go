package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/legal"
)

// required are the float passes that later stages rely on: they run with
// --legalize off, too.
var required = map[string]bool{"const-fold": true, "cleanup": true, "integer-mac": true, "decompose": true, "conv1d": true}

// FloatPasses is the float pipeline in order.
func FloatPasses(legalize bool) []pass.Pass {
	if legalize {
		return legal.Passes
	}
	var out []pass.Pass
	for _, p := range legal.Passes {
		if required[p.Name] {
			out = append(out, p)
		}
	}
	return out
}

// libraries are the kernel libraries by the name that board files use.
var libraries = map[string][]*kernel.Kernel{
	"cmsisnn": cmsisnn.Kernels,
	"dsp":     dsp.Kernels,
	"helium":  helium.Kernels,
	"refc":    slices.Concat(reference.Kernels, loops.Kernels),
}

// skip are the libraries that --kernels leaves out.
var skip = map[string]map[string]bool{
	"cmsis-nn":  {"dsp": true, "helium": true},
	"reference": {"dsp": true, "helium": true, "cmsisnn": true},
}

// Table is the kernels of the given libraries, best first, narrowed by
// --kernels.
func Table(names []string, o kernel.Options) (kernel.Table, error) {
	var libs [][]*kernel.Kernel
	for _, n := range names {
		l, ok := libraries[n]
		if !ok {
			var known []string
			for k := range libraries {
				known = append(known, k)
			}
			return nil, fmt.Errorf("kernel library %q is unknown; known: %s", n, strings.Join(known, ", "))
		}
		if skip[o.Kernels][n] {
			continue
		}
		libs = append(libs, l)
	}
	return kernel.NewTable(libs...), nil
}

// AllPasses are the passes in order, for `nncc passes`.
func AllPasses() []pass.Pass {
	return append(slices.Clone(legal.Passes), AlignPass(align.Options{}, nil))
}

// AllKernels are the kernel rows of every library, best first, and the operators
// of the accelerators with their rules.
func AllKernels() []*kernel.Kernel {
	rows := slices.Concat(dsp.Kernels, helium.Kernels, cmsisnn.Kernels, reference.Kernels, loops.Kernels)
	for _, a := range kinds.Table {
		rows = append(rows, a.Kernels()...)
	}
	return rows
}
