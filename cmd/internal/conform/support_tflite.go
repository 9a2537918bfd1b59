// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/tflite/tflitetest"
)

// TFLiteSupport is what a run of layers saw, a line for each operator of TensorFlow Lite
// Micro: the types that compile and run, and why others do not.
func TFLiteSupport(all []*tflitetest.Layer, failed map[int]error) []byte {
	types, why := map[string][]string{}, map[string]string{}
	for i, l := range all {
		if err := failed[i]; err != nil {
			why[l.Op] = fmt.Sprintf("%s: %s", l.Type, reason(err))
		} else if !slices.Contains(types[l.Op], l.Type) {
			types[l.Op] = append(types[l.Op], l.Type)
		}
	}
	for _, op := range tflitetest.Micro {
		if types[op] != nil || why[op] != "" {
			continue
		}
		if note, ok := tflitetest.Elsewhere[op]; ok {
			why[op] = note
		} else if _, _, err := openLayer(tflitetest.Alone(op)); err != nil {
			why[op] = "refused: " + strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			why[op] = "no test"
		}
	}
	var b bytes.Buffer
	names := slices.Collect(maps.Keys(types))
	for op := range why {
		if types[op] == nil {
			names = append(names, op)
		}
	}
	slices.Sort(names)
	for _, op := range names {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", op, strings.Join(types[op], ", "), why[op])
	}
	return b.Bytes()
}

// tfliteSection is the page's part about TensorFlow Lite, around those lines.
func tfliteSection(rows []byte) []byte {
	return append([]byte(`
# What is read of TensorFlow Lite

Generated from `+"`cmd/internal/conform/testdata/tflite.rows`"+`, which `+"`TestTFLite`"+` there holds against
what it sees (`+"`-update`"+` writes it); do not edit. Of every operator that TensorFlow Lite Micro has, and
some more: the types in which a model of it compiles, runs as a program, and gives the interpreter's bits;
alone, and of int8 between other layers. `+"`TestOperators`"+` of `+"`cmd/internal/tflm`"+` compares the same
models with TensorFlow Lite Micro's reference kernels.

| operator | types | besides |
| --- | --- | --- |
`), rows...)
}
