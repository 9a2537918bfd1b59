package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/cmsisnn"
	"github.com/nncc/nncc/lower/target/dsp"
	"github.com/nncc/nncc/lower/target/helium"
	"github.com/nncc/nncc/lower/target/loops"
	"github.com/nncc/nncc/lower/target/mla"
	"github.com/nncc/nncc/lower/target/refc"
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

// libraries are the kernel libraries by the name that board files use. An
// accelerator adds its rows here.
var libraries = map[string][]*target.Kernel{
	"cmsisnn": cmsisnn.Kernels,
	"dsp":     dsp.Kernels,
	"helium":  helium.Kernels,
	"refc":    slices.Concat(refc.Kernels, loops.Kernels),
}

// skip are the libraries that --kernels leaves out.
var skip = map[string]map[string]bool{
	"cmsis-nn":  {"dsp": true, "helium": true},
	"reference": {"dsp": true, "helium": true, "cmsisnn": true},
}

// Table is the kernels of the given libraries, best first, narrowed by
// --kernels.
func Table(names []string, o target.Options) (target.Table, error) {
	var libs [][]*target.Kernel
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
	return target.NewTable(libs...), nil
}

// AllPasses are the passes in order, for `nncc passes`.
func AllPasses() []pass.Pass {
	return append(slices.Clone(legal.Passes), AlignPass(align.Options{}, nil))
}

// AllKernels are the kernel rows of every library, best first, and the operators
// of the accelerators with their rules.
func AllKernels() []*target.Kernel {
	return slices.Concat(dsp.Kernels, helium.Kernels, cmsisnn.Kernels, refc.Kernels, loops.Kernels, mla.Rows(mla.Defaults()))
}
