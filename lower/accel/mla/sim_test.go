// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/accel/mla/lm"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// simMain is a program around the simulator. It reads jobs: the size of an
// image, the image, a kind (0: inputs follow; 1: fill them with noise and drop
// the outputs), and answers with the status and, of kind 0, the outputs and
// counters. Every buffer has exactly its size, so that the address sanitizer
// sees each byte beyond.
const simMain = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mla/mla_driver.h"
#include "mla/mla_file.h"

static int get(void *p, size_t n) { return n == 0 || fread(p, 1, n, stdin) == n; }
static void put(const void *p, size_t n) { if (n > 0) { (void)fwrite(p, 1, n, stdout); } }
static void *room(size_t n) { void *p = NULL; if (posix_memalign(&p, 16, n == 0 ? 1 : n) != 0) { exit(4); } return p; }

int main(void)
{
    uint32_t size, kind, noise = 1;

    while (get(&size, 4) && get(&kind, 4)) {
        uint8_t *image = room(size), *memory;
        uint32_t bytes = 0, answer;
        mla_device dev;
        mla_image m;
        mla_status status;
        mla_counters counters;

        if (!get(image, size)) { return 3; }
        memset(&counters, 0, sizeof counters);
        status = mla_memory_bytes(image, size, &bytes);
        if (bytes > (64u << 20)) { bytes = 0; }
        memory = room(bytes);
        memset(memory, 0xa5, bytes);
        if (status == MLA_OK) {
            status = mla_open(&dev, memory, bytes);
            if (status == MLA_OK) { status = mla_load(&dev, image, size); }
        }
        if (status == MLA_OK) {
            mla_input in[256];
            mla_output out[256];
            uint32_t ni = 0, no = 0, i;

            (void)mla_read_header(image, size, &m);
            for (i = 0; i < m.tensor_count; i++) {
                mla_tensor t = mla_tensor_at(&m, i);
                uint8_t *p;
                uint32_t k;
                if (t.role == MLA_INPUT && ni < 256u) {
                    p = room(t.bytes);
                    for (k = 0; kind == 1u && k < t.bytes; k++) {
                        noise = noise * 1664525u + 1013904223u;
                        p[k] = (uint8_t)(noise >> 24);
                    }
                    if (kind == 0u && !get(p, t.bytes)) { return 3; }
                    in[ni].data = p; in[ni++].bytes = t.bytes;
                }
                if (t.role == MLA_OUTPUT && no < 256u) { out[no].data = room(t.bytes); out[no++].bytes = t.bytes; }
            }
            status = mla_submit(&dev, in, ni, out, no);
            if (status == MLA_OK) { status = mla_wait(&dev); }
            (void)mla_get_counters(&dev, &counters);
            answer = (uint32_t)status;
            put(&answer, 4);
            for (i = 0; kind == 0u && i < no; i++) { put(out[i].data, out[i].bytes); }
            if (kind == 0u) { put(&counters.commands, 8); put(&counters.macs, 8); put(&counters.bytes_moved, 8); }
            for (i = 0; i < ni; i++) { free((void *)(uintptr_t)in[i].data); }
            for (i = 0; i < no; i++) { free(out[i].data); }
            (void)mla_close(&dev);
        } else {
            answer = (uint32_t)status;
            put(&answer, 4);
        }
        free(memory);
        free(image);
    }
    return 0;
}
`

// simDir is where the programs are, once they were built.
var simDir string

// simulator builds the programs, all of whose C is compiled with the contract's
// flags and the sanitizers, and gives their folder.
var simulator = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mla-sim")
	if err != nil {
		return "", err
	}
	simDir = dir
	files, err := runtimec.Files("mla_run_segment", "mla_open")
	if err != nil {
		return dir, err
	}
	var all bytes.Buffer
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return dir, err
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			return dir, err
		}
		if strings.HasSuffix(f.Path, ".c") {
			fmt.Fprintf(&all, "#include %q\n", f.Path)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "all.c"), all.Bytes(), 0o644); err != nil {
		return dir, err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(simMain), 0o644); err != nil {
		return dir, err
	}
	if err := os.WriteFile(filepath.Join(dir, "api.c"), []byte(apiMain), 0o644); err != nil {
		return dir, err
	}
	const warn = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes " +
		"-Werror "
	const sanitize = "-O1 -g -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=all -I. -Imla " +
		"-Icmsis_nn "
	for _, args := range []string{warn + sanitize + "-c all.c", sanitize + "-std=gnu99 main.c all.o -lm -o sim",
		sanitize + "-std=gnu11 api.c all.o -lm -o api"} {
		cmd := exec.Command("gcc", strings.Fields(args)...)
		cmd.Dir = dir
		if msg, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("gcc %s: %v\n%s", args, err, msg[:min(len(msg), 4000)])
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if simDir != "" {
		os.RemoveAll(simDir)
	}
	os.Exit(code)
}

// run feeds jobs to the simulator and gives its answers.
func run(t *testing.T, jobs []byte) []byte {
	t.Helper()
	testenv.Tool(t, "cc", "gcc")
	dir := testenv.Must(simulator())(t)
	var out, msg bytes.Buffer
	cmd := exec.Command(filepath.Join(dir, "sim"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(jobs), &out, &msg
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if err := cmd.Run(); err != nil {
		t.Fatalf("simulator: %v after %d bytes of answers\n%s", err, out.Len(), msg.Bytes()[:min(msg.Len(), 4000)])
	}
	return out.Bytes()
}

func job(kind uint32, image []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(image)))
	return append(binary.LittleEndian.AppendUint32(b, kind), image...)
}

// kase is a graph that is compiled, run on the simulator, and compared with
// the interpreter.
type kase struct {
	name string
	g    *ir.Graph
	in   []*tensor.Dense
	seg  *lm.Segment
	file []byte
}

// compiled makes a case of a graph.
func compiled(t testing.TB, name string, g *ir.Graph, seed uint64) *kase {
	t.Helper()
	k := &kase{name: name, g: g, in: irtest.Inputs(g, seed)}
	before := g.String()
	var err error
	if k.seg, err = mla.Compile(g, mla.Defaults()); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, g)
	}
	testenv.Require(t, g.String() == before, "%s: Compile changed the graph", name)
	if k.file, err = lm.Encode(k.seg); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if seed%8 == 0 { // the same bytes again
		seg := testenv.Must(mla.Compile(g, mla.Defaults()))(t)
		if b, err := lm.Encode(seg); err != nil || !bytes.Equal(b, k.file) {
			t.Fatalf("%s: not the same file twice (%v)", name, err)
		}
	}
	return k
}

// memory is the image of a tensor in the order of a table entry.
func memory(d *tensor.Dense, order []int) []byte {
	if len(d.Shape) == len(order) {
		d = d.Transpose(order)
	}
	return d.Bytes()
}

// compare runs all cases in one process.
func compare(t *testing.T, cases []*kase) {
	t.Helper()
	var jobs bytes.Buffer
	for _, k := range cases {
		jobs.Write(job(0, k.file))
		for i, x := range k.seg.Inputs() {
			jobs.Write(memory(k.in[i], k.seg.Tensors[x].Order))
		}
	}
	out := bytes.NewBuffer(run(t, jobs.Bytes()))
	for _, k := range cases {
		want, err := interp.Run(k.g, k.in, nil)
		testenv.Require(t, err == nil, "%s: %v", k.name, err)
		s := binary.LittleEndian.Uint32(out.Next(4))
		testenv.Require(t, s == 0, "%s: status %d\n%s", k.name, s, k.seg)
		moved := 0
		for i, x := range k.seg.Outputs() {
			e := &k.seg.Tensors[x]
			got := out.Next(e.Bytes())
			moved += e.Bytes()
			if w := memory(want[i], e.Order); !bytes.Equal(w, got) {
				at := 0
				for at < len(w) && w[at] == got[at] {
					at++
				}
				t.Errorf("%s: output %d differs from byte %d of %d on\n%s%s", k.name, i, at, len(w), k.g, k.seg)
			}
		}
		for _, x := range k.seg.Inputs() {
			moved += k.seg.Tensors[x].Bytes()
		}
		counters := [3]uint64{}
		for i := range counters {
			counters[i] = binary.LittleEndian.Uint64(out.Next(8))
		}
		testenv.Equal(t, counters, [3]uint64{uint64(len(k.seg.Commands)), k.seg.MACs, uint64(moved)},
			"%s: counters (commands, MACs, bytes)", k.name)
		macs := uint64(0)
		for _, n := range k.g.Nodes {
			if n.Op.MACs != nil {
				macs += uint64(n.Op.MACs(n))
			}
		}
		testenv.Check(t, macs == k.seg.MACs, "%s: %d MACs in the segment, %d in the graph", k.name, k.seg.MACs, macs)
	}
	testenv.Check(t, out.Len() <= 0, "%d bytes of answers are left", out.Len())
}

func itoa(v int) string { return fmt.Sprint(v) }

func sortedKeys[T any](m map[string]T) []string {
	var k []string
	for s := range m {
		k = append(k, s)
	}
	slices.Sort(k)
	return k
}
