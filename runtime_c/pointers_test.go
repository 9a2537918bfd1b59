// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestPointerTargets: pointers in parameters, variables and members, calls that
// are inlined, attributes, functions that only their own file sees.
func TestPointerTargets(t *testing.T) {
	var s signatures
	s.read("a.h", `
typedef int32_t *walk_fn(const int8_t *x, int32_t n);
typedef void visit_fn(int32_t);
struct op { visit_fn *visit; int32_t n; };
NNCC_A_NAKED int32_t *walk_a(const int8_t *from, NNCC_A_ARG int32_t count);
static inline void all(const struct op *o) { o->visit(o->n); }
`)
	s.read("a.c", `
typedef void local_fn(int32_t *p);
NNCC_A_NAKED int32_t *walk_a(const int8_t *from, NNCC_A_ARG int32_t count) { return 0; }
int32_t *walk_b(const int8_t *x, int32_t n) { return 0; }
static int32_t *unused(const int8_t *x, int32_t n) { return 0; }
static int32_t *given(const int8_t *x, int32_t n) { return 0; }
int32_t *other(const int8_t *x, uint32_t n) { return 0; }
void visit_a(int32_t n) { }
void local_a(int32_t *p) { }
static void local_b(int32_t *p) { }
static int32_t step(walk_fn *f, const int8_t *x) { return *f(x, 1); }
int32_t outer(const int8_t *x) { return step(given, x); }
void swap(int32_t n) { walk_fn *const f = walk_a, *g = f; g(0, n); }
void locally(int32_t *p) { local_fn *f = local_b; f(p); }
void mute(walk_fn *f) { other(0, 1); }
`)
	s.read("b.c", "void every(const struct op *o) { all(o); outer(0); }")
	walk := []string{"given", "walk_a", "walk_b"}
	visits := []string{"swap", "visit_a"}
	want := map[string][]string{"all": visits, "every": visits, "step": walk, "outer": walk, "swap": walk,
		"locally": {"local_b"}}
	got := s.targets()
	testenv.Check(t, reflect.DeepEqual(got, want), "got  %v\nwant %v", got, want)
}

// TestPointersHaveTypes: no pointer to a function is declared without a named type,
// which pointers.go would not see; what calls through one can reach something.
func TestPointersHaveTypes(t *testing.T) {
	unnamed := regexp.MustCompile(`\( \* (const )?(\w+ )?(\[ \w* \] )?\) \(`)
	testenv.Check(t, unnamed.MatchString("void ( * f ) ( int )") && unnamed.MatchString("( * const f [ 2 ] ) ("),
		"the test sees no pointer")
	x := Shipped()
	for p, text := range x.files {
		code, macros := code(string(text()))
		for _, words := range [][]string{code, macros} {
			var line string
			for _, w := range words {
				line += w + " "
			}
			testenv.Equal(t, unnamed.FindString(line), "", "%s: give the type of the function a name", p)
		}
	}
	all := shippedTargets()
	testenv.Check(t, len(all) >= 10, "%d functions call through pointers", len(all))
	for _, caller := range slices.Sorted(maps.Keys(all)) {
		testenv.Check(t, len(all[caller]) != 0, "%s calls through a pointer, and no function is of its type", caller)
	}
	got := PointerTargets("gather.constprop.0")
	testenv.Check(t, slices.Contains(got, "nncc_dsp_widen_2rows_s8"), "a clone: %v", got)
	if got := PointerTargets("nncc_dsp_widen_2rows_s8"); got != nil {
		t.Errorf("calls nothing: %v", got)
	}
}
