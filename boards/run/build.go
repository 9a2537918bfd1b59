// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// BuildOptions change how a folder is built.
type BuildOptions struct {
	// CMSISInclude and CMSISLib link an installed CMSIS-NN: its headers and
	// its library take the place of DIR/nncc/cmsis_nn.
	CMSISInclude, CMSISLib string
	// ExtraCFlags come after all others.
	ExtraCFlags []string
	// Opt is "size" (default), "speed", "balanced" (the same here), or flags
	// such as "-O1".
	Opt string
	// Trace also builds the program that reports every step (NNCC_TRACE).
	Trace bool
	// Sanitize compiles for the host with the address and undefined
	// behaviour sanitisers.
	Sanitize bool
	// Model, if set, replaces DIR/harness by the harness for this board, so
	// that one emitted folder can be tried on every board.
	Model *Model
	// Objects is a folder that keeps compiled objects from one build to the
	// next; "": that of the environment (ObjectsEnv), if any.
	Objects string
	// Jobs is the number of compilers at a time; 0 means one a processor.
	Jobs int
}

// Image is a program that Run can execute. Close removes it.
type Image struct {
	// ELF is the program as it ships; Traced, if built, is the same with
	// NNCC_TRACE.
	ELF, Traced string
	// Sizes of ELF.
	Sizes Sizes

	harness []span // of Traced
	library []span // of Traced: the C library
	frames  []int  // stack of the harness's functions that call those of the models
	dir     string
}

// Close removes the image's files.
func (im *Image) Close() error {
	if im == nil || im.dir == "" {
		return nil
	}
	return files.RemoveTemp(im.dir)
}

// FitError says that a program is larger than the machine's memory.
type FitError struct {
	Board, Region string
	// Missing bytes.
	Missing uint64
}

func (e *FitError) Error() string {
	return fmt.Sprintf("the program does not fit the memory of %s: region %s is %d bytes too small", e.Board, e.Region,
		e.Missing)
}

// source is one file to compile.
type source struct {
	dir    string // where the compiler runs
	file   string // relative to dir, with slashes
	origin Origin
	traced bool // differs with NNCC_TRACE
	object string
}

// builder holds what one Build needs.
type builder struct {
	spec    *boards.Spec
	opt     BuildOptions
	cc      string
	tmp     string
	dir     string
	sources []source
	include []string
}

// Build compiles every .c, .S and .s below dir for the board and links them.
func Build(ctx context.Context, spec *boards.Spec, dir string, opt BuildOptions) (_ *Image, err error) {
	defer fail.Catch(&err)
	cc := fail.Must(find(spec.Toolchain.Prefix+spec.Toolchain.CC, spec.InstallAdvice(spec.Toolchain.Install)))
	dir = fail.Must(filepath.Abs(dir))
	for _, p := range []*string{&opt.CMSISInclude, &opt.CMSISLib} {
		if *p == "" {
			continue
		}
		if *p, err = filepath.Abs(*p); err == nil {
			_, err = os.Stat(*p)
		}
		if err != nil {
			return nil, fmt.Errorf("installed CMSIS-NN: %w", err)
		}
	}
	tmp := fail.Must(files.TempDir("", "nncc-build-"))
	im := &Image{dir: tmp}
	b := &builder{spec: spec, opt: opt, cc: cc, tmp: tmp, dir: dir}
	if err := b.build(ctx, im); err != nil {
		im.Close()
		return nil, err
	}
	return im, nil
}

func (b *builder) build(ctx context.Context, im *Image) (err error) {
	defer fail.Catch(&err)
	b.collect()
	objects := fail.Must(b.compile(ctx, false))
	im.ELF = filepath.Join(b.tmp, "program.elf")
	im.Sizes = fail.Must(b.link(ctx, objects, im.ELF))
	im.frames = wrapperFrames(im.ELF)
	if !b.opt.Trace {
		return nil
	}
	objects = fail.Must(b.compile(ctx, true))
	im.Traced = filepath.Join(b.tmp, "traced.elf")
	traced, err := b.link(ctx, objects, im.Traced)
	im.harness, im.library = traced.harness, traced.library
	return err
}

// collect finds the sources and the folders that hold headers.
func (b *builder) collect() {
	dirs := map[string]bool{}
	harness := false
	// In an Arduino library, src/ has a file for every source that includes it.
	forwarders := ""
	if _, err := os.Stat(filepath.Join(b.dir, "library.properties")); err == nil {
		forwarders = "src"
	}
	walk := func(root, skip string, origin func(rel string) Origin) error {
		return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			if d.IsDir() {
				if rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == skip || rel == forwarders ||
					(b.opt.CMSISLib != "" && rel == "nncc/cmsis_nn")) {
					return fs.SkipDir
				}
				return nil
			}
			switch filepath.Ext(rel) {
			case ".h":
				dirs[filepath.Dir(p)] = true
			case ".c", ".S", ".s":
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				o := origin(rel)
				harness = harness || o == Harness
				b.sources = append(b.sources, source{dir: root, file: rel, origin: o,
					traced: bytes.Contains(data, []byte("NNCC_TRACE"))})
			}
			return nil
		})
	}
	skip := ""
	if b.opt.Model != nil {
		skip = HarnessDir
		root := filepath.Join(b.tmp, "own")
		for _, f := range HarnessFiles(b.spec, *b.opt.Model) {
			p := filepath.Join(root, filepath.FromSlash(f.Path))
			fail.Check(os.MkdirAll(filepath.Dir(p), 0o755))
			fail.Check(os.WriteFile(p, f.Data, 0o644))
		}
		fail.Check(walk(root, "", func(string) Origin { return Harness }))
	}
	fail.Check(walk(b.dir, skip, func(rel string) Origin {
		switch {
		case strings.HasPrefix(rel, HarnessDir+"/"):
			return Harness
		case strings.HasPrefix(rel, "nncc/"):
			return Kernels
		}
		return ModelCode
	}))
	fail.If(!harness, "%s has no %s folder; nncc writes it with the model", b.dir, HarnessDir)
	b.include = slices.Sorted(maps.Keys(dirs))
	if b.opt.CMSISInclude != "" {
		b.include = slices.Insert(b.include, 0, b.opt.CMSISInclude)
	}
}

func (b *builder) optFlags() []string {
	switch b.opt.Opt {
	case "", "size":
		return b.spec.Toolchain.Size
	case "speed", "balanced":
		return b.spec.Toolchain.Speed
	}
	return strings.Fields(b.opt.Opt)
}

// compile makes the objects; traced ones only for sources that differ. The
// result is one object a source, in the order of sources.
func (b *builder) compile(ctx context.Context, traced bool) ([]string, error) {
	flags := append(append(append([]string{}, b.spec.RunCPU()...), b.spec.Toolchain.CFlags...), b.optFlags()...)
	if b.opt.Sanitize {
		if b.spec.Core != "host" {
			return nil, errors.New("sanitisers need a host build")
		}
		flags = append(flags, "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined,float-cast-overflow",
			"-fno-sanitize-recover=all")
	}
	if traced {
		flags = append(flags, "-DNNCC_TRACE=1", "-DNNCC_TRACE_CALLS=1")
	}
	flags = append(flags, b.opt.ExtraCFlags...)
	kept := newObjectStore(cmp.Or(b.opt.Objects, os.Getenv(ObjectsEnv)), b.cc, flags, b.include)
	flags = append(flags, lists.Map(b.include, func(d string) string { return "-I" + d })...)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := b.opt.Jobs
	if jobs <= 0 {
		jobs = runtime.NumCPU()
	}
	var (
		wg    sync.WaitGroup
		slots = make(chan struct{}, jobs)
		errs  = make([]error, len(b.sources))
		out   = make([]string, len(b.sources))
	)
	for i := range b.sources {
		s := &b.sources[i]
		if traced && !s.traced {
			out[i] = s.object
			continue
		}
		// The name keeps the source's, for the linker script's patterns.
		base := filepath.Base(s.file)
		out[i] = filepath.Join(b.tmp, fmt.Sprintf("%04d-%s.o", i, base))
		if traced {
			out[i] = filepath.Join(b.tmp, fmt.Sprintf("%04d-traced-%s.o", i, base))
		} else {
			s.object = out[i]
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			keep := kept.keep(s)
			if fetch(keep, out[i]) {
				return
			}
			text, err := start(ctx, s.dir, b.cc, append(append([]string{}, flags...), "-c", s.file, "-o", out[i])...)
			if err != nil && ctx.Err() == nil {
				errs[i] = b.failed("compile "+s.file, text, err)
				cancel()
				return
			}
			store(out[i], keep)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, context.Cause(ctx)
}

var noLibcRE = regexp.MustCompile(
	`fatal error: (string|stdint|stddef|math|stdio)\.h: No such file|cannot find -l(c|m)\b`)

func (b *builder) failed(doing, text string, err error) error {
	e := &ToolError{Tool: b.spec.Toolchain.Prefix + b.spec.Toolchain.CC, Output: text,
		Err: fmt.Errorf("%s: %w", doing, err)}
	if noLibcRE.MatchString(text) {
		e.Tool, e.Install = "the C library for "+e.Tool, b.spec.InstallAdvice(b.spec.Toolchain.Install)
	}
	return e
}

var overflowRE = regexp.MustCompile("region [`'](\\w+)' overflowed by (\\d+) bytes")

func (b *builder) link(ctx context.Context, objects []string, elf string) (_ Sizes, err error) {
	defer fail.Catch(&err)
	mapFile := elf + ".map"
	args := append(append([]string{}, b.spec.RunCPU()...), b.spec.Toolchain.LDFlags...)
	args = append(args, "-Wl,-Map="+mapFile, "-Wl,--cref", "-o", elf)
	if b.spec.Core == "host" {
		if b.opt.Sanitize {
			args = append(args, "-fsanitize=address,undefined,float-cast-overflow")
		}
	} else {
		size := objectSizes(objects, b.opt.CMSISLib)
		size["vectors"] = 1024
		size["stack"] = uint64(b.spec.Stack) + handlerStack + 64
		script := filepath.Join(b.tmp, "link.ld")
		fail.Check(os.WriteFile(script, linkScript(b.spec, place(b.spec, size)), 0o644))
		args = append(args, "-nostartfiles", "-T", script)
	}
	args = append(args, objects...)
	if b.opt.CMSISLib != "" {
		args = append(args, b.opt.CMSISLib)
	}
	args = append(args, "-lm")
	text, err := start(ctx, b.tmp, b.cc, args...)
	if err != nil {
		if ctx.Err() != nil {
			return Sizes{}, ctx.Err()
		}
		if m := overflowRE.FindStringSubmatch(text); m != nil {
			n, _ := strconv.ParseUint(m[2], 10, 64)
			return Sizes{}, &FitError{Board: b.spec.Name + machineName(b.spec), Region: m[1], Missing: n}
		}
		return Sizes{}, b.failed("link", text, err)
	}
	f := fail.Must(os.Open(mapFile))
	defer f.Close()
	origin := map[string]Origin{}
	for i, o := range objects {
		origin[filepath.Base(o)] = b.sources[i].origin
	}
	if b.opt.CMSISLib != "" {
		origin[filepath.Base(b.opt.CMSISLib)] = Kernels
	}
	s, err := parseMap(f, origin)
	for i, o := range objects {
		if x, ok := s.sources[filepath.Base(o)]; ok {
			s.sources[b.sources[i].file] = x
		}
	}
	s.Stack = uint64(b.spec.Stack)
	return s, err
}

func machineName(spec *boards.Spec) string {
	if spec.Runner.Machine == "" {
		return ""
	}
	return " (QEMU " + spec.Runner.Machine + ")"
}

// ObjectsEnv names a folder that keeps compiled objects from one build to the
// next, where BuildOptions.Objects names none. Kernels, start-up code and
// harness are the same files in most emitted folders: a series of builds
// compiles each once a board. The folder grows; it may be deleted at any time.
const ObjectsEnv = "NNCC_OBJECTS"

var (
	includeRE = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*(.*)$`)
	// unlistable: the object has other files, the time or a folder's name in it.
	unlistable = regexp.MustCompile(
		`\bincbin\b|\b__(FILE|DATE|TIME|TIMESTAMP)__\b|#[ \t]*(include_next|import|embed)\b`)
)

// ToolError says that a program is missing or failed; the command line exits
// with status 4.
type ToolError struct {
	// Tool is the program's name.
	Tool string
	// Install is the command that brings it, for a missing program.
	Install string
	// Advice is what to do about one that is there and does not work.
	Advice string
	// Output is what a failed program said.
	Output string
	Err    error
}

func (e *ToolError) Error() string {
	var b strings.Builder
	if e.Install != "" {
		fmt.Fprintf(&b, "%s is missing (%v); install it with: %s", e.Tool, e.Err, e.Install)
	} else {
		fmt.Fprintf(&b, "%s failed: %v", e.Tool, e.Err)
	}
	if e.Advice != "" {
		fmt.Fprintf(&b, "; %s", e.Advice)
	}
	if s := strings.TrimSpace(e.Output); s != "" {
		b.WriteString("\n" + s)
	}
	return b.String()
}

func (e *ToolError) Unwrap() error { return e.Err }

// find looks a program up, or says how to install it (boards.Spec.InstallAdvice).
func find(tool, install string) (string, error) {
	p, err := exec.LookPath(tool)
	if err == nil {
		return p, nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = errors.New("not in PATH")
	}
	return "", &ToolError{Tool: tool, Install: install, Err: err}
}

// maxConsole bounds what is kept of a program's output.
const maxConsole = 64 << 10

// console keeps the first and the last part of what is written to it.
type console struct {
	mu      sync.Mutex
	head    bytes.Buffer
	tail    []byte
	dropped int
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	if room := maxConsole/2 - c.head.Len(); room > 0 {
		k := min(room, len(p))
		c.head.Write(p[:k])
		p = p[k:]
	}
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - maxConsole/2; over > 0 {
		c.dropped += over
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return n, nil
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.head.String()
	if c.dropped > 0 {
		s += fmt.Sprintf("\n[%d bytes left out]\n", c.dropped)
	}
	return strings.ToValidUTF8(s+string(c.tail), "?")
}

// start runs a program to its end in dir, in a process group of its own that
// does not outlive the call or the context.
func start(ctx context.Context, dir, program string, args ...string) (out string, err error) {
	return startTo(ctx, nil, dir, program, args...)
}

// startTo is start with a reader of what the program writes to its standard
// error; nil: it goes where standard output goes.
func startTo(ctx context.Context, stderr io.Writer, dir, program string, args ...string) (out string, err error) {
	var c console
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &c, &c
	if stderr != nil {
		cmd.Stderr = stderr
	}
	// Messages of the tools are read, so they have to be in English. What a
	// sanitiser finds ends the program like a trap.
	cmd.Env = append(os.Environ(), "LC_ALL=C", "LANGUAGE=",
		fmt.Sprintf("ASAN_OPTIONS=exitcode=%d:detect_leaks=0", exitFault),
		fmt.Sprintf("UBSAN_OPTIONS=exitcode=%d:print_stacktrace=1", exitFault))
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if cmd.Process != nil {
		_ = killGroup(cmd) // whatever it left running
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return c.String(), err
}
