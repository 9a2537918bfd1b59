// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
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
	Model  string               `yaml:"model"`
	Dims   map[string]int       `yaml:"dims"`
	Vars   map[string]yaml.Node `yaml:"vars"`
	Steps  []yaml.Node          `yaml:"steps"`
	Verify yaml.Node            `yaml:"verify"`
}

// LoadScript reads a script from a file.
func LoadScript(path string) (*Script, error) {
	b, err := readScript(path)
	if err != nil {
		return nil, err
	}
	return ParseScript(filepath.Base(path), filepath.Dir(path), b)
}

// ParseScript reads a script; name is for messages, dir the folder of relative
// paths.
func ParseScript(name, dir string, text []byte) (*Script, error) {
	fail := func(err error) (*Script, error) { return nil, fmt.Errorf("%s: %w", name, err) }
	if len(text) > maxScript {
		return fail(fmt.Errorf("%d bytes; a script may have %d", len(text), maxScript))
	}
	root, err := files.YAML(text, "write the value out, or use vars")
	switch {
	case err != nil:
		return fail(err)
	case root == nil:
		return fail(errors.New("the script is empty; want steps: and a list"))
	}
	if err := singleKeys(root); err != nil {
		return fail(err)
	}
	var a scriptArgs
	if err := strict(root, &a); err != nil {
		return fail(err)
	}
	s := &Script{Name: name, Dir: dir, Model: a.Model, dims: a.Dims, vars: map[string]*yaml.Node{}}
	for _, k := range sortedKeys(a.Vars) {
		v := a.Vars[k]
		if !varName.MatchString(k) {
			return fail(lineErr(&v, "variable %s: names are letters, digits and _", quote(k)))
		}
		s.vars[k] = &v
	}
	for i := range a.Steps {
		s.steps = append(s.steps, &a.Steps[i])
	}
	if err := checkSteps(s.steps, 0); err != nil {
		return fail(err)
	}
	if v := &a.Verify; !v.IsZero() {
		if v.Kind == yaml.ScalarNode && (v.Value == "off" || v.Value == "false") {
			s.off = true
		} else if v.Kind == yaml.MappingNode {
			s.verify = v
			if err := stepTable()["verify"].check(v, 0); err != nil {
				return fail(err)
			}
		} else {
			return fail(lineErr(v, "verify: found %s; want a mapping, or off", kindText(v)))
		}
	}
	return s, nil
}

// singleKeys refuses keys that appear in a mapping twice.
func singleKeys(n *yaml.Node) error {
	lines := map[string]int{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if at, ok := lines[c.Value]; ok {
				return lineErr(c, "key %s appears here a second time (first in line %d)", quote(c.Value), at)
			}
			lines[c.Value] = c.Line
		}
		if err := singleKeys(c); err != nil {
			return err
		}
	}
	return nil
}

// stepOf splits a step into its name and its arguments.
func stepOf(n *yaml.Node) (key, args *yaml.Node, err error) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}, nil
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return nil, nil, lineErr(n, "found %s; a step is one key, its name, with a mapping behind it (nncc surgery "+
			"--steps "+
			"lists them)", kindText(n))
	}
	return n.Content[0], n.Content[1], nil
}

// checkSteps checks names and keys of steps, in loops, too.
func checkSteps(steps []*yaml.Node, depth int) error {
	for i, n := range steps {
		key, args, err := stepOf(n)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		def := stepTable()[key.Value]
		if def == nil {
			return fmt.Errorf("step %d: %w", i+1, lineErr(key, "no step is called %s%s (nncc surgery --steps lists "+
				"them)",
				quote(key.Value), near(key.Value, StepNames())))
		}
		if err := def.check(args, depth); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, key.Value, err)
		}
	}
	return nil
}

var (
	varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	varUse  = regexp.MustCompile(`\$?\$\{([^}]*)\}`)
)

// expand is a copy of a node with ${name} replaced. Where a text is nothing but
// one variable, the variable's value replaces it, lists included.
// $${name} stands for ${name} as text.
func expand(n *yaml.Node, vars map[string]*yaml.Node) (_ *yaml.Node, err error) {
	defer fail.Catch(&err)
	c := *n
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		if m := varUse.FindStringSubmatch(n.Value); m != nil && m[0] == n.Value && !strings.HasPrefix(m[0], "$$") {
			v := fail.Must(lookup(n, m[1], vars))
			return relined(v, n.Line), nil
		}
		var bad error
		c.Value = varUse.ReplaceAllStringFunc(n.Value, func(s string) string {
			if strings.HasPrefix(s, "$$") {
				return s[1:]
			}
			v, err := lookup(n, s[2:len(s)-1], vars)
			if err == nil && v.Kind != yaml.ScalarNode {
				err = lineErr(n, "variable %s is %s and cannot be part of a text", s, kindText(v))
			}
			if err != nil {
				bad = err
				return s
			}
			return v.Value
		})
		if bad != nil {
			return nil, bad
		}
		c.Tag = "!!str"
		return &c, nil
	}
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, k := range n.Content {
		e := fail.Must(expand(k, vars))
		c.Content[i] = e
	}
	return &c, nil
}

// expandArgs is expand for the arguments of a step; steps within them see the
// variables when they run.
func expandArgs(n *yaml.Node, vars map[string]*yaml.Node) (*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return expand(n, vars)
	}
	c := *n
	c.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i].Value
		if k == "steps" || k == "restore" {
			continue
		}
		var err error
		if c.Content[i+1], err = expand(n.Content[i+1], vars); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

func lookup(n *yaml.Node, name string, vars map[string]*yaml.Node) (*yaml.Node, error) {
	if v := vars[name]; v != nil {
		return v, nil
	}
	return nil, lineErr(n, "no variable %s; there are %s", quote(name), quoted(sortedKeys(vars)))
}

// relined is a copy whose errors point to where a variable is used.
func relined(n *yaml.Node, line int) *yaml.Node {
	c := *n
	c.Line = line
	c.Content = nil
	for _, k := range n.Content {
		c.Content = append(c.Content, relined(k, line))
	}
	return &c
}

// forEach repeats steps.
type forEach struct {
	// Let gives variables lists of values, which go in step.
	Let map[string]yaml.Node `yaml:"let"`
	// Nodes repeats for every node that is found; `node` is its name, and named
	// groups of a regex are variables, too. Equal values count once.
	Nodes *nodeSel    `yaml:"nodes"`
	Steps []yaml.Node `yaml:"steps"`
}

const (
	maxLoops     = 8       // within each other
	maxExecuted  = 100_000 // steps of a run
	maxIteration = 100_000
)

// checkLoop checks a for_each before anything runs.
func checkLoop(args *yaml.Node, depth int) error {
	if depth >= maxLoops {
		return lineErr(args, "loops within loops, more than %d deep", maxLoops)
	}
	var raw struct {
		Let   yaml.Node   `yaml:"let"`
		Nodes yaml.Node   `yaml:"nodes"`
		Steps []yaml.Node `yaml:"steps"`
	}
	if err := strict(args, &raw); err != nil {
		return err
	}
	if raw.Let.IsZero() == raw.Nodes.IsZero() {
		return lineErr(args, "want let (lists of values) or nodes (a search), one of them")
	}
	var steps []*yaml.Node
	for i := range raw.Steps {
		steps = append(steps, &raw.Steps[i])
	}
	if len(steps) == 0 {
		return lineErr(args, "no steps to repeat")
	}
	return checkSteps(steps, depth+1)
}

// iterations are the variables of every round.
func (s *session) iterations(args *yaml.Node, vars map[string]*yaml.Node) (_ []map[string]*yaml.Node,
	_ []*yaml.Node, err error) {
	defer fail.Catch(&err)
	head := fail.Must(expandArgs(args, vars))
	var a forEach
	fail.Check(strict(head, &a))
	var rounds []map[string]*yaml.Node
	if a.Nodes != nil {
		rounds, err = s.nodeRounds(a.Nodes)
	} else {
		rounds, err = letRounds(a.Let)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(rounds) > maxIteration {
		return nil, nil, lineErr(args, "%d rounds; want at most %d", len(rounds), maxIteration)
	}
	for _, r := range rounds {
		for k, v := range vars {
			if r[k] == nil {
				r[k] = v
			}
		}
	}
	var steps []*yaml.Node
	for i := range a.Steps {
		steps = append(steps, &a.Steps[i])
	}
	return rounds, steps, nil
}

func letRounds(let map[string]yaml.Node) ([]map[string]*yaml.Node, error) {
	n := -1
	for _, k := range sortedKeys(let) {
		v := let[k]
		if !varName.MatchString(k) {
			return nil, lineErr(&v, "variable %s: names are letters, digits and _", quote(k))
		}
		if v.Kind != yaml.SequenceNode {
			return nil, lineErr(&v, "variable %s is %s; want a list, one value a round", quote(k), kindText(&v))
		}
		if n >= 0 && len(v.Content) != n {
			return nil, lineErr(&v, "variable %s has %d values, another has %d; want as many", quote(k), len(v.Content),
				n)
		}
		n = len(v.Content)
	}
	rounds := make([]map[string]*yaml.Node, max(n, 0))
	for i := range rounds {
		rounds[i] = map[string]*yaml.Node{}
		for k, v := range let {
			rounds[i][k] = v.Content[i]
		}
	}
	return rounds, nil
}

// nodeRounds has a round for every different set of captured names.
func (s *session) nodeRounds(ns *nodeSel) ([]map[string]*yaml.Node, error) {
	found, err := ns.find(s.cur().m)
	if err != nil {
		return nil, err
	}
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
	return rounds, nil
}
