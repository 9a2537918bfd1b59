// SPDX-License-Identifier: Apache-2.0

// Package lists makes lists and sums of lists: what each element gives, and which elements hold.
package lists

import "sort"

// Map is what f gives of each element, in order; nil of none.
func Map[T, U any](in []T, f func(T) U) (out []U) {
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

// Each is what f gives of each element, in order; an empty list of none.
func Each[T, U any](in []T, f func(T) U) []U {
	out := make([]U, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

// Make is a list of n elements by their indices.
func Make[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// Filter is the elements that hold, in order; nil where none does.
func Filter[T any](in []T, hold func(T) bool) (out []T) {
	for _, x := range in {
		if hold(x) {
			out = append(out, x)
		}
	}
	return out
}

// Find is the first element that holds; the zero value where none does.
func Find[T any](in []T, hold func(T) bool) (none T) {
	for _, x := range in {
		if hold(x) {
			return x
		}
	}
	return none
}

// Max is the largest of what f gives of each element, 0 at least.
func Max[T any, N int | int64 | float64](in []T, f func(T) N) (most N) {
	for _, x := range in {
		most = max(most, f(x))
	}
	return most
}

// By has the elements by their keys, the last of those with one key.
func By[T any, K comparable](in []T, key func(T) K) map[K]T {
	out := make(map[K]T, len(in))
	for _, x := range in {
		out[key(x)] = x
	}
	return out
}

// Places has the index of each element, the last of equal ones.
func Places[T comparable](in []T) map[T]int {
	out := make(map[T]int, len(in))
	for i, x := range in {
		out[x] = i
	}
	return out
}

// Set tells what is in a list.
func Set[T comparable](in []T) map[T]bool {
	set := make(map[T]bool, len(in))
	for _, x := range in {
		set[x] = true
	}
	return set
}

// Where is the numbers below n that hold, in order; nil where none does.
func Where(n int, hold func(i int) bool) (out []int) {
	for i := range n {
		if hold(i) {
			out = append(out, i)
		}
	}
	return out
}

// Sum is the sum of what f gives of each element.
func Sum[T any, N int | int64 | float64](in []T, f func(T) N) (sum N) {
	for _, x := range in {
		sum += f(x)
	}
	return sum
}

// Sort sorts in place, stably, where the standard library's slices has a body of
// some ten kilobytes for each type of element. It is slower: not for inner loops.
func Sort[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// GCD is the greatest number that divides two, which are not negative.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
