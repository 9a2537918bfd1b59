// SPDX-License-Identifier: Apache-2.0

package data

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/preprocess"
)

// key is a word of a specification, and what takes its values.
type key struct {
	name string
	set  setter
}

// setter takes the words of a value. Those below store them in a place, or say what they want.
type setter func(words []string) error

// section is a word that has keys of its own; open declares it and gives them.
type section struct {
	name string
	open func() []key
}

// opened is what a pointer points to, made unless it is there.
func opened[T any](at **T, made func() *T) *T {
	*at = cmp.Or(*at, made())
	return *at
}

func sectionOf(list []section, name string) *section {
	if i := slices.IndexFunc(list, func(s section) bool { return s.name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

func sectionNames(list []section) []string {
	return lists.Map(list, func(s section) string { return s.name })
}

// noting makes keys note in a list that they were set.
func noting(said *[]string, keys []key) []key {
	for i, k := range keys {
		keys[i].set = func(v []string) error {
			*said = append(slices.Clip(*said), k.name)
			return k.set(v)
		}
	}
	return keys
}

// setKey sets a key; more are names that are none of the keys'.
func setKey(keys []key, name string, v []string, more ...string) error {
	all := slices.Clone(more)
	for _, k := range keys {
		if k.name == name {
			if err := k.set(v); err != nil {
				return text.Errorf("%s: %s: %w", name, strings.Join(v, ", "), err)
			}
			return nil
		}
		all = append(all, k.name)
	}
	return text.Errorf("unknown key %s%s; want one of %s", name, near(name, all), strings.Join(all, ", "))
}

func near(s string, all []string) string {
	if n := text.Nearest(s, all); n != "" {
		return fmt.Sprintf(" (did you mean %s?)", n)
	}
	return ""
}

// word takes any text.
func word(to *string) setter {
	return func(v []string) error {
		*to = strings.Join(v, ",")
		return nil
	}
}

func list(to *[]string) setter {
	return func(v []string) error {
		*to = v
		return nil
	}
}

func oneOf(to *string, all ...string) setter {
	return func(v []string) error {
		s := strings.ToLower(strings.Join(v, ","))
		if !slices.Contains(all, s) {
			return fmt.Errorf("want one of %s", strings.Join(all, ", "))
		}
		*to = s
		return nil
	}
}

// british takes words as they are written in America, too.
func british(set setter) setter {
	return func(v []string) error {
		if len(v) == 1 {
			v = []string{strings.NewReplacer("gray", "grey", "center", "centre").Replace(v[0])}
		}
		return set(v)
	}
}

// choice stores the place of a name in a list.
func choice[T ~int](to *T, names ...string) setter {
	return func(v []string) error {
		var s string
		err := oneOf(&s, names...)(v)
		*to = T(max(slices.Index(names, s), 0))
		return err
	}
}

// truth is whether a word is the one for yes.
func truth(to *bool, yes string, all ...string) setter {
	return func(v []string) error {
		var s string
		err := oneOf(&s, all...)(v)
		*to = s == yes
		return err
	}
}

func yes(to *bool) setter { return truth(to, "true", "true", "false") }

// whole reads a whole number within bounds.
func whole[T int | uint8](to *T, lo, hi int) setter {
	return func(v []string) error {
		n, err := strconv.Atoi(strings.Join(v, ","))
		if err != nil || n < lo || n > hi {
			return fmt.Errorf("want a whole number from %d to %d", lo, hi)
		}
		*to = T(n)
		return nil
	}
}

// size reads WIDTHxHEIGHT.
func size(width, height *int) setter {
	return func(v []string) (err error) {
		*width, *height, err = preprocess.Size(strings.Join(v, ","))
		return err
	}
}

// parseNumber reads 0.5 or 1/255.
func parseNumber(s string) (float64, error) {
	a, b, fraction := strings.Cut(s, "/")
	x, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	if err == nil && fraction {
		var y float64
		y, err = strconv.ParseFloat(strings.TrimSpace(b), 64)
		x /= y
	}
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errors.New("want a number, such as 0.5 or 1/255")
	}
	return x, nil
}

// number reads one for which fits holds; want says which these are.
func number(to *float64, want string, fits func(float64) bool) setter {
	return func(v []string) error {
		x, err := parseNumber(strings.Join(v, ","))
		if err == nil && !fits(x) {
			err = errors.New(want)
		}
		if err == nil {
			*to = x
		}
		return err
	}
}

// scale reads a number by which values are multiplied: with 0 all would be the same.
func scale(to *float64) setter {
	return number(to, "want a number other than 0, such as 1/255: every value would be the same",
		func(x float64) bool { return x != 0 })
}

func share(to *float64) setter {
	return refused("want a number from 0 to 1", number(to, "", inUnit))
}

func inUnit(x float64) bool { return x >= 0 && x <= 1 }

// refused says the same of everything that is wrong.
func refused(want string, set setter) setter {
	return func(v []string) error {
		if set(v) != nil {
			return errors.New(want)
		}
		return nil
	}
}

func numbers(to *[]float64) setter { return reals(to, func(float64) bool { return true }) }

// reals reads numbers, each of which fits.
func reals(to *[]float64, fits func(float64) bool) setter {
	return func(v []string) (err error) {
		defer fail.Catch(&err)
		out := lists.Each(v, func(s string) float64 { return fail.Must(parseNumber(s)) })
		fail.If(len(out) == 0 || slices.ContainsFunc(out, func(x float64) bool { return !fits(x) }), "want a number")
		*to = out
		return nil
	}
}

func shares(to *[]float64) setter {
	return refused("want a number from 0 to 1, or one for each class", reals(to, inUnit))
}

func positives(to *[]float64) setter {
	return refused("want numbers from 1e-6 to 1e6",
		reals(to, func(x float64) bool { return x >= 1e-6 && x <= 1e6 }))
}
