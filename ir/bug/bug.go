// SPDX-License-Identifier: Apache-2.0

// Package bug marks faults of nncc's own: what no model, flag or file should be
// able to cause. They are told by their type, never by their text, in
// which a model's names may say anything.
package bug

import (
	"errors"
	"fmt"
)

// Error is a fault of nncc. It is returned, or panicked with where no error can be
// returned; the command line ends with exit status 70.
type Error struct{ err error }

// Errorf makes one; the arguments are those of fmt.Errorf.
func Errorf(format string, args ...any) *Error { return &Error{fmt.Errorf(format, args...)} }

// If panics with a fault where something is so that cannot be.
func If(is bool, format string, args ...any) {
	if is {
		panic(Errorf(format, args...))
	}
}

// Must is a value that only a fault of nncc can keep from being there.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(Errorf("%w", err))
	}
	return v
}

// Recovered is the fault behind a panic: r is what recover gave.
func Recovered(r any) *Error {
	switch r := r.(type) {
	case *Error:
		return r
	case error:
		return &Error{r}
	}
	return Errorf("%v", r)
}

// Is reports whether err is a fault of nncc, or wraps one.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}

func (e *Error) Error() string { return "BUG: " + e.Text() }

// Text is the message without the mark.
func (e *Error) Text() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.err }
