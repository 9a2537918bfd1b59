// SPDX-License-Identifier: Apache-2.0

package main

import "io"

// newSpinner is for terminals, which a page has not; the library behind the
// other one brings a web client along.
func newSpinner(io.Writer) spinner { return none{} }

type none struct{}

func (none) Describe(string) {}
func (none) Add(int) error   { return nil }
func (none) Finish() error   { return nil }
