// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// schemasFile is what is imported, below the repository's root.
const schemasFile = "frontend/onnx/schema/schemas.json"

// importSchemas reads the operator change logs of an ONNX release (docs/Changelog.md
// and docs/Changelog-ml.md there) and writes schemas.json. Only facts are taken:
// names, versions, parameters, attributes with types and defaults, type sets.
func importSchemas(root string, files []string) error {
	var all []schema.Facts
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		ops, err := parseChangelog(string(b))
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, ops...)
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if a.Domain != b.Domain {
			return a.Domain < b.Domain
		}
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Since < b.Since
	})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.Domain == b.Domain && a.Name == b.Name && a.Since == b.Since {
			return fmt.Errorf("%s-%d stands twice", a.Name, a.Since)
		}
	}
	return writeFacts(filepath.Join(root, filepath.FromSlash(schemasFile)), all)
}

var (
	reHeading = regexp.MustCompile(`^### <a name="([^"]+)-(\d+)"></a>`)
	reSection = regexp.MustCompile(`^#### (Version|Attributes|Inputs|Outputs|Type Constraints)(?: \((\d+) - (\S+)\))?$`)
	reEntry   = regexp.MustCompile(`^<dt><tt>([^<]+)</tt>(?: \(([a-z, -]+)\))? : (.*)</dt>$`)
	reAttr    = regexp.MustCompile(`^([a-z_ -]+?)(?: \((required|default is .*)\))?$`)
)

// exactDefaults replaces defaults that the change log prints rounded, by operator,
// attribute and printed text. Values: onnx/defs and the released schemas.
var exactDefaults = map[string]string{
	"Selu.alpha 1.67326":          "1.6732631921768188",
	"Selu.gamma 1.0507":           "1.0507010221481323",
	"Clip.min (-3.402823e+38)":    "-3.4028234663852886e+38",
	"Clip.max (3.402823e+38)":     "3.4028234663852886e+38",
	"Selu.gamma 1.0507 version 1": "1.0507",
	"Adam.epsilon 0.0":            "1e-6",
	"Adagrad.epsilon 0.0":         "1e-6",
}

func parseChangelog(text string) ([]schema.Facts, error) {
	var ops []schema.Facts
	section := ""
	for n, line := range strings.Split(text, "\n") {
		if m := reHeading.FindStringSubmatch(line); m != nil {
			since, _ := strconv.Atoi(m[2])
			domain, name := "", m[1]
			if i := strings.LastIndexByte(name, '.'); i >= 0 {
				domain, name = name[:i], name[i+1:]
			}
			ops = append(ops, schema.Facts{Domain: domain, Name: name, Since: since,
				Deprecated: strings.Contains(line, "(deprecated)")})
			section = ""
			continue
		}
		if len(ops) == 0 {
			continue
		}
		op := &ops[len(ops)-1]
		if m := reSection.FindStringSubmatch(line); m != nil {
			section = m[1]
			if v, err := strconv.Atoi(m[2]); err == nil && section == "Inputs" {
				op.InMin = &v
			} else if err == nil {
				op.OutMin = &v
			}
			continue
		}
		if section == "" || section == "Version" || !strings.HasPrefix(line, "<dt>") {
			continue
		}
		if err := entry(op, section, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	for i := range ops {
		o := &ops[i]
		if o.InMin != nil && *o.InMin == schema.Fewest(o.In) {
			o.InMin = nil
		}
		if o.OutMin != nil && *o.OutMin == schema.Fewest(o.Out) {
			o.OutMin = nil
		}
	}
	return ops, nil
}

// entry reads a line of a section.
func entry(o *schema.Facts, section, line string) (err error) {
	defer fail.Catch(&err)
	m := reEntry.FindStringSubmatch(line)
	fail.If(m == nil, "not understood: %s", line)
	name, rest := m[1], m[3]
	switch section {
	case "Attributes":
		o.Attrs = append(o.Attrs, fail.Must(parseAttr(o, name, rest)))
	case "Inputs":
		o.In = append(o.In, fail.Must(parseParam(name, m[2], rest)))
	case "Outputs":
		o.Out = append(o.Out, fail.Must(parseParam(name, m[2], rest)))
	case "Type Constraints":
		types := lists.Map(splitTypes(rest), shortType)
		slices.Sort(types)
		if o.Types == nil {
			o.Types = map[string]string{}
		}
		o.Types[name] = strings.Join(slices.Compact(types), " ")
	}
	return nil
}

func parseParam(name, tags, typ string) (schema.ParamFacts, error) {
	p := schema.ParamFacts{name, shortType(typ)}
	var flags []string
	for _, t := range strings.Split(tags, ", ") {
		switch t {
		case "optional", "variadic":
			flags = append(flags, t)
		case "heterogeneous":
			flags = append(flags, "mixed")
		case "", "differentiable", "non-differentiable":
		default:
			return nil, fmt.Errorf("tag %q is not known", t)
		}
	}
	if flags != nil {
		p = append(p, strings.Join(flags, " "))
	}
	return p, nil
}

func parseAttr(op *schema.Facts, name, rest string) (schema.AttrFacts, error) {
	m := reAttr.FindStringSubmatch(rest)
	if m == nil {
		return schema.AttrFacts{}, fmt.Errorf("attribute %s: %q is not understood", name, rest)
	}
	t := m[1]
	if one, ok := strings.CutPrefix(t, "list of "); ok {
		t = one
	}
	t = strings.ToUpper(strings.ReplaceAll(t, " ", "_"))
	a := schema.AttrFacts{Name: name, Type: t, Required: m[2] == "required"}
	if !attrTypes[t] {
		return a, fmt.Errorf("attribute %s has the unknown type %q", name, m[1])
	}
	d, ok := strings.CutPrefix(m[2], "default is ")
	if !ok {
		return a, nil
	}
	text, err := defaultJSON(op, name, t, d)
	if err != nil {
		return a, err
	}
	a.Default = json.RawMessage(text)
	return a, nil
}

var attrTypes = map[string]bool{
	"FLOAT": true, "INT": true, "STRING": true, "TENSOR": true, "GRAPH": true, "SPARSE_TENSOR": true,
	"TYPE_PROTO": true,
	"FLOATS":     true, "INTS": true, "STRINGS": true, "TENSORS": true, "GRAPHS": true, "SPARSE_TENSORS": true,
	"TYPE_PROTOS": true,
}

// defaultJSON turns a default as the change log prints it into JSON.
func defaultJSON(op *schema.Facts, name, typ, d string) (string, error) {
	switch typ {
	case "INT", "FLOAT":
		key := op.Name + "." + name + " " + d
		if v, ok := exactDefaults[fmt.Sprintf("%s version %d", key, op.Since)]; ok {
			d = v
		} else if v, ok := exactDefaults[key]; ok {
			d = v
		}
		d = strings.TrimSuffix(d, ".0")
		if _, err := strconv.ParseFloat(d, 64); err != nil {
			return "", fmt.Errorf("default of %s: %q", name, d)
		}
		return d, nil
	case "STRING":
		b, err := json.Marshal(d)
		return string(b), err
	case "INTS", "FLOATS", "STRINGS":
		// Python prints a list of quoted words.
		words := strings.Split(strings.Trim(d, "[]"), ", ")
		for i, w := range words {
			w = strings.Trim(w, "'")
			if typ == "STRINGS" {
				w = strconv.Quote(w)
			}
			words[i] = w
		}
		return "[" + strings.Join(words, ",") + "]", nil
	}
	return "", fmt.Errorf("attribute %s of type %s has a default %q", name, typ, d)
}

// splitTypes splits a list at the commas that stand outside of parentheses.
func splitTypes(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(s[start:]); last != "" {
		out = append(out, last)
	}
	return out
}

// shortType drops tensor( ) around an element type and all spaces.
func shortType(t string) string {
	t = strings.ReplaceAll(t, " ", "")
	for {
		i := strings.Index(t, "tensor(")
		if i < 0 || i > 0 && t[i-1] == '_' {
			return t
		}
		j := i + strings.IndexByte(t[i:], ')')
		t = t[:i] + t[i+len("tensor("):j] + t[j+1:]
	}
}

// writeFacts writes one operator a line, so that changes show as lines.
func writeFacts(file string, ops []schema.Facts) error {
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
	return os.WriteFile(file, b.Bytes(), 0o644)
}
