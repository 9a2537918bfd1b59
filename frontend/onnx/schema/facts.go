// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// The data files: the first is imported from the ONNX change logs, the others are kept by hand. The last one has the
// operators that ONNX Runtime registers in ai.onnx although the standard has them later, in another form, or not at
// all: models in which its optimiser fused nodes, and old ones, have them. Those that were experimental in ONNX hold
// until opset 9.
//
//go:embed schemas.json contrib.json early.json
var files embed.FS

// Facts is one version of one operator as the data files have it.
//
// Types are written short: "float" for tensor(float), "seq(float)" for a sequence
// of such tensors, "optional(seq(float))" and so on; a set is a list with spaces.
type Facts struct {
	Domain     string       `json:"domain,omitempty"` // absent: ai.onnx
	Name       string       `json:"name"`
	Since      int          `json:"since"`
	Until      int          `json:"until,omitempty"`      // of early.json, the last opset
	Deprecated bool         `json:"deprecated,omitempty"` // from Since on
	In         []ParamFacts `json:"in,omitempty"`
	// where it is not the number of inputs up to the last required one
	InMin  *int              `json:"in_min,omitempty"`
	Out    []ParamFacts      `json:"out,omitempty"`
	OutMin *int              `json:"out_min,omitempty"`
	Attrs  []AttrFacts       `json:"attrs,omitempty"`
	Types  map[string]string `json:"types,omitempty"` // type variable → set of types
}

// ParamFacts is [name, type] or [name, type, flags]; flags are some of "optional",
// "variadic", "mixed" (variadic whose members may differ in type), with spaces.
type ParamFacts []string

// AttrFacts is one attribute; Type is the name ONNX gives it in capitals.
type AttrFacts struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Required bool            `json:"required,omitempty"`
	Default  json.RawMessage `json:"default,omitempty"`
}

// Fewest is the number of parameters that must be given when nothing else is
// said: up to the last that is neither optional nor variadic, and one of a variadic.
func Fewest(params []ParamFacts) int {
	n := 0
	for i, p := range params {
		if p.param().Opt != Optional {
			n = i + 1
		}
	}
	return n
}

func (p ParamFacts) param() Param {
	out := Param{Name: p[0], Type: p[1]}
	if len(p) > 2 {
		flags := strings.Fields(p[2]) // the last one says the most
		out.Opt = Option(slices.Index(optionNames[:], flags[len(flags)-1]))
	}
	return out
}

var optionNames = [...]string{"", "optional", "variadic", "mixed"}

func (a AttrFacts) attr() Attr {
	out := Attr{Name: a.Name, Type: AttrType(slices.Index(attrTypeNames[:], a.Type)), Required: a.Required}
	if a.Default != nil {
		out.Default = parsed[any](a.Default)
	}
	return out
}

func parsed[T any](text []byte) (v T) {
	err := json.Unmarshal(text, &v)
	bug.If(err != nil, "schema: %w", err)
	return v
}

type key struct{ domain, name string }

// table is what the data files say.
type table struct {
	operators map[key][]*Schema // by version
	newest    map[string]int    // opset of a domain in which an operator changed
	early     []*Schema
	sets      map[string]*Types // by text
}

var loaded = sync.OnceValue(func() *table {
	t := &table{operators: map[key][]*Schema{}, newest: map[string]int{}, sets: map[string]*Types{}}
	for _, f := range slices.Concat(read("schemas.json"), read("contrib.json")) {
		s := t.schema(f)
		k := key{s.Domain, s.Name}
		t.operators[k] = append(t.operators[k], s)
		t.newest[s.Domain] = max(t.newest[s.Domain], s.Since)
	}
	t.early = lists.Map(read("early.json"), t.schema)
	return t
})

func read(file string) []*Facts { return parsed[[]*Facts](bug.Must(files.ReadFile(file))) }

func (t *table) schema(f *Facts) *Schema {
	s := &Schema{Domain: f.Domain, Name: f.Name, Since: f.Since, until: f.Until, Deprecated: f.Deprecated,
		MinIn: Fewest(f.In), MinOut: Fewest(f.Out), In: lists.Map(f.In, ParamFacts.param),
		Out: lists.Map(f.Out, ParamFacts.param), Attrs: lists.Map(f.Attrs, AttrFacts.attr)}
	if f.InMin != nil {
		s.MinIn = *f.InMin
	}
	if f.OutMin != nil {
		s.MinOut = *f.OutMin
	}
	slices.SortFunc(s.Attrs, func(a, b Attr) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(f.Types)) {
		text := f.Types[name]
		if t.sets[text] == nil {
			t.sets[text] = ParseTypes(text)
		}
		s.Vars = append(s.Vars, Var{name, t.sets[text]})
	}
	return s
}
