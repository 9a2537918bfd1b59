// SPDX-License-Identifier: Apache-2.0

// Command lint runs revive with the rules of .revive.toml and holds its findings
// against a baseline: how many of each rule a folder had when the rule came. More
// is a failure; with -update, less is written down, so that the baseline only
// gets shorter. Before that it looks for sources without the line that says under
// which terms they are (with -terms it writes them), for names that READMEs have
// and sources have not, and holds what the tree weighs against ceilings.csv.
//
//	go run ./cmd/internal/lint [-update] [-terms]
package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// revive is the linter (MIT licence). It is no dependency of nncc: go run fetches it.
const revive = "github.com/mgechev/revive@v1.15.0"

const baselineFile = "cmd/internal/lint/baseline.csv"

// finding is what revive says of a place.
type finding struct {
	Failure, RuleName string
	Position          struct {
		Start struct {
			Filename     string
			Line, Column int
		}
	}
}

// key is what is counted.
type key struct{ rule, folder string }

func (f *finding) key() key {
	return key{f.RuleName, filepath.ToSlash(filepath.Dir(f.Position.Start.Filename))}
}

func main() {
	update := flag.Bool("update", false, "write a shorter baseline")
	write := flag.Bool("terms", false, "write the SPDX lines that are missing, and nothing else")
	flag.Parse()
	if err := checkTerms(".", *write, os.Stdout); err != nil || *write {
		exit(err)
	}
	if err := checkNames(".", os.Stdout); err != nil {
		exit(err)
	}
	if err := checkWeight(".", *update, os.Stdout); err != nil {
		exit(err)
	}
	exit(run(*update, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(update bool, out io.Writer) error {
	found, err := findings()
	if err != nil {
		return err
	}
	b, err := os.ReadFile(baselineFile)
	if err != nil && !(update && os.IsNotExist(err)) {
		return err
	}
	base, err := readBaseline(b)
	if err != nil {
		return fmt.Errorf("%s: %w", baselineFile, err)
	}
	by := map[key][]finding{}
	for _, f := range found {
		by[f.key()] = append(by[f.key()], f)
	}
	if more := above(by, base, len(b) == 0); len(more) > 0 {
		for _, k := range more {
			fmt.Fprintf(out, "%s: %d findings of %s, the baseline has %d:\n", k.folder, len(by[k]), k.rule, base[k])
			for _, f := range by[k] {
				p := f.Position.Start
				fmt.Fprintf(out, "  %s:%d:%d: %s\n", p.Filename, p.Line, p.Column, f.Failure)
			}
		}
		return fmt.Errorf("%d folders have more findings of a rule than before", len(more))
	}
	if update {
		counts := map[key]int{}
		for k, list := range by {
			counts[k] = len(list)
		}
		return os.WriteFile(baselineFile, writeBaseline(counts), 0o666)
	}
	return nil
}

// above are the keys with more findings than the baseline has, sorted; none
// where there is no baseline yet.
func above(by map[key][]finding, base map[key]int, fresh bool) []key {
	var out []key
	for k, list := range by {
		if !fresh && len(list) > base[k] {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, byName)
	return out
}

func byName(a, b key) int {
	return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.folder, b.folder))
}

func findings() ([]finding, error) {
	var out, msg bytes.Buffer
	c := exec.Command(cmp.Or(os.Getenv("GO"), "go"), "run", revive, "-config", ".revive.toml", "-formatter", "json",
		"-exclude", "./frontend/onnx/pb/...", "./...")
	c.Stdout, c.Stderr = &out, &msg
	runErr := c.Run() // status 1 where there are findings
	var list []finding
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		last := bytes.Split(bytes.TrimSpace(msg.Bytes()), []byte("\n"))
		return nil, fmt.Errorf("%s did not run, which go run fetches (%v): %s", revive, cmp.Or(runErr, err),
			last[len(last)-1])
	}
	return list, nil
}

func readBaseline(b []byte) (map[key]int, error) {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	out := map[key]int{}
	for i, r := range rows {
		if len(r) != 3 {
			return nil, fmt.Errorf("line %d: want rule, folder, count", i+1)
		}
		n, err := strconv.Atoi(r[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		out[key{r[0], r[1]}] = n
	}
	return out, err
}

func writeBaseline(counts map[key]int) []byte {
	var b bytes.Buffer
	for _, k := range slices.SortedFunc(maps.Keys(counts), byName) {
		fmt.Fprintf(&b, "%s,%s,%d\n", k.rule, k.folder, counts[k])
	}
	return b.Bytes()
}
