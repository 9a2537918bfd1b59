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
// Helium, the DSP extension, floats in hardware; words that are only read at multiples of four.
const (
	FeatureMVE     = "mve"
	FeatureDSP     = "dsp"
	FeatureFPU     = "fpu"
	FeatureAligned = "aligned"
)

// Instructions is the entry of a kernel in the manifest's column of that name.
type Instructions struct {
	Dependence Dependence
	// FixedOn are the features of which each makes the kernel fixed.
	FixedOn []string
	// BranchesOn are the features with each of which loops turn as sizes say.
	BranchesOn []string
	// Lengths is the parameter that has lengths of sequences: where it is data, loops turn as
	// often as that says.
	Lengths string
	// Rows is the field with the bytes that are copied from or to places that the parameter
	// indices says. Where they are no multiple of a word, loops of memcpy turn as often as a
	// place is aligned; RowsFixedOn are the features with which they do not.
	Rows        string
	RowsFixedOn []string
}

// parseInstructions reads `fixed`, `branches`, `loops`, and behind `; ` what changes that:
// `fixed=mve fpu`, `branches=mve`, `lengths=lens`, `rows=block mve`.
func parseInstructions(text string) (Instructions, error) {
	list := strings.Split(text, "; ")
	x := Instructions{Dependence: Dependence(slices.Index(dependenceNames, list[0]))}
	ok := x.Dependence >= 0
	var features []string
	for _, clause := range list[1:] {
		what, value, _ := strings.Cut(clause, "=")
		words := strings.Fields(value)
		switch {
		case len(words) == 0:
			ok = false
		case what == "fixed":
			x.FixedOn, features = words, append(features, words...)
		case what == "branches" && x.Dependence == Loops:
			x.BranchesOn, features = words, append(features, words...)
		case what == "lengths" && len(words) == 1:
			x.Lengths = words[0]
		case what == "rows":
			x.Rows, x.RowsFixedOn = words[0], words[1:]
			features = append(features, words[1:]...)
		default:
			ok = false
		}
	}
	if !ok {
		return Instructions{}, fmt.Errorf("instructions %q: want %s, and \"; fixed=\" with the features of cores "+
			"that are better, \"; lengths=\" with a parameter, \"; rows=\" with a field", text,
			strings.Join(dependenceNames, ", "))
	}
	for _, f := range features {
		if !slices.Contains([]string{FeatureMVE, FeatureDSP, FeatureFPU, FeatureAligned}, f) {
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

// InstructionsOf is the entry of a kernel; false where the manifest has no such function.
func InstructionsOf(function string) (Instructions, bool) {
	x, ok := dependences()[function]
	return x, ok
}

// DependenceOf is what data decides of the instructions of a kernel, on a core with some
// features, whatever it is called with; false where the manifest has no such function.
func DependenceOf(function string, features []string) (Dependence, bool) {
	x, ok := dependences()[function]
	if has(features, x.FixedOn) {
		return Fixed, ok
	}
	if has(features, x.BranchesOn) {
		return Branches, ok
	}
	return x.Dependence, ok
}

// RowsByPlace reports that rows of the kernel are copied as fast as places are aligned.
func (x *Instructions) RowsByPlace(features []string) bool {
	return x.Rows != "" && !has(features, x.RowsFixedOn)
}

// has reports one of the features wanted.
func has(features, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(f string) bool { return slices.Contains(features, f) })
}
