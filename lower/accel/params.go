// SPDX-License-Identifier: Apache-2.0

package accel

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/lists"
)

// Param is one key of `params` in a board file: an integer, or a list of them.
type Param struct {
	Name, Doc string
	Low       int      // the smallest value
	High      int      // the largest value; 0: any
	One       *int     // where the integer goes, or
	Words     []string // instead of numbers, each by its place; "": none
	List      *[]int   // where the list goes
}

// DecodeParams stores the values of a board file where params say. A key that
// does not exist, or a value of the wrong kind or size, is an error.
func DecodeParams(values map[string]any, params []Param) error {
	keys := slices.Sorted(maps.Keys(values))
	for _, k := range keys {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == k })
		if i < 0 {
			known := lists.Map(params, func(p Param) string { return p.Name })
			return fmt.Errorf("accelerator parameter %q is unknown%s; known: %s", k, text.Meant(k, known),
				strings.Join(known, ", "))
		}
		if err := params[i].set(values[k]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Param) set(v any) error {
	if p.Words != nil {
		w, _ := v.(string)
		if *p.One = slices.Index(p.Words, w); w == "" || *p.One < 0 {
			return fmt.Errorf("accelerator parameter %s is %v, want one of %s", p.Name, v,
				strings.TrimPrefix(strings.Join(p.Words, ", "), ", "))
		}
		return nil
	}
	if p.One != nil {
		n, ok := integer(v)
		if !ok || n < p.Low {
			return fmt.Errorf("accelerator parameter %s is %v, want an integer from %d", p.Name, v, p.Low)
		}
		if p.High > 0 && n > p.High {
			return fmt.Errorf("accelerator parameter %s is %d, want at most %d", p.Name, n, p.High)
		}
		*p.One = n
		return nil
	}
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return fmt.Errorf("accelerator parameter %s is %v, want a list of integers", p.Name, v)
	}
	var out []int
	for _, x := range items {
		n, ok := integer(x)
		if !ok || n < p.Low {
			return fmt.Errorf("accelerator parameter %s is %v, want integers from %d", p.Name, v, p.Low)
		}
		out = append(out, n)
	}
	*p.List = out
	return nil
}

// integer accepts what a YAML or JSON decoder gives for a whole number.
func integer(v any) (int, bool) {
	switch x := v.(type) {
	case int:
		return x, x <= math.MaxInt32
	case int64:
		return int(x), x <= math.MaxInt32 && x >= 0
	case uint64:
		return int(x), x <= math.MaxInt32
	case float64:
		return int(x), x == math.Trunc(x) && math.Abs(x) <= math.MaxInt32
	}
	return 0, false
}
