// SPDX-License-Identifier: Apache-2.0

// Package kinds is the table of accelerators.
package kinds

import (
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/mla"
)

// Table has one line for each kind of accelerator. Tests add theirs.
var Table = []accel.Accelerator{
	mla.New(mla.Defaults()),
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
