package driver

import (
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/kinds"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// Accelerator is that of a board with the limits of its file; nil where the board
// has none. A kind or a parameter that does not exist is bad input.
func Accelerator(spec *boards.Spec) (accel.Accelerator, error) {
	if len(spec.Accelerators) == 0 {
		return nil, nil
	}
	x := spec.Accelerators[0]
	kind := kinds.Find(x.Kind)
	if kind == nil {
		return nil, badInput("board %s: accelerator %s is of kind %q, which nncc does not know; known: %s",
			spec.Name, x.Name, x.Kind, strings.Join(kinds.Names(), ", "))
	}
	a, err := kind.Configure(x.Params)
	if err != nil {
		return nil, badInput("board %s: accelerator %s: %w", spec.Name, x.Name, err)
	}
	return a, nil
}

// runtime is the C library that programs are linked from, with the driver of an
// accelerator that brings its own.
func (c *Config) runtime(a accel.Accelerator) (*runtimec.Library, error) {
	lib := c.kernelSource
	if a == nil || a.Sources() == nil {
		return lib, nil
	}
	if lib == nil {
		lib = runtimec.Shipped()
	}
	return lib.With(a.Sources())
}

// ReadProgram reads and checks a program file of an accelerator. A damaged one
// is bad input. What it gives prints itself, and marshals to JSON.
func ReadProgram(f *accel.Format, path string) (interface{ String() string }, error) {
	data, err := files.Read(path, f.MaxBytes)
	if err != nil {
		return nil, &InputError{err}
	}
	p, err := f.Decode(data)
	if err != nil {
		return nil, badInput("%s: %w", path, err)
	}
	return p, nil
}
