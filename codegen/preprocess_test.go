// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	boardrun "github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/preprocess"
	"github.com/nncc/nncc/ir/tensor"
)

// device is a model with what a device gives it, and what that has to become.
type device struct {
	*model
	given []byte // a frame, or samples
	want  []byte // the input's memory
	push  bool   // samples go through a ring, in parts
}

// drawType is an input's element type as the graph's text has it.
func drawType(r *rand.Rand) string {
	scale := []string{"0.00390625", "0.0078125", "0.011", "0.37", "1"}[r.IntN(5)]
	switch r.IntN(5) {
	case 0:
		return "f32[%s]"
	case 1:
		return "u8[%s] q(" + scale + ":" + fmt.Sprint(r.IntN(256)) + ")"
	case 2:
		return "i16[%s] q(0.00003051758:0)"
	}
	return "i8[%s] q(" + scale + ":" + fmt.Sprint(r.IntN(256)-128) + ")"
}

// drawCamera is a model with an image as its input, and a frame of any format.
func drawCamera(t *testing.T, r *rand.Rand, prefix string) *device {
	m := &preprocess.Image{Format: preprocess.Format(r.IntN(len(preprocess.Formats()))), FullRange: r.IntN(2) == 0,
		Width: 2 * (1 + r.IntN(20)), Height: 1 + r.IntN(30), OutWidth: 1 + r.IntN(24), OutHeight: 1 + r.IntN(24),
		Channels: 1 + 2*r.IntN(2), BGR: r.IntN(2) == 0, Nearest: r.IntN(3) == 0, Pad: uint8(r.IntN(256))}
	if r.IntN(6) == 0 {
		m.OutWidth, m.OutHeight = m.Width, m.Height
	}
	m.Place(preprocess.Resize(r.IntN(3)))
	values := make([]preprocess.Values, m.Channels)
	for c := range values {
		values[c] = preprocess.Values{Scale: 1. / 255, Mean: r.Float64(), Std: 0.1 + r.Float64()}
		if c > 0 && r.IntN(3) == 0 {
			values[c] = values[0]
		}
	}
	shape := fmt.Sprintf("1,%d,%d,%d", m.Channels, m.OutHeight, m.OutWidth)
	strides := preprocess.Strides{Row: m.OutWidth, Column: 1, Channel: m.OutWidth * m.OutHeight}
	native := r.IntN(3) == 0
	if !native && r.IntN(2) == 0 {
		shape = fmt.Sprintf("1,%d,%d,%d", m.OutHeight, m.OutWidth, m.Channels)
		strides = preprocess.Strides{Row: m.OutWidth * m.Channels, Column: m.Channels, Channel: 1}
	}
	frame := make([]byte, m.Format.RowBytes(m.Width)*m.Height)
	for i := range frame {
		frame[i] = uint8(r.IntN(256))
	}
	d := &device{given: frame}
	kind := drawType(r)
	d.model = &model{prefix: prefix, native: native, src: identity(kind, shape)}
	if native { // what is free to lie otherwise does so in front of a convolution
		d.src = fmt.Sprintf(`
			in %%x : f32[%s]
			const %%w : f32[2,%d,1,1] = rand 1
			%%y = Conv(%%x, %%w)
			out "y" = %%y`, shape, m.Channels)
	}
	d.unit.Preprocess = []codegen.Preprocess{
		{Input: "x", Image: m, Values: values, Strides: strides, Says: "as drawn */"},
	}
	d.generate(t)
	d.expect(m.Tensor(frame, d.info.Inputs[0].Type.Shape, strides, values))
	return d
}

// identity is a graph that hands its input on.
func identity(kind, shape string) string {
	kind = fmt.Sprintf(kind, shape)
	return "\n in %x : " + kind + "\n %y : " + kind + " = Identity(%x)\n out \"y\" = %y"
}

// expect sets what the input's memory has to hold.
func (d *device) expect(x *tensor.Dense) {
	t := d.info.Inputs[0].Type
	if t.Quant != nil {
		x = ir.QuantiseEven(x, t)
	}
	d.want = x.Transpose(t.OrderOrIdentity()).Bytes()
}

// drawMicrophone is a model with sound as its input, and samples.
func drawMicrophone(t *testing.T, r *rand.Rand, prefix string) *device {
	s := &preprocess.Sound{Frames: 1 + r.IntN(5), Window: 1 + r.IntN(200), Hop: 1 + r.IntN(100),
		Scale: []float32{1. / 32768, 1, 0.0003}[r.IntN(3)]}
	samples := make([]int16, s.Length())
	for i := range samples {
		samples[i] = int16(r.IntN(65536) - 32768)
		if r.IntN(2) == 0 { // ties lie among small ones
			samples[i] >>= uint(4 + r.IntN(10))
		}
	}
	samples[0] = -32768
	d := &device{push: r.IntN(2) == 0}
	d.given, _ = binary.Append(nil, binary.LittleEndian, samples)
	d.model = &model{prefix: prefix, src: identity(drawType(r), fmt.Sprintf("1,%d,%d", s.Frames, s.Window))}
	d.unit.Preprocess = []codegen.Preprocess{{Input: "x", Sound: s, Rate: 16000, Says: "as drawn"}}
	d.generate(t)
	d.expect(s.Tensor(samples, d.info.Inputs[0].Type.Shape))
	return d
}

// call is C that reads what is given, preprocesses it and writes the input.
func (d *device) call() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, "    "+format+"\n", args...) }
	x := d.info.Inputs[0]
	fn := d.prefix + "_preprocess_" + x.CName
	kind := "const uint8_t *"
	if d.unit.Preprocess[0].Sound != nil {
		kind = "const int16_t *"
	}
	p("take(given, %d);", len(d.given))
	p("say(%s(NULL, (%s)(void *)given));", fn, kind)
	p("say(%s(arena + 1, (%s)(void *)given));", fn, kind)
	p("say(%s(arena, NULL));", fn)
	if d.push {
		ring := d.prefix + "_ring"
		p("{ static %s_%s r; size_t i = 0, n = %d; say(%s_reset_%s(&r)); say(%s_push_%s(NULL, NULL, 0));", ring,
			x.CName, len(d.given)/2, ring, x.CName, ring, x.CName)
		p("  say(%s_push_%s(&r, (%s)(void *)given, n / 2));", ring, x.CName, kind) // the oldest, which go
		p("  while (i < n) { const size_t k = n - i < 7 ? n - i : 7;")
		p("    if (%s_push_%s(&r, (%s)(void *)(given + 2 * i), k) != NNCC_OK) { return 9; } i += k; }", ring, x.CName,
			kind)
		p("  say(%s_preprocess_ring_%s(arena, &r)); }", d.prefix, x.CName)
	} else {
		p("say(NNCC_OK); say(NNCC_ERR_NULL); say(NNCC_OK);")
		p("say(%s(arena, (%s)(void *)given));", fn, kind)
	}
	p("give(%s_%s(arena), %d);", d.prefix, x.CName, x.Bytes)
	return b.String()
}

// devices are drawn models in one program, pre_run, which reads what is given behind
// its argument and writes what becomes of it behind that.
type devices struct {
	dir      string
	src      strings.Builder
	in, want bytes.Buffer
}

// drawDevices writes n models.
func drawDevices(t *testing.T, n int) *devices {
	r := rand.New(rand.NewPCG(11, 12))
	p := &devices{dir: t.TempDir()}
	var calls, all strings.Builder
	most := 0
	for i := range n {
		draw := drawCamera
		if i%4 == 3 {
			draw = drawMicrophone
		}
		d := draw(t, r, fmt.Sprintf("m%d", i))
		for k, f := range d.files { // all in one translation unit
			if strings.HasSuffix(f.Path, ".c") && !strings.Contains(f.Path, "/") {
				d.files[k].Path += ".inc"
				fmt.Fprintf(&p.src, "#include \"%s.inc\"\n", f.Path)
			}
		}
		d.write(t, p.dir)
		fmt.Fprintf(&calls, "static int call_%d(void)\n{\n%s    return 0;\n}\n", i, d.call())
		fmt.Fprintf(&all, "    if (call_%d() != 0) {\n        return 3;\n    }\n", i)
		p.in.Write(d.given)
		for _, s := range []int32{1, 2, 1, 0, 1, 0, 0} {
			_ = binary.Write(&p.want, binary.LittleEndian, s)
		}
		p.want.Write(d.want)
		most = max(most, d.prog.ArenaBytes, len(d.given))
	}
	p.src.WriteString(preprocessIO(most+32, p.in.Len()) + calls.String() +
		"int32_t pre_run(void *a)\n{\n    io = a;\n    from = 0;\n    to = 0;\n" + all.String() + "    return 0;\n}\n")
	return p
}

func (p *devices) write(t *testing.T, name, text string) {
	t.Helper()
	to := filepath.Join(p.dir, name)
	testenv.OK(t, os.MkdirAll(filepath.Dir(to), 0o755))
	testenv.OK(t, os.WriteFile(to, []byte(text), 0o644))
}

func (p *devices) check(t *testing.T, got []byte) {
	t.Helper()
	if want := p.want.Bytes(); !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want %d; the first that differs is %d", len(got), len(want), differs(got, want))
	}
}

// TestPreprocess: frames and samples of drawn sizes, formats, types and memory orders
// become, in C under the sanitizers and on a Cortex-M4, what the definition in Go makes
// of them.
func TestPreprocess(t *testing.T) {
	n := 40
	if testenv.Long() {
		n = 1000
	}
	p := drawDevices(t, testenv.Count(t, n))
	t.Run("host", p.onHost)
	t.Run("cortex-m4", p.onM4)
}

func (p *devices) onHost(t *testing.T) {
	cc := testenv.Tool(t, "cc", "gcc")
	p.write(
		t,
		"main.c",
		p.src.String()+streams+
			fmt.Sprintf("int main(void)\n{\n    static uint8_t a[%d];\n    get(a, %d);\n    if (pre_run(a) != 0) {\n"+
				"        return 1;\n    }\n    put(a + %d, %d);\n    return 0;\n}\n",
				p.in.Len()+p.want.Len(), p.in.Len(), p.in.Len(), p.want.Len()),
	)
	args := append(append([]string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
		warnings...), includes...)
	kernels := testenv.Must(filepath.Glob(filepath.Join(p.dir, "nncc", "*.c")))(t)
	run(t, p.dir, cc, append(append(args, "-o", "main", "main.c", "-lm"), kernels...)...)
	got := feed(t, p.in.Bytes(), filepath.Join(p.dir, "main"))
	p.check(t, got)
	testenv.OK(t, os.Remove(filepath.Join(p.dir, "main.c")))
}

func (p *devices) onM4(t *testing.T) {
	spec := testenv.Must(boards.Load("cortex-m4"))(t)
	testenv.Tool(t, "arm-gcc", spec.Toolchain.Prefix+spec.Toolchain.CC)
	testenv.Tool(t, "qemu", "qemu-system-arm")
	p.write(t, "pre.c", p.src.String())
	p.write(t, "pre.h", fmt.Sprintf("#include <stdint.h>\n#define PRE_ARENA_BYTES %du\nuint8_t *pre_x(void *a);\n"+
		"const uint8_t *pre_y(const void *a);\nint32_t pre_run(void *a);\n", p.in.Len()+p.want.Len()))
	for _, f := range boardrun.HarnessFiles(spec, boardrun.Model{Name: "pre", Header: "pre.h",
		ArenaMacro: "PRE_ARENA_BYTES", RunFunc: "pre_run",
		Inputs:  []boardrun.IO{{Name: "x", CFunc: "pre_x", Bytes: p.in.Len()}},
		Outputs: []boardrun.IO{{Name: "y", CFunc: "pre_y", Bytes: p.want.Len()}}}) {
		p.write(t, f.Path, string(f.Data))
	}
	im := testenv.Must(boardrun.Build(t.Context(), spec, p.dir, boardrun.BuildOptions{}))(t)
	defer im.Close()
	res := testenv.Must(boardrun.Run(t.Context(), spec, im, []boardrun.Case{{Inputs: [][]byte{p.in.Bytes()}}}))(t)
	p.check(t, res.Cases[0].Outputs[0])
}

// preprocessIO are functions that read what is given and write what it becomes, in
// memory.
func preprocessIO(most, in int) string {
	return fmt.Sprintf(`
static uint8_t arena[%d] __attribute__((aligned(16)));
static uint8_t given[%d] __attribute__((aligned(16)));
static uint8_t *io;
static size_t from, to;
uint8_t *pre_x(void *a);
const uint8_t *pre_y(const void *a);
int32_t pre_run(void *a);
uint8_t *pre_x(void *a) { return (uint8_t *)a; }
const uint8_t *pre_y(const void *a) { return (const uint8_t *)a + %d; }
static void take(void *p, size_t n) { uint8_t *q = p; while (n-- > 0) { *q++ = io[from++]; } }
static void give(const void *p, size_t n) { const uint8_t *q = p; while (n-- > 0) { io[%d + to++] = *q++; } }
static void say(nncc_status s) { const int32_t i = (int32_t)s; give(&i, 4); }
`, most, most, in, in)
}

// differs is the first byte that differs.
func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// feed runs a program with bytes as its input.
func feed(t *testing.T, in []byte, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	var out, msg bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(in), &out, &msg
	c.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, msg.String())
	}
	return out.Bytes()
}
