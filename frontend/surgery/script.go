// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Script is a list of edits read from YAML. Its keys and steps were checked;
// values are checked when a step runs, because loops fill them in.
type Script struct {
	Name string // for messages
	// Dir is the folder that paths in the script are relative to.
	Dir string
	// Model is the file that the script names; may be "".
	Model string

	dims  map[string]int
	vars  map[string]*yaml.Node
	steps []*yaml.Node
	// verify is how the result is compared at the end: nil is the default way.
	verify *yaml.Node
	off    bool // no comparison at the end
}

type scriptArgs struct {
	Model  string
	Dims   map[string]int
	Vars   map[string]yaml.Node
	Steps  []yaml.Node
	Verify yaml.Node
}

// LoadScript reads a script from a file.
func LoadScript(path string) (*Script, error) {
	b := readScript(path)
	return ParseScript(filepath.Base(path), filepath.Dir(path), b)
}

// ParseScript reads a script; name is for messages, dir the folder of relative
// paths.
func ParseScript(name, dir string, text []byte) (s *Script, err error) {
	defer fail.Catch(&err)
	fail.Under(name, func() { s = parseScript(name, dir, text) })
	return s, nil
}

func parseScript(name, dir string, text []byte) *Script {
	fail.If(len(text) > maxScript, "%d bytes; a script may have %d", len(text), maxScript)
	root := fail.Must(files.YAML(text, "write the value out, or use vars"))
	fail.If(root == nil, "the script is empty; want steps: and a list")
	singleKeys(root)
	var a scriptArgs
	strict(root, &a)
	s := &Script{Name: name, Dir: dir, Model: a.Model, dims: a.Dims, vars: map[string]*yaml.Node{}}
	for _, k := range sortedKeys(a.Vars) {
		v := a.Vars[k]
		refuseAt(!varName.MatchString(k), &v, "variable %s: names are letters, digits and _", quote(k))
		s.vars[k] = &v
	}
	s.steps = pointers(a.Steps)
	checkSteps(s.steps, 0)
	switch v := &a.Verify; {
	case v.IsZero():
	case v.Kind == yaml.ScalarNode && (v.Value == "off" || v.Value == "false"):
		s.off = true
	case v.Kind == yaml.MappingNode:
		s.verify = v
		stepTable()["verify"].check(v, 0)
	default:
		fail.Check(lineErr(v, "verify: found %s; want a mapping, or off", kindText(v)))
	}
	return s
}

// pointers are those to the elements of a list.
func pointers(list []yaml.Node) []*yaml.Node {
	return lists.Make(len(list), func(i int) *yaml.Node { return &list[i] })
}

// singleKeys refuses keys that appear in a mapping twice.
func singleKeys(n *yaml.Node) {
	lines := map[string]int{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			at, ok := lines[c.Value]
			refuseAt(ok, c, "key %s appears here a second time (first in line %d)", quote(c.Value), at)
			lines[c.Value] = c.Line
		}
		singleKeys(c)
	}
}

// stepOf splits a step into its name and its arguments.
func stepOf(n *yaml.Node) (key, args *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}
	}
	refuseAt(n.Kind != yaml.MappingNode || len(n.Content) != 2, n,
		"found %s; a step is one key, its name, with a mapping behind it (nncc surgery --steps lists them)",
		kindText(n))
	return n.Content[0], n.Content[1]
}

// checkSteps checks names and keys of steps, in loops, too.
func checkSteps(steps []*yaml.Node, depth int) {
	for i, n := range steps {
		var key, args *yaml.Node
		var def *stepDef
		fail.Under(fmt.Sprintf("step %d", i+1), func() {
			key, args = stepOf(n)
			if def = stepTable()[key.Value]; def == nil {
				fail.Check(lineErr(key, "no step is called %s%s (nncc surgery --steps lists them)", quote(key.Value),
					near(key.Value, StepNames())))
			}
		})
		fail.Under(fmt.Sprintf("step %d (%s)", i+1, key.Value), func() { def.check(args, depth) })
	}
}

var (
	varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	varUse  = regexp.MustCompile(`\$?\$\{([^}]*)\}`)
)

// expand is a copy of a node with ${name} replaced. Where a text is nothing but
// one variable, the variable's value replaces it, lists included.
// $${name} stands for ${name} as text.
func expand(n *yaml.Node, vars map[string]*yaml.Node) *yaml.Node {
	c := *n
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		if m := varUse.FindStringSubmatch(n.Value); m != nil && m[0] == n.Value && !strings.HasPrefix(m[0], "$$") {
			v := lookup(n, m[1], vars)
			return relined(v, n.Line)
		}
		c.Value = varUse.ReplaceAllStringFunc(n.Value, func(s string) string {
			if strings.HasPrefix(s, "$$") {
				return s[1:]
			}
			v := lookup(n, s[2:len(s)-1], vars)
			refuseAt(v.Kind != yaml.ScalarNode, n, "variable %s is %s and cannot be part of a text", s, kindText(v))
			return v.Value
		})
		c.Tag = "!!str"
		return &c
	}
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, k := range n.Content {
		e := expand(k, vars)
		c.Content[i] = e
	}
	return &c
}

// expandArgs is expand for the arguments of a step; steps within them see the
// variables when they run.
func expandArgs(n *yaml.Node, vars map[string]*yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return expand(n, vars)
	}
	c := *n
	c.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i].Value; k != "steps" && k != "restore" {
			c.Content[i+1] = expand(n.Content[i+1], vars)
		}
	}
	return &c
}

func lookup(n *yaml.Node, name string, vars map[string]*yaml.Node) *yaml.Node {
	if v := vars[name]; v != nil {
		return v
	}
	fail.Check(lineErr(n, "no variable %s; there are %s", quote(name), quoted(sortedKeys(vars))))
	return nil
}

// relined is a copy whose errors point to where a variable is used.
func relined(n *yaml.Node, line int) *yaml.Node {
	c := *n
	c.Line = line
	c.Content = lists.Map(n.Content, func(k *yaml.Node) *yaml.Node { return relined(k, line) })
	return &c
}

// forEach repeats steps.
type forEach struct {
	// Let gives variables lists of values, which go in step.
	Let map[string]yaml.Node
	// Nodes repeats for every node that is found; `node` is its name, and named
	// groups of a regex are variables, too. Equal values count once.
	Nodes *nodeSel
	Steps []yaml.Node
}

const (
	maxLoops     = 8       // within each other
	maxExecuted  = 100_000 // steps of a run
	maxIteration = 100_000
)

// checkLoop checks a for_each before anything runs.
func checkLoop(args *yaml.Node, depth int) {
	refuseAt(depth >= maxLoops, args, "loops within loops, more than %d deep", maxLoops)
	var raw struct {
		Let   yaml.Node
		Nodes yaml.Node
		Steps []yaml.Node
	}
	strict(args, &raw)
	refuseAt(raw.Let.IsZero() == raw.Nodes.IsZero(), args,
		"want let (lists of values) or nodes (a search), one of them")
	refuseAt(len(raw.Steps) == 0, args, "no steps to repeat")
	checkSteps(pointers(raw.Steps), depth+1)
}

// iterations are the variables of every round.
func (s *session) iterations(args *yaml.Node, vars map[string]*yaml.Node) ([]map[string]*yaml.Node, []*yaml.Node) {
	head := expandArgs(args, vars)
	var a forEach
	strict(head, &a)
	var rounds []map[string]*yaml.Node
	if a.Nodes != nil {
		rounds = s.nodeRounds(a.Nodes)
	} else {
		rounds = letRounds(a.Let)
	}
	refuseAt(len(rounds) > maxIteration, args, "%d rounds; want at most %d", len(rounds), maxIteration)
	for _, r := range rounds {
		for k, v := range vars {
			if r[k] == nil {
				r[k] = v
			}
		}
	}
	return rounds, pointers(a.Steps)
}

func letRounds(let map[string]yaml.Node) []map[string]*yaml.Node {
	n := -1
	for _, k := range sortedKeys(let) {
		v := let[k]
		refuseAt(!varName.MatchString(k), &v, "variable %s: names are letters, digits and _", quote(k))
		refuseAt(v.Kind != yaml.SequenceNode, &v, "variable %s is %s; want a list, one value a round", quote(k),
			kindText(&v))
		refuseAt(n >= 0 && len(v.Content) != n, &v, "variable %s has %d values, another has %d; want as many", quote(k),
			len(v.Content), n)
		n = len(v.Content)
	}
	rounds := make([]map[string]*yaml.Node, max(n, 0))
	for i := range rounds {
		rounds[i] = map[string]*yaml.Node{}
		for k, v := range let {
			rounds[i][k] = v.Content[i]
		}
	}
	return rounds
}

// nodeRounds has a round for every different set of captured names.
func (s *session) nodeRounds(ns *nodeSel) []map[string]*yaml.Node {
	found := ns.find(s.cur().m)
	scalar := func(v string) *yaml.Node {
		tag := "!!str"
		if _, err := strconv.Atoi(v); err == nil {
			tag = "!!int"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v}
	}
	var rounds []map[string]*yaml.Node
	var seen []string
	for _, n := range found {
		r := map[string]*yaml.Node{}
		key := ""
		for _, q := range ns.queries {
			if q.query.Regex == nil || !q.query.matches(n) {
				continue
			}
			m := q.query.Regex.FindStringSubmatch(n.GetName())
			for i, g := range q.query.Regex.SubexpNames() {
				if g != "" {
					r[g] = scalar(m[i])
					key += m[i] + "\x00"
				}
			}
		}
		if key == "" {
			key = n.GetName()
		}
		if !slices.Contains(seen, key) {
			seen = append(seen, key)
			r["node"] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: n.GetName()}
			rounds = append(rounds, r)
		}
	}
	return rounds
}
