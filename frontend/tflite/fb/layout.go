// SPDX-License-Identifier: Apache-2.0

package fb

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

//go:embed schema.fbs
var schema string

type kind uint8

const (
	scalar kind = iota
	text
	vector // of scalars
	table
	tables // a vector of them
)

// field is a field of a table: its kind, bytes of a scalar or of a vector's elements,
// and which tables it refers to.
type field struct {
	name string
	kind kind
	size uint32
	of   string
}

var scalarSizes = map[string]uint32{"bool": 1, "byte": 1, "ubyte": 1, "ushort": 2, "int": 4, "uint": 4, "float": 4,
	"long": 8, "ulong": 8}

var (
	tableText = regexp.MustCompile(`(?s)\btable (\w+) \{(.*?)\}`)
	fieldText = regexp.MustCompile(`(\w+):(\[?)(\w+)\]?(?: = \w+)?;`)
)

// layout reads the tables of schema.fbs and the root's name: what the accessors are
// generated from is what the verifier goes by.
var layout = sync.OnceValue(func() map[string][]field {
	tablesByName := map[string][]field{}
	for _, t := range tableText.FindAllStringSubmatch(schema, -1) {
		fields := lists.Each(fieldText.FindAllStringSubmatch(t[2], -1), func(f []string) field {
			return fieldOf(f[1], f[2] != "", f[3])
		})
		if strings.Count(t[2], ";") != len(fields) {
			panic(bug.Errorf("schema.fbs: a field of %s cannot be read", t[1]))
		}
		tablesByName[t[1]] = fields
	}
	return tablesByName
})

func fieldOf(name string, many bool, typ string) field {
	size, isScalar := scalarSizes[typ]
	switch {
	case typ == "string":
		return field{name, text, 1, ""}
	case isScalar && many:
		return field{name, vector, size, ""}
	case isScalar:
		return field{name, scalar, size, ""}
	case many:
		return field{name, tables, 4, typ}
	}
	return field{name, table, 4, typ}
}
