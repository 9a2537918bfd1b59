// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel/kinds"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/dsp"
	"github.com/nncc/nncc/lower/kernel/helium"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/option"
)

// libraries are the kernel libraries by the name that board files use.
var libraries = map[string][]*kernel.Kernel{
	"cmsisnn": cmsisnn.Kernels,
	"dsp":     dsp.Kernels,
	"helium":  helium.Kernels,
	"refc":    slices.Concat(reference.Kernels, loops.Kernels),
}

// skip are the libraries that --kernels leaves out.
var skip = map[option.Kernels]map[string]bool{
	option.CMSISNN:          {"dsp": true, "helium": true},
	option.ReferenceKernels: {"dsp": true, "helium": true, "cmsisnn": true},
}

// Kernels is the table of the kernels of the given libraries, best first, narrowed by
// --kernels.
func Kernels(names []string, o kernel.Options) (kernel.Table, error) {
	var libs [][]*kernel.Kernel
	for _, n := range names {
		l, ok := libraries[n]
		if !ok {
			return nil, fmt.Errorf("kernel library %q is unknown; known: %s", n,
				strings.Join(slices.Sorted(maps.Keys(libraries)), ", "))
		}
		if skip[o.Kernels][n] {
			continue
		}
		libs = append(libs, slices.DeleteFunc(slices.Clone(l),
			func(k *kernel.Kernel) bool { return slices.Contains(o.Without, k.Name) }))
	}
	return kernel.NewTable(libs...), nil
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

func (o *Options) table() (kernel.Table, error) {
	table, err := Kernels(o.Libraries, o.Target)
	if err != nil {
		return nil, err
	}
	if o.Accel != nil {
		table[op.Segment] = []*kernel.Kernel{segmentKernel(o.Accel)}
	}
	for _, d := range kinds.Devices() {
		if o.Accel != nil && o.Accel.Device() != nil && o.Accel.Device().Kind == d.Kind {
			d = o.Accel.Device() // with the board's limits
		}
		table[op.Device] = append(table[op.Device], deviceKernel(d))
	}
	return table, nil
}
