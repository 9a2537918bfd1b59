// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Every row of the table has documentation and an example that is read.
func TestStepTable(t *testing.T) {
	for _, s := range StepTable() {
		testenv.Check(t, s.Doc != "" && s.Example != "" && strings.HasPrefix(s.Example, s.Name+":"),
			"%s: doc %q, example %q", s.Name, s.Doc, s.Example)
		_, err := ParseScript("example", "", []byte("steps:\n  - "+s.Example+"\n"))
		testenv.Check(t, err == nil, "%s: %v", s.Name, err)
		for _, k := range s.Keys {
			testenv.Check(t, k != "" && k == strings.ToLower(k), "%s: key %q", s.Name, k)
		}
	}
}

func TestScriptErrors(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	loops := "x"
	for range 12 {
		loops = "{for_each: {let: {i: [1]}, steps: [" + loops + "]}}"
	}
	for _, c := range []struct{ script, says string }{
		{"", "the script is empty"},
		{"steps", `found "steps"; want a mapping with model, dims, vars, steps, verify`},
		{"step: []", `line 1: unknown key "step"; did you mean "steps"?`},
		{"steps:\n  - remove: {node: a}",
			`line 2: unknown key "node"; did you mean "nodes"?; keys here are nodes, input, only`},
		{"steps:\n  - remove: {nodes: a}\n  - removee: {nodes: a}",
			`step 2: line 3: no step is called "removee"; did you mean "remove"?`},
		{"steps:\n  - remove: {nodes: a}\n    only: true", "line 2: found a mapping; a step is one key"},
		{"steps:\n  - [a]", "line 2: found a list"},
		{"steps: {remove: {nodes: a}}", "cannot unmarshal !!map into a list"},
		{"vars: [1]", "cannot unmarshal !!seq into a mapping"},
		{"dims: 3", "cannot unmarshal !!int `3` into a map of whole numbers"},
		{"dims: {n: 1.5}", "line 1: found 1.5; want a whole number"},
		{"verify: {cases: 1.5}", "line 1: found 1.5; want a whole number"},
		{"steps: [{pin_dims: {n: 2.5}}]", "line 1: found 2.5; want a whole number"},
		{"steps: [{insert_slices: {value: b, axis: 1.7, count: 2}}]", "line 1: found 1.7; want a whole number"},
		{"steps: [{insert_slices: {value: b, axis: 1, sizes: [1, 2.5]}}]", "line 1: found 2.5; want a whole number"},
		{"steps: []\nsteps: []", `line 2: key "steps" appears here a second time (first in line 1)`},
		{"steps:\n  - remove: {nodes: a, nodes: b}", `key "nodes" appears here a second time`},
		{"a: &x 1\nsteps: [*x]", "anchors and aliases are not accepted"},
		{"steps:\n  - remove:\n      <<: {nodes: a}", "merge keys (<<) are not accepted"},
		{"steps: " + deep, "nested deeper than 64"},
		{"steps: [" + loops + "]", "loops within loops, more than 8 deep"},
		{"steps: [\x00]", "control characters"},
		{"steps: [}", "did not find expected node content"},
		{"steps: []\n---\nsteps: []", "a second YAML document"},
		{"vars: {a-b: 1}", `variable "a-b": names are letters`},
		{"steps: [{remove_inputs: {names: [x, null]}}]", "an entry of the list is empty"},
		{"steps: [null]", "an entry of the list is empty"},
		{"verify: 3", `verify: found "3"; want a mapping, or off`},
		{"verify: {rtl: 1}", `unknown key "rtl"; did you mean "rtol"?`},
		{"steps: [{for_each: {steps: [simplify: ]}}]", "want let (lists of values) or nodes"},
		{"steps: [{for_each: {let: {i: [1]}}}]", "no steps to repeat"},
		{"steps: [{verify: {restore: [{remov: {}}]}}]", `restore: step 1: line 1: no step is called "remov"`},
		{"steps: [{split: {parts: [{nme: a}]}}]", `unknown key "nme"; did you mean "name"?`},
		{"steps: [{insert_after: {node: a, new: {opp: Relu}}}]", `unknown key "opp"; did you mean "op"?`},
		{strings.Repeat("#", maxScript+1), "a script may have"},
	} {
		_, err := ParseScript("s.yaml", "", []byte(c.script))
		wantErr(t, err, "s.yaml: ", c.says)
	}
}

// What a step says when it fails: file, line, step, node, what was found.
func TestStepErrors(t *testing.T) {
	for _, c := range []struct{ script, says string }{
		{"steps:\n  - simplify:\n  - remove: {nodes: [/a, /b]}", "s.yaml:3: step 2 (remove): no node with name \"/a\""},
		{"steps: [{remove: {nodes: {op: Conv}}}]", `s.yaml:1: step 1 (remove): no node with op "Conv"`},
		{"steps: [{find: {nodes: {op: Relu, count: 2}}}]", `1 nodes with op "Relu"; want 2`},
		{"steps: [{find: {nodes: {regex: \"(\"}}}]", "missing closing )"},
		{"steps: [{find: {nodes: {count: 2}}}]", "no node is described"},
		{"steps: [{find: {}}]", "no nodes are named"},
		{"steps: [{find: {nodes: [[a]]}}]", "a list within a list"},
		{"steps: [{find: {nodes: null}}]", "no nodes are named"},
		{"steps: [{remove: {nodes: {op: Relu}, input: x}}]", "line 1: cannot unmarshal !!str `x` into a whole number"},
		{"steps: [{remove: {nodes: {op: Relu}, input: -1}}]", "input -1"},
		{"vars: {i: 0.5}\nsteps: [{remove: {nodes: {op: Relu}, input: \"${i}\"}}]", "found 0.5; want a whole number"},
		{"steps: [{insert_after: {new: {op: Relu}}}]", "want value or node, one of them"},
		{"steps: [{insert_after: {value: a, new: {}}}]", "a new node has no op"},
		{"steps: [{insert_after: {value: a, new: {op: Relu, inputs: [b]}}}]", `none of its inputs is "$"`},
		{"steps: [{insert_after: {value: a, new: {op: Relu, attributes: {alpha: 1}}}}]", `has no attribute "alpha"`},
		{"steps: [{insert_after: {value: a, new: {op: Relu, outputs: [b]}}}]", `the name "b" is taken`},
		{"steps: [{insert_before: {node: {output: d}, input: q, new: {op: Relu}}}]",
			`has no input "q"; it has "b", "c"`},
		{"steps: [{insert_before: {node: {output: d}, input: 7, new: {op: Relu}}}]", "has no input 7"},
		{"steps: [{insert_before: {node: {output: d}, input: -7, new: {op: Relu}}}]", "place -7"},
		{"steps: [{add_nodes: {nodes: [{op: Relu, inputs: [nix]}]}}]", `no value "nix"`},
		{"steps: [{add_nodes: {nodes: [{op: Relu, inputs: [$]}]}}]", "stands for nothing here"},
		{"steps: [{add_nodes: {nodes: []}}]", "no nodes are given"},
		{"steps: [{replace: {nodes: {output: a}, with: []}}]", "want at least one of each"},
		{"steps: [{connect: {value: a, to: {output: d}, input: 40}}]", "has no input 40"},
		{"steps: [{connect: {value: y, to: {output: a}}}]", "cycle"},
		{"steps: [{change_output: {node: {output: a}, to: b}}]", "remove that first"},
		{"steps: [{change_output: {node: {output: a}, to: q, readers: go}}]", `readers: "go"`},
		{"steps: [{set_attributes: {nodes: {output: a}}}]", "nothing to do"},
		{"steps: [{set_attributes: {nodes: {output: a}, set: {x: 1}}}]", `has no attribute "x" in opset 17`},
		{"steps: [{set_attributes: {nodes: {output: a}, set: {x: null}}}]", "no value"},
		{"steps: [{rename_node: {node: {output: a}, to: \"\"}}]", "empty or taken"},
		{"steps: [{rename: {value: a, to: b}}]", "is taken"},
		{"steps: [{set_io_shape: {name: y, shape: [4, 4]}}]",
			`"y" is declared [4,4], but what makes it gives float[1,4]`},
		{"steps: [{set_io_shape: {name: y, shape: 4}}]", "want a shape"},
		{"steps: [{set_io_shape: {name: y, shape: [-4]}}]", "size -4"},
		{"steps: [{set_io_shape: {name: y}}]", "want shape or conversion"},
		{"steps: [{add_input: {name: q, dtype: flot, shape: []}}]", "element type"},
		{"steps: [{remove_outputs: {}}]", "want names or keep"},
		{"steps: [{convert_initializer: {name: a, transpose: [0]}}]", `"a" is not a constant`},
		{"steps: [{pin_dims: {}}]", "no dimension is named"},
		{"steps: [{pin_dims: {N: -1}}]", "want 0 to"},
		{"steps: [{insert_slices: {value: a, axis: 1}}]", "want sizes, or count"},
		{"steps: [{insert_concat: {axis: 1}}]", "want values or nodes"},
		{"steps: [{rewrite_matmul_as_einsum: {}}]", "want nodes (with equation), or equations"},
		{"steps: [{rewrite_matmul_as_einsum: {equations: {q: 'ab,bc->ac'}}}]", `no node with name "q"`},
		{"steps: [{for_each: {let: {i: [1, 2], k: [1]}, steps: [simplify: ]}}]", "want as many"},
		{"steps: [{for_each: {let: {i: 1}, steps: [simplify: ]}}]", "want a list"},
		{"steps: [{for_each: {let: {i: [1]}, steps: [{find: {nodes: \"${k}\"}}]}}]",
			`step 1[1].1 (find): line 1: no variable "k"; there are "i"`},
		{"vars: {v: [1]}\nsteps: [{find: {nodes: \"a${v}\"}}]", "is a list and cannot be part of a text"},
		{"steps: [{for_each: {nodes: {op: Conv}, steps: [simplify: ]}}]", `no node with op "Conv"`},
	} {
		_, err := run(t, parse(t, chain), c.script, RunOptions{})
		wantErr(t, err, c.says)
		var s *StepError
		testenv.Check(t, err == nil || errors.As(err, &s), "%q is not a StepError", err)
	}
}

func TestLoopsAndVariables(t *testing.T) {
	b := build(t, 17)
	v := b.input("x", 1, 4)
	for i := range 3 {
		v = b.node("Relu", fmt.Sprintf("/block.%d/act", i), in(v), nil)
		v = b.node("Identity", fmt.Sprintf("/block.%d/id", i), in(v), nil)
	}
	m := b.output(v)
	res := testenv.Must(run(t, m, `
vars:
  op: Neg
  which: [0, 2]
steps:
  - for_each:
      nodes: {regex: '^/block\.(?P<b>\d+)/'}   # two nodes a block, one round
      steps:
        - find: {nodes: {regex: '^/block\.${b}/', count: 2}}
  - for_each:
      let: {b: "${which}", name: [first, last]}
      steps:
        - for_each:
            let: {k: [0, 1]}
            steps:
              - insert_after: {node: "/block.${b}/act", new: {op: "${op}", name: "${name}_${k}"}}
        - rename_node: {node: "/block.${b}/id", to: "$${name}"}
        - rename_node: {node: "$${name}", to: "id_${name}"}
verify: {equal: true}
`, RunOptions{}))(t)
	var got []string
	for _, n := range res.Model.graph().Node {
		got = append(got, n.GetName())
	}
	testenv.Equal(t, strings.Join(got, " "), "/block.0/act first_1 first_0 id_first /block.1/act /block.1/id "+
		"/block.2/act last_1 last_0 id_last", "nodes")
	if d := res.Steps; d[0].Path != "1[1].1" || d[2].Path != "1[3].1" || d[4].Path != "2[1].1[2].1" ||
		d[4].Step != "insert_after" || d[4].Line != 16 {
		t.Errorf("%+v", d)
	}
}

func TestRunawayLoops(t *testing.T) {
	list := "[" + strings.Repeat("1,", 399) + "1]"
	script := fmt.Sprintf("vars: {l: %s}\nsteps: [{for_each: {let: {a: \"${l}\"}, steps: [{for_each: {let: {b: "+
		"\"${l}\"}, steps: [clear_shapes: ]}}]}}]", list)
	_, err := run(t, parse(t, chain), script, RunOptions{})
	wantErr(t, err, "more than 100000 steps")
}

// A script that compares by itself after its last edit is not compared again.
func TestWhenTheEndCompares(t *testing.T) {
	for script, want := range map[string]int{
		"steps: []": 0,
		"steps: [{remove: {nodes: {output: b}}}]":                             1,
		"steps: [{remove: {nodes: {output: b}}}, {verify: {equal: true}}]":    1,
		"steps: [{verify: {equal: true}}, {remove: {nodes: {output: b}}}]":    2,
		"steps: [{remove: {nodes: {output: b}}}]\nverify: off":                0,
		"steps: []\nverify: {equal: true}":                                    1,
		"steps: [{remove_outputs: {names: [y]}}, prune: ]":                    1,
		"steps: [{remove: {nodes: {output: b}}}, simplify, infer_shapes: ]":   -1,
		"steps:\n  - remove: {nodes: {output: b}}\n  - simplify\n  - check\n": 1,
	} {
		res, err := run(t, parse(t, chain), script, RunOptions{})
		if want < 0 {
			continue
		}
		must(t, err)
		testenv.Check(t, len(res.Verified) == want, "%q: %d comparisons, want %d", script, len(res.Verified), want)
	}
	// A difference is an error that says which output.
	_, err := run(t, parse(t, chain), "steps: [{insert_after: {value: b, new: {op: Neg}}}]", RunOptions{})
	var d *DifferError
	testenv.Require(t, errors.As(err, &d), "%v", err)
	wantErr(t, err, "s.yaml:1: step end (verify)", `output "z": 9 of 12 values differ`)
	// The original model is not touched.
	m := parse(t, chain)
	before := modelText(m)
	_, err = run(t, m, "steps: [{remove: {nodes: {output: b}}}]", RunOptions{})
	must(t, err)
	testenv.Check(t, modelText(m) == before, "the model that was given has changed")
}

// The same script on the same model gives the same bytes.
func TestScriptIsDeterministic(t *testing.T) {
	script := "steps: [{insert_after: {value: b, new: {op: Identity}}}, {insert_slices: {value: c, axis: 1, count: " +
		"2}}, {add_output: {name: c_slice_1}}]"
	var first []byte
	for range 3 {
		res := testenv.Must(run(t, parse(t, chain), script, RunOptions{}))(t)
		b := testenv.Must(res.Model.Bytes())(t)
		testenv.Require(t, first == nil || string(b) == string(first), "other bytes")
		first = b
	}
}

// FuzzScript: any text is a result or an error, never a panic.
func FuzzScript(f *testing.F) {
	for _, s := range StepTable() {
		f.Add("steps:\n  - " + s.Example)
	}
	f.Add("vars: {a: [1]}\nsteps: [{for_each: {let: {i: \"${a}\"}, steps: [{remove: {nodes: {output: " +
		"b}}}]}}]\nverify: {rtol: 1e-6, restore: []}")
	f.Add("steps: [{add_initializer: {name: w, value: [[1, 2], [3, 4]], dtype: int4}}]")
	f.Fuzz(func(t *testing.T, script string) {
		if strings.Contains(script, "npy") || strings.Contains(script, "random") || strings.Contains(script, "cases") ||
			strings.Contains(script, "load") {
			return // files, and what takes long by request
		}
		sc, err := ParseScript("s", t.TempDir(), []byte(script))
		if err != nil {
			return
		}
		_, _ = sc.Run(parse(t, chain), RunOptions{Count: 1})
	})
}

func TestExpand(t *testing.T) {
	vars := map[string]*yaml.Node{"n": {Kind: yaml.ScalarNode, Tag: "!!int", Value: "3"}}
	for in, want := range map[string]string{"a${n}b": "a3b", "$${n}": "${n}", "${n}": "3", "$n": "$n", "${n}${n}": "33",
		"$${n}${n}": "${n}3"} {
		got := expand(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: in}, vars)
		testenv.Check(t, got.Value == want && (in == "${n}") == (got.Tag == "!!int"), "%s: %s %s, want %s", in,
			got.Tag, got.Value, want)
	}
}
