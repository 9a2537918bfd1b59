// SPDX-License-Identifier: Apache-2.0

// Package fail ends a function at its first error without an if for each: what has
// many checks defers Catch, and it and the functions that only it calls use the others.
package fail

import "fmt"

// failure carries an error to Catch.
type failure struct{ error }

// Check ends the function that defers Catch with an error; nil is none.
func Check(err error) {
	if err != nil {
		raise(err)
	}
}

// raise is apart from Check, which thousands of places hold a copy of.
//
//go:noinline
func raise(err error) { panic(failure{err}) }

// Errorf ends it with an error of that text.
func Errorf(format string, args ...any) { Check(fmt.Errorf(format, args...)) }

// If is Errorf where something is so.
func If(is bool, format string, args ...any) {
	if is {
		Errorf(format, args...)
	}
}

// Must is v; an error is as for Check.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Must2 is Must of two values.
func Must2[A, B any](a A, b B, err error) (A, B) {
	Check(err)
	return a, b
}

// Must3 is Must of three values.
func Must3[A, B, C any](a A, b B, c C, err error) (A, B, C) {
	Check(err)
	return a, b, c
}

// Catch sets err, when deferred, to the error that ended the function; other panics go on.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

// Under puts what and a colon in front of the error that ends f.
func Under(what string, f func()) {
	if err := Caught(f); err != nil {
		Errorf("%s: %w", what, err)
	}
}

// Try is what f gives, with the error that ended it; nil is none.
func Try[T any](f func() T) (v T, err error) {
	err = Caught(func() { v = f() })
	return v, err
}

// Caught is the error that ended f; nil is none.
func Caught(f func()) (err error) {
	defer Catch(&err)
	f()
	return nil
}
