// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/board"
)

func boardsFlags(c *cli, fs *pflag.FlagSet) {
	tableFlags(c, fs)
	fs.StringVar(&c.chip, "for", "", "boards for a `CHIP`: a part number or a development board, such as STM32F411CEU6")
}

// boards lists the boards, shows one, or finds those for a chip.
func (c *cli) boards(args []string) error {
	switch {
	case len(args) > 1:
		return noArgs(args[1:])
	case c.chip != "" && len(args) > 0:
		return &driver.UsageError{Msg: "boards: either NAME or --for CHIP (names with blanks go into quotes)"}
	case c.chip != "":
		return c.findBoard(c.chip)
	case len(args) == 1:
		return c.oneBoard(args[0])
	}
	var all []*boards.Spec
	rows := [][]string{{"board", "core", "flash", "RAM", "MHz", "machine", "about"}}
	for _, n := range boards.List() {
		s, err := boards.Load(n)
		if err != nil {
			return err
		}
		all = append(all, s)
		rows = append(rows, boardRow(s))
	}
	if c.cfg.JSON {
		return c.json(all)
	}
	fmt.Fprint(c.out, text.Table(rows))
	fmt.Fprint(c.out, "* another machine stands in; nncc boards NAME says which, and where every value is from.\n"+
		"nncc boards --for CHIP finds the board for a chip, a part number or a development board.\n")
	return nil
}

// boardRow is a row of the table: memories of a chip, none of a core alone.
func boardRow(s *boards.Spec) []string {
	machine := s.Runner.Machine
	if s.Runner.StandsIn != "" {
		machine += " *"
	}
	flash, ram, clock := "-", "-", "-"
	if s.IsChip() {
		flash, ram = size(s.Memory.Only("code", "rodata", "weights")), size(s.Memory.Capacity("data", "arena", "stack"))
	}
	if s.ClockHz > 0 {
		clock = strconv.Itoa(s.ClockHz / 1e6)
	}
	return []string{s.Name, s.Core, flash, ram, clock, machine, subject(s.Doc)}
}

// subject is what a description begins with, up to what the columns say.
func subject(doc string) string {
	open := 0
	for i, r := range doc {
		switch r {
		case '(':
			open++
		case ')':
			open--
		case ',', ';':
			if open == 0 {
				return doc[:i]
			}
		}
	}
	return strings.TrimSuffix(doc, ".")
}

// size is a number of bytes in K or M, as board files have it.
func size(n uint64) string {
	switch {
	case n == 0:
		return "0"
	case n%(1<<20) == 0:
		return strconv.FormatUint(n>>20, 10) + "M"
	}
	return strconv.FormatUint(n>>10, 10) + "K"
}

// oneBoard shows every value of a board with its file and line.
func (c *cli) oneBoard(name string) error {
	s, err := boards.Load(name)
	if err != nil {
		return &driver.InputError{Err: err}
	}
	if _, err := board.Accelerator(s); err != nil {
		return &driver.InputError{Err: err}
	}
	if c.cfg.JSON {
		return c.json(s)
	}
	rows := [][]string{{"key", "from", "value"}} // values may be long
	for _, o := range s.Why() {
		rows = append(rows, []string{o.Key, fmt.Sprintf("%s:%d", o.File, o.Line), o.Value})
	}
	return c.table(nil, rows)
}

// findBoard shows the boards for a chip; none is an error that says what there is.
func (c *cli) findBoard(chip string) (err error) {
	defer fail.Catch(&err)
	f := boards.Find(chip)
	if c.cfg.JSON {
		fail.Check(c.json(f))
	}
	if len(f.Matches) == 0 {
		what := "no board is known for it"
		if f.Not != "" {
			what = f.Not
		}
		return &driver.InputError{Err: text.Errorf("%s: %s. nncc compiles for Arm's Cortex-M: %s. A chip with one of "+
			"these cores is a board file of a few lines (nncc help bring-up)", text.Short(chip, 80), what, coreList())}
	}
	if c.cfg.JSON {
		return nil
	}
	rows := [][]string{{"board", "core", "flash", "RAM", "MHz", "found by"}}
	for _, m := range f.Matches {
		s := fail.Must(boards.Load(m.Board))
		rows = append(rows, append(boardRow(s)[:5], m.Why))
	}
	return c.table(nil, rows)
}

// coreList names the cores that have a board of their own.
func coreList() string {
	var all []string
	for _, n := range boards.List() {
		if s, err := boards.Load(n); err == nil && s.Name == s.Core && !s.IsHost() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
