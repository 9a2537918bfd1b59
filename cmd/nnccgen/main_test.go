// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTypesAreCurrent compares the generated types with the committed file.
func TestTypesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	want := testenv.Must(params(root))(t)
	have := testenv.Must(os.ReadFile(filepath.Join(root, paramsFile)))(t)
	testenv.Check(t, bytes.Equal(have, want), "%s is not what the headers give; run go run ./cmd/nnccgen params",
		paramsFile)
}

// TestFactsFormat: reading and writing the imported file gives the same bytes.
func TestFactsFormat(t *testing.T) {
	a := testenv.Must(os.ReadFile(filepath.Join("..", "..", schemasFile)))(t)
	var ops []schema.Facts
	d := json.NewDecoder(bytes.NewReader(a))
	d.DisallowUnknownFields()
	testenv.OK(t, d.Decode(&ops))
	tmp := filepath.Join(t.TempDir(), "schemas.json")
	testenv.OK(t, writeFacts(tmp, ops))
	b := testenv.Must(os.ReadFile(tmp))(t)
	testenv.Check(t, bytes.Equal(a, b), "schemas.json is not in the form that import-schemas writes")
}

// TestImport reads a change log of the form that ONNX publishes.
func TestImport(t *testing.T) {
	const log = `## Version 3 of the default ONNX operator set
### <a name="Blend-3"></a>**Blend-3**</a>

  Free text, ignored.

#### Version

This version of the operator has been available since version 3 of the default ONNX operator set.

#### Attributes

<dl>
<dt><tt>axes</tt> : list of ints (default is ['0', '2'])</dt>
<dd>Text.</dd>
<dt><tt>how</tt> : string (default is )</dt>
<dt><tt>rate</tt> : float (default is 1e-05)</dt>
<dt><tt>to</tt> : int (required)</dt>
</dl>

#### Inputs (1 - &#8734;)

<dl>
<dt><tt>x</tt> (differentiable) : T</dt>
<dt><tt>k</tt> (optional, non-differentiable) : tensor(int64)</dt>
<dt><tt>rest</tt> (variadic, heterogeneous) : V</dt>
</dl>

#### Outputs

<dl>
<dt><tt>y</tt> : T</dt>
</dl>

#### Type Constraints

<dl>
<dt><tt>T</tt> : tensor(float), tensor(double), tensor(float)</dt>
<dt><tt>V</tt> : seq(tensor(float)), map(int64, tensor(float)), optional(seq(tensor(int8)))</dt>
</dl>

### <a name="ai.onnx.ml.Old-4"></a>**ai.onnx.ml.Old-4** (deprecated)</a>
`
	ops := testenv.Must(parseChangelog(log))(t)
	one := 1
	want := []schema.Facts{
		{Name: "Blend", Since: 3, InMin: &one,
			In:  []schema.ParamFacts{{"x", "T"}, {"k", "int64", "optional"}, {"rest", "V", "variadic mixed"}},
			Out: []schema.ParamFacts{{"y", "T"}},
			Attrs: []schema.AttrFacts{
				{Name: "axes", Type: "INTS", Default: []byte("[0,2]")},
				{Name: "how", Type: "STRING", Default: []byte(`""`)},
				{Name: "rate", Type: "FLOAT", Default: []byte("1e-05")},
				{Name: "to", Type: "INT", Required: true},
			},
			Types: map[string]string{"T": "double float", "V": "map(int64,float) optional(seq(int8)) seq(float)"}},
		{Domain: "ai.onnx.ml", Name: "Old", Since: 4, Deprecated: true},
	}
	testenv.Equal(t, cmp.Diff(want, ops), "")
}
