// SPDX-License-Identifier: Apache-2.0

// Package option has the options of a compilation that are one of a few words:
// their types, their words and what help says of them. The command line parses
// them; everywhere else they are values of these types.
package option

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// Enum is an option that is one of a few words.
type Enum interface {
	~uint8
	fmt.Stringer
}

// Spec is what users know of an option.
type Spec struct {
	// Words are those of the values 0, 1, ... that a user may ask for; "" is the
	// value of an option that was not given.
	Words []string
	Help  string // what the command line says of the option
}

// SpecOf is that of an option.
func SpecOf[T Enum]() Spec {
	var none T
	return specs[none]
}

// word is that of a value.
func word[T Enum](v T) string { return SpecOf[T]().Words[v] }

// Parse gives the value that a word stands for. The error lists all words, and
// names the one that was probably meant.
func Parse[T Enum](word string) (T, error) {
	var none T
	var words []string
	for i, w := range SpecOf[T]().Words {
		if w == "" {
			continue
		}
		if w == word {
			return T(i), nil
		}
		words = append(words, w)
	}
	msg := "want one of " + strings.Join(words, ", ")
	if near := text.Nearest(word, words); near != "" {
		msg += "; did you mean " + near + "?"
	}
	return none, errors.New(msg)
}

// Flag makes an option the value of a flag.
type Flag[T Enum] struct{ To *T }

// Value is the flag's value for an option.
func Value[T Enum](to *T) Flag[T] { return Flag[T]{to} }

func (f Flag[T]) String() string {
	if f.To == nil { // flag packages print the zero value
		return ""
	}
	return (*f.To).String()
}

// Set parses a word.
func (f Flag[T]) Set(word string) error {
	v, err := Parse[T](word)
	if err == nil {
		*f.To = v
	}
	return err
}

// Type is how help shows the value: by its words.
func (f Flag[T]) Type() string {
	words := lists.Filter(SpecOf[T]().Words, func(w string) bool { return w != "" })
	return strings.Join(words, "|")
}
