// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Built is a case compiled for a board: part of a firmware image.
type Built struct {
	Case     *Case
	Prefix   string
	Compiled *driver.Compiled
}

// Limits of one image: many cases share one build and one start of the
// machine, as long as its memories hold them.
const (
	maxCases   = 100
	maxIO      = 640 << 10 // bytes of all inputs and outputs together
	maxWeights = 384 << 10
)

func (b *Built) ioBytes() int {
	n := 4
	for _, x := range b.Compiled.Info.Inputs {
		n += x.Bytes
	}
	for _, x := range b.Compiled.Info.Outputs {
		n += x.Bytes
	}
	return n
}

// Batches puts cases together for images.
func Batches(all []*Built) [][]*Built {
	var out [][]*Built
	var now []*Built
	io, weights := 0, 0
	for _, b := range all {
		k, w := b.ioBytes(), b.Compiled.Info.WeightBytes
		if len(now) > 0 && (len(now) == maxCases || io+k > maxIO || weights+w > maxWeights) {
			out, now, io, weights = append(out, now), nil, 0, 0
		}
		now, io, weights = append(now, b), io+k, weights+w
	}
	if len(now) > 0 {
		out = append(out, now)
	}
	return out
}

// RunBatch builds and runs cases as one image and reports every one: nil for
// the stored outputs. A batch that cannot be built or run is halved until the
// cases at fault stand alone.
func RunBatch(ctx context.Context, spec *boards.Spec, batch []*Built, report func(b *Built, err error)) error {
	outputs, err := runImage(ctx, spec, batch)
	if err == nil {
		for i, b := range batch {
			report(b, outputs[i].judge(b))
		}
		return nil
	}
	var tool *run.ToolError
	if ctx.Err() != nil || errors.As(err, &tool) && tool.Install != "" {
		return err
	}
	if len(batch) == 1 {
		report(batch[0], err)
		return nil
	}
	half := len(batch) / 2
	if err := RunBatch(ctx, spec, batch[:half], report); err != nil {
		return err
	}
	return RunBatch(ctx, spec, batch[half:], report)
}

// result is what the image reports of one case.
type result struct {
	status  int32
	outputs [][]byte
}

func (r *result) judge(b *Built) error {
	if r.status != 0 {
		return fmt.Errorf("the run function returned %d", r.status)
	}
	var got []*tensor.Dense
	for i, v := range b.Compiled.Lowered.Graph.Out {
		d, err := tensor.FromBytes(v.Type.DType, v.Type.Shape, r.outputs[i])
		if err != nil {
			return err
		}
		got = append(got, d)
	}
	return b.Case.Compare(got)
}

func runImage(ctx context.Context, spec *boards.Spec, batch []*Built) (_ []*result, err error) {
	defer fail.Catch(&err)
	dir := fail.Must(os.MkdirTemp("", "nncc-conform-"))
	defer os.RemoveAll(dir)
	in, model := fail.Must2(writeImage(dir, batch))
	opt := run.BuildOptions{Model: model, Opt: "-O1"}
	if spec.Core == "host" { // where most cases run: compilation is all that takes time
		opt.Opt = "-O0"
	}
	im := fail.Must(run.Build(ctx, spec, dir, opt))
	defer im.Close()
	res := fail.Must(run.Run(ctx, spec, im, []run.Case{{Inputs: [][]byte{in}}}))
	if s := res.Cases[0].Status; s != 0 {
		return nil, fmt.Errorf("the batch returned %d", s)
	}
	out := bytes.NewBuffer(res.Cases[0].Outputs[0])
	var all []*result
	for _, b := range batch {
		r := &result{status: int32(binary.LittleEndian.Uint32(out.Next(4)))}
		for _, x := range b.Compiled.Info.Outputs {
			r.outputs = append(r.outputs, bytes.Clone(out.Next(x.Bytes)))
		}
		all = append(all, r)
	}
	return all, nil
}

// writeImage writes the sources of all cases and, above them, a model of its
// own, which hands every case its part of one input and collects the results
// in one output. The cases use the same memory one after the other.
func writeImage(dir string, batch []*Built) (input []byte, model *run.Model, err error) {
	put := func(path string, data []byte) {
		p := filepath.Join(dir, filepath.FromSlash(path))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(p), 0o777)
		}
		if err == nil {
			err = os.WriteFile(p, data, 0o666)
		}
	}
	var head, calls strings.Builder
	kernels := map[string]bool{}
	inBytes, outBytes, arena := 0, 0, 0
	for _, b := range batch {
		o := b.Compiled
		for _, f := range o.Files {
			switch {
			case strings.HasPrefix(f.Path, run.HarnessDir+"/"), f.Path == "Makefile", f.Path == "README.md",
				f.Path == "CMakeLists.txt":
			case strings.HasPrefix(f.Path, "nncc/") && strings.HasSuffix(f.Path, ".c"):
				if !kernels[f.Path] {
					put(f.Path+".inc", f.Data)
				}
				kernels[f.Path] = true
			case strings.HasSuffix(f.Path, "_io.c"): // float helpers, which nobody calls here
			case strings.HasSuffix(f.Path, ".c"):
				put(f.Path, f.Data) // each alone: the names of kernels are macros, not the same in all cases
			default:
				put(f.Path, f.Data)
			}
		}
		fmt.Fprintf(&head, "#include \"%s.h\"\n", b.Prefix)
		calls.WriteString("    {\n        int32_t status;\n")
		for k, x := range o.Info.Inputs {
			data := b.Case.Args[k].Bytes()
			if len(data) != x.Bytes {
				return nil, nil, bug.Errorf("%s: input %d has %d bytes, want %d", b.Case.ID(), k, len(data), x.Bytes)
			}
			input = append(input, data...)
			fmt.Fprintf(&calls, "        memcpy(%s_%s(work), in + %d, %d);\n", b.Prefix, x.CName, inBytes, x.Bytes)
			inBytes += x.Bytes
		}
		fmt.Fprintf(&calls, "        status = (int32_t)%s_run(work);\n        memcpy(out + %d, &status, 4);\n",
			b.Prefix, outBytes)
		outBytes += 4
		for _, x := range o.Info.Outputs {
			fmt.Fprintf(&calls, "        memcpy(out + %d, %s_%s(work), %d);\n", outBytes, b.Prefix, x.CName, x.Bytes)
			outBytes += x.Bytes
		}
		calls.WriteString("    }\n")
		arena = max(arena, o.Lowered.Program.ArenaBytes)
	}
	for name, text := range units(slices.Sorted(maps.Keys(kernels))) {
		put(name, text)
	}
	if inBytes == 0 {
		inBytes, input = 1, []byte{0}
	}
	round := func(n int) int { return (n + 63) &^ 63 }
	put("batch.h", fmt.Appendf(nil, "#include <stdint.h>\n#define BATCH_ARENA_BYTES %du\nuint8_t *batch_in(void "+
		"*arena);\nconst uint8_t *batch_out(const void *arena);\nint32_t batch_run(void *arena);\n",
		round(inBytes)+round(outBytes)+round(arena)))
	put("batch.c", fmt.Appendf(nil, `#include "batch.h"
#include <string.h>
%s
uint8_t *batch_in(void *arena) { return arena; }
const uint8_t *batch_out(const void *arena) { return (const uint8_t *)arena + %d; }
int32_t batch_run(void *arena)
{
    const uint8_t *const in = arena;
    uint8_t *const out = (uint8_t *)arena + %d;
    uint8_t *const work = (uint8_t *)arena + %d;
    (void)in;
    (void)work;
%s    return 0;
}
`, head.String(), round(inBytes), round(inBytes), round(inBytes)+round(outBytes), calls.String()))
	model = &run.Model{Name: "batch", Header: "batch.h", ArenaMacro: "BATCH_ARENA_BYTES", RunFunc: "batch_run",
		Steps: []string{"batch"}, Inputs: []run.IO{{Name: "in", CFunc: "batch_in", Bytes: inBytes}},
		Outputs: []run.IO{{Name: "out", CFunc: "batch_out", Bytes: outBytes}}}
	return input, model, err
}

// units are sources that include kernels, by name: one compiler run for all of a family
// that is made to fit into one. Kernels for single cores are alone: they tell the headers that they
// include what to define, by macros, and share static names. What a unit includes is NAME.inc.
func units(kernels []string) map[string][]byte {
	out := map[string][]byte{}
	for _, k := range kernels {
		name := "alone_" + strings.ReplaceAll(k, "/", "_")
		switch parts := strings.Split(k, "/"); {
		case len(parts) == 2:
			name = "kernels.c"
		case parts[1] == "cmsis_nn":
			name = "library.c"
		}
		out[name] = append(out[name], fmt.Sprintf("#include %q\n", k+".inc")...)
	}
	return out
}
