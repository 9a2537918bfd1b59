// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// OK ends a test at an error. What it is about is a format with its arguments, or nothing.
func OK(t testing.TB, err error, about ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(title(about) + err.Error())
	}
}

// Must is what a call gives that must not fail: Must(f())(t) ends the test at an error.
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Err is the error of a call that gives a value, too.
func Err[T any](_ T, err error) error { return err }

// Refused fails a test unless there is an error that says all of the words.
func Refused(t testing.TB, err error, words ...string) {
	t.Helper()
	text := fmt.Sprint(err)
	for _, w := range words {
		if err == nil || !strings.Contains(text, w) {
			t.Errorf("error %v, want %q in it", err, w)
		}
	}
}

// Equal fails a test where two values differ. What they are about is a format with its arguments, or nothing.
func Equal[T comparable](t testing.TB, got, want T, about ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s%v, want %v", title(about), got, want)
	}
}

// Same is Equal for lists; nil is an empty one.
func Same[T comparable](t testing.TB, got, want []T, about ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s%v, want %v", title(about), got, want)
	}
}

func title(about []any) string {
	if len(about) == 0 {
		return ""
	}
	if len(about) == 1 {
		return fmt.Sprint(about[0], ": ")
	}
	return fmt.Sprintf(about[0].(string), about[1:]...) + ": "
}

// Check fails a test where something does not hold; the rest says what was found.
func Check(t testing.TB, holds bool, format string, args ...any) {
	if !holds {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// Require is Check that ends the test.
func Require(t testing.TB, holds bool, format string, args ...any) {
	if !holds {
		t.Helper()
		t.Fatalf(format, args...)
	}
}

// SkipIf skips a test where something is so, and says why.
func SkipIf(t testing.TB, is bool, format string, args ...any) {
	t.Helper()
	if is {
		t.Skipf(format, args...)
	}
}
