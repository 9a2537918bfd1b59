// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"errors"
	"slices"
	"strings"
)

// faults are the mistakes in a definition and the files that it inherits. A value with a
// mistake is left out, so that the others can be looked at.
type faults struct {
	list []*Error
	// without are the keys of values that were left out.
	without []string
}

// add notes a mistake.
func (f *faults) add(err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Msg: err.Error()}
	}
	one := *e
	one.More = nil
	for _, e := range append([]*Error{&one}, e.More...) {
		if len(f.list) < maxFaults {
			f.list = append(f.list, e)
		}
	}
}

// drop notes a mistake for which the value of a key is left out.
func (f *faults) drop(key string, err error) {
	f.add(err)
	f.without = append(f.without, key)
}

// follows reports a finding about a key that another mistake can have caused: it is about
// a value that was left out, what that is in, or what is in it.
func (f *faults) follows(key string) bool {
	return slices.ContainsFunc(f.without, func(w string) bool {
		return w == key || strings.HasPrefix(w, key+".") || strings.HasPrefix(key, w+".")
	})
}

// err is all of them as one, in the order of the lines of each file; nil: there are none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	var files []string
	for _, e := range f.list {
		if !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		if d := slices.Index(files, a.File) - slices.Index(files, b.File); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
	first := *f.list[0]
	first.More = f.list[1:]
	return &first
}

// maxFaults bounds what is reported.
const maxFaults = 20
