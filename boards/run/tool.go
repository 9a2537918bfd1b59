// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
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
