// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Dependence says what data decides of the instructions that a function executes.
type Dependence int

// Dependences, the stronger one behind the weaker.
const (
	// Fixed: nothing. The same instructions are executed whatever the data is.
	Fixed Dependence = iota
	// Branches: which way branches go. Loops turn as often whatever the data is.
	Branches
	// Loops: how often loops turn, too.
	Loops
)

var dependenceNames = []string{"fixed", "branches", "loops"}

func (d Dependence) String() string { return dependenceNames[d] }

// Features of cores on which a kernel can be fixed that is not elsewhere: vectors of
// Helium, the DSP extension, floats in hardware.
const (
	FeatureMVE = "mve"
	FeatureDSP = "dsp"
	FeatureFPU = "fpu"
)

// Instructions is the entry of a kernel in the manifest's column of that name.
type Instructions struct {
	Dependence Dependence
	// FixedOn are the features of which each makes the kernel fixed.
	FixedOn []string
}

// parseInstructions reads `fixed`, `branches`, `loops`, or `branches; fixed=mve fpu`.
func parseInstructions(text string) (Instructions, error) {
	kind, rest, more := strings.Cut(text, "; ")
	at := slices.Index(dependenceNames, kind)
	list, ok := strings.CutPrefix(rest, "fixed=")
	if at < 0 || more != ok {
		return Instructions{}, fmt.Errorf("instructions %q: want %s, and where some cores are better "+
			"\"; fixed=\" with their features", text, strings.Join(dependenceNames, ", "))
	}
	x := Instructions{Dependence: Dependence(at), FixedOn: strings.Fields(list)}
	for _, f := range x.FixedOn {
		if f != FeatureMVE && f != FeatureDSP && f != FeatureFPU {
			return x, fmt.Errorf("instructions %q: no feature %q", text, f)
		}
	}
	return x, nil
}

// dependences are those of all kernels, by function.
var dependences = sync.OnceValue(func() map[string]Instructions {
	out := map[string]Instructions{}
	for _, k := range Kernels() {
		out[k.Function] = k.Instructions
	}
	return out
})

// DependenceOf is what data decides of the instructions of a kernel, on a core with some
// features; false where the manifest has no such function.
func DependenceOf(function string, features []string) (Dependence, bool) {
	x, ok := dependences()[function]
	if slices.ContainsFunc(x.FixedOn, func(f string) bool { return slices.Contains(features, f) }) {
		return Fixed, ok
	}
	return x.Dependence, ok
}
