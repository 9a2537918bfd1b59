package main

import (
	"debug/elf"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/cost"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// codeSizes compiles every source of the runtime for every board with the flags
// for speed and for size, and writes what sections with code and constants it has.
func (o *options) codeSizes() error {
	dir, err := os.MkdirTemp("", "nncccost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var sources, include []string
	for _, f := range runtimec.All() {
		p := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(p, f.Data, 0o666); err != nil {
			return err
		}
		if !slices.Contains(include, filepath.Dir(p)) {
			include = append(include, filepath.Dir(p))
		}
		if filepath.Ext(p) == ".c" && !runtimec.Shipped().Accelerator(f.Path) {
			sources = append(sources, f.Path)
		}
	}
	known, err := o.known()
	if err != nil {
		return err
	}
	wanted := o.sources()
	head, columns := []string{"file"}, []map[string]int{}
	for _, name := range list(o.boards) {
		spec, err := boards.Load(name)
		if err != nil {
			return err
		}
		isa := board.ISA(spec)
		for _, way := range []struct {
			suffix string
			flags  []string
		}{{"", spec.Toolchain.Speed}, {"-size", spec.Toolchain.Size}} {
			column := map[string]int{}
			for _, f := range sources {
				if !cost.Runs(f, isa) {
					continue
				}
				if n, ok := known[isa+way.suffix][f]; ok && !wanted(f) {
					column[f] = n
					continue
				}
				if column[f], err = codeSize(spec, dir, f, include, way.flags); err != nil {
					return err
				}
			}
			head, columns = append(head, isa+way.suffix), append(columns, column)
			fmt.Fprintf(os.Stderr, "%s: code of %d sources\n", isa+way.suffix, len(column))
		}
	}
	return write(o.file("code.csv"), func(w *os.File) error {
		c := csv.NewWriter(w)
		if err := c.Write(head); err != nil {
			return err
		}
		for _, f := range sources {
			row := []string{f}
			for _, column := range columns {
				cell := ""
				if n, ok := column[f]; ok {
					cell = strconv.Itoa(n)
				}
				row = append(row, cell)
			}
			if err := c.Write(row); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	})
}

// known are the sizes of an earlier measurement, by column and source.
func (o *options) known() (map[string]map[string]int, error) {
	f, err := os.Open(o.file("code.csv"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]int{}
	for col, name := range rows[0] {
		out[name] = map[string]int{}
		for _, row := range rows[1:] {
			if n, err := strconv.Atoi(row[col]); err == nil {
				out[name][row[0]] = n
			}
		}
	}
	return out, nil
}

// sources tells those whose size is measured whether it is known or not: all,
// those of -variant, or with -code none.
func (o *options) sources() func(path string) bool {
	if o.code {
		return func(string) bool { return false }
	}
	if o.variants == "" {
		return func(string) bool { return true }
	}
	files, err := runtimec.Files(list(o.variants)...)
	return func(path string) bool {
		return err != nil || slices.ContainsFunc(files, func(f runtimec.File) bool { return f.Path == path })
	}
}

// codeSize is what a source adds to flash when all of it is called.
func codeSize(spec *boards.Spec, dir, file string, include, flags []string) (int, error) {
	object := filepath.Join(dir, "object.o")
	args := slices.Concat(spec.Toolchain.CPU, spec.Toolchain.CFlags, flags)
	for _, i := range include {
		args = append(args, "-I"+i)
	}
	cmd := exec.Command(spec.Toolchain.Prefix+spec.Toolchain.CC, append(args, "-c", file, "-o", object)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s for %s: %w\n%s", file, spec.Name, err, out)
	}
	e, err := elf.Open(object)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	n := uint64(0)
	for _, s := range e.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_WRITE == 0 && s.Type == elf.SHT_PROGBITS &&
			!strings.HasPrefix(s.Name, ".ARM") {
			n += s.Size
		}
	}
	return int(n), nil
}
