// SPDX-License-Identifier: Apache-2.0

// Package kinds is the table of accelerators.
package kinds

import (
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/ethosu"
	"github.com/nncc/nncc/lower/accel/mla"
)

// Table has one line for each kind of accelerator. Tests add theirs.
var Table = []accel.Accelerator{
	mla.New(mla.Defaults()),
	ethosu.New(),
}

func init() {
	for _, d := range Devices() {
		op.Simulators[d.Kind] = d.Simulator
	}
}

// Devices run programs that other compilers wrote.
func Devices() []*accel.Device {
	var out []*accel.Device
	for _, a := range Table {
		if d := a.Device(); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// Find is the accelerator of a kind with default limits; nil: there is none.
func Find(kind string) accel.Accelerator {
	for _, a := range Table {
		if a.Kind() == kind {
			return a
		}
	}
	return nil
}

// Names are the kinds, in the order of the table.
func Names() []string {
	return lists.Map(Table, func(a accel.Accelerator) string { return a.Kind() })
}
