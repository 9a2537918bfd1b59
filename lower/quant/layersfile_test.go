// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// layersModel has a name that layers files can mean in several ways.
const layersModel = `
graph "g" {
in %x : f32[2,4]
const %w : f32[4,3] = rand 1
%m = MatMul(%x, %w) name "layer.one/Add"
%a = Add(%m, %m) name "add"
%s = Sum(%a, %m) name "sum"
out "y" = %s
}`

// FuzzLayers: no --layers-config makes the reader panic or hang; patterns match
// what they say.
func FuzzLayers(f *testing.F) {
	for _, s := range []string{
		"", "layers: {add: int16x8}", "default: float32\nlayers:\n  \"layer.*\": int4\n  sum: int8\n",
		"layers: {add: int8, add: int8}", "layers: [a]", "a: &a [*a]", "default: &x int8\nlayers: {sum: *x}",
		"layers: {\"*a*a*a*a*a*a*a*a*b\": int8}", "layers: {? {a: b} : int8}", "<<: {layers: {}}",
		"!!binary aGFsbG8=: 1", "layers: {add: !!int 8}", "\x00", "---\n---\n", "layers: {\"\": int8}",
	} {
		f.Add(s)
	}
	g := testenv.Must(ir.Parse(layersModel, op.Get))(f)
	names := []string{"add", "Add_0", "sum", "layer.one/Add", "*", strings.Repeat("a", 60)}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := parseLayers("layers.yaml", []byte(s), names)
		if err != nil {
			testenv.Check(t, len(err.Error()) >= 10 && !bug.Is(err), "error %T %q", err, err)
			return
		}
		for _, n := range g.Nodes {
			l.Layer(n, Int8)
		}
		for _, e := range l.entries {
			parts := lists.Map(strings.Split(e.pattern, "*"), regexp.QuoteMeta)
			want := regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
			for _, n := range names {
				testenv.Equal(t, glob(e.pattern, n), want.MatchString(n), "pattern %q and name %q", e.pattern, n)
			}
		}
	})
}

// TestGlob: a pattern of many stars takes no more time than the names are long.
func TestGlob(t *testing.T) {
	testenv.Check(t, !glob(strings.Repeat("*a", 2000)+"b", strings.Repeat("a", 5000)),
		"a pattern that ends in b matched")
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{{"*", "", true}, {"a*", "ab", true}, {"a*a", "a", false}, {"*b", "ab", true}, {"a*b*c", "abbc", true},
		{"a*c*b", "abbc", false}, {"ab", "abc", false}, {"*ab*ab", "ab", false}} {
		testenv.Check(t, glob(c.pattern, c.name) == c.want, "%q and %q: want %v", c.pattern, c.name, c.want)
	}
}
