// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/ir/fail"
)

// The data files behind the schema table, below the repository's root: the first
// is imported from the ONNX change logs, the second is kept by hand.
const (
	schemasFile = "frontend/onnx/schema/schemas.json"
	contribFile = "frontend/onnx/schema/contrib.json"
)

// opFacts is one version of one operator, as the data files hold it.
//
// Types are written short: "float" for tensor(float), "seq(float)" for a sequence
// of such tensors, "optional(seq(float))" and so on; a set is a list with spaces.
type opFacts struct {
	Domain     string       `json:"domain,omitempty"` // absent: ai.onnx
	Name       string       `json:"name"`
	Since      int          `json:"since"`
	Deprecated bool         `json:"deprecated,omitempty"` // from Since on
	In         []paramFacts `json:"in,omitempty"`
	// where it is not the number of inputs up to the last required one
	InMin  *int              `json:"in_min,omitempty"`
	Out    []paramFacts      `json:"out,omitempty"`
	OutMin *int              `json:"out_min,omitempty"`
	Attrs  []attrFacts       `json:"attrs,omitempty"`
	Types  map[string]string `json:"types,omitempty"` // type variable → set of types
}

// paramFacts is [name, type] or [name, type, flags]; flags are some of "optional",
// "variadic", "mixed" (variadic whose members may differ in type), with spaces.
type paramFacts []string

func (p paramFacts) has(flag string) bool {
	return len(p) > 2 && strings.Contains(" "+p[2]+" ", " "+flag+" ")
}

// attrFacts is one attribute; Type is the name ONNX gives it in capitals.
type attrFacts struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Required bool            `json:"required,omitempty"`
	Default  json.RawMessage `json:"default,omitempty"`
}

// minParams is the number of parameters that must be given when nothing else is
// said: up to the last that is neither optional nor variadic, and one of a variadic.
func minParams(ps []paramFacts) int {
	n := 0
	for i, p := range ps {
		if !p.has("optional") {
			n = i + 1
		}
	}
	return n
}

func readFacts(root, file string) ([]opFacts, error) {
	b := fail.Must(os.ReadFile(filepath.Join(root, filepath.FromSlash(file))))
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var ops []opFacts
	if err := d.Decode(&ops); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return ops, nil
}

// writeFacts writes one operator a line, so that changes show as lines.
func writeFacts(root, file string, ops []opFacts) error {
	var b bytes.Buffer
	b.WriteString("[\n")
	for i, o := range ops {
		if i > 0 {
			b.WriteString(",\n")
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(o); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteString("\n]\n")
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(file)), b.Bytes(), 0o644)
}
