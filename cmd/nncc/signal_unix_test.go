// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestSignals: a signal ends nncc with 128 and its number, with the compilers
// and emulators it started; nothing temporary and nothing half-written stays.
func TestSignals(t *testing.T) {
	// A tool that hangs, with a child of its own, and says so.
	hang := "#!/bin/sh\nsleep 1000 &\necho $! > \"$NNCC_TEST_PIDS\"\nwait\n"
	for name, c := range map[string]struct {
		tool, script, needs string
		args                []string
		signals             []syscall.Signal
		want                int
	}{
		"compiler": {"gcc", hang, "", []string{"verify", "-board", "host"},
			[]syscall.Signal{syscall.SIGINT}, 130},
		"compiler, terminated": {"gcc", hang, "", []string{"verify", "-board", "host", "--json"},
			[]syscall.Signal{syscall.SIGTERM}, 143},
		"compiler, hung up": {"gcc", hang, "", []string{"profile", "-board", "host"},
			[]syscall.Signal{syscall.SIGHUP}, 129},
		"compiler, twice": {"gcc", hang, "", []string{"verify", "-board", "host"},
			[]syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
		"gate": {"gcc", hang, "", []string{"compile", "-board", "host", "--max-flash", "1M"},
			[]syscall.Signal{syscall.SIGINT}, 130},
		"emulator does not start": {"qemu-system-arm", hang, "arm-none-eabi-gcc",
			[]string{"verify", "-board", "cortex-m4"}, []syscall.Signal{syscall.SIGINT}, 130},
		"emulator": {"qemu-system-arm", strings.Replace(hang, "\n", "\nif [ \"$1\" = --version ]; then echo QEMU "+
			"emulator version 9; exit 0; fi\n", 1), "arm-none-eabi-gcc",
			[]string{"verify", "-board", "cortex-m4"}, []syscall.Signal{syscall.SIGTERM}, 143},
	} {
		t.Run(name, func(t *testing.T) {
			needSignals(t, c.signals)
			if c.needs != "" {
				if _, err := exec.LookPath(c.needs); err != nil {
					t.Skipf("%s is not installed", c.needs)
				}
			}
			dir := t.TempDir()
			bin, tmp, pids, work := filepath.Join(dir, "bin"), filepath.Join(dir, "tmp"), filepath.Join(dir, "pids"),
				filepath.Join(dir, "work")
			for _, d := range []string{bin, tmp, work} {
				must(t, os.Mkdir(d, 0o777))
			}
			must(t, os.WriteFile(filepath.Join(bin, c.tool), []byte(c.script), 0o755))
			var says bytes.Buffer
			cmd := nnccCommand(t, append(c.args, "--out", filepath.Join(work, "out"), tinyModel(t, dir))...)
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "TMPDIR="+tmp,
				"NNCC_TEST_PIDS="+pids, "NNCC_OBJECTS=")
			cmd.Dir, cmd.Stdout, cmd.Stderr = work, &says, &says
			must(t, cmd.Start())
			child := 0
			for child == 0 { // the tests' own limit ends a wait in vain
				b, _ := os.ReadFile(pids)
				child, _ = strconv.Atoi(strings.TrimSpace(string(b)))
				testenv.Require(t, syscall.Kill(cmd.Process.Pid, 0) == nil, "nncc ended")
				time.Sleep(5 * time.Millisecond)
			}
			for _, s := range c.signals {
				must(t, cmd.Process.Signal(s))
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.want || !strings.Contains(says.String(),
				"nncc: ended by signal") {
				t.Errorf("exit status %d, want %d\n%s", got, c.want, says.String())
			}
			for gone := false; !gone; time.Sleep(5 * time.Millisecond) { // its parent has to wait for it
				gone = syscall.Kill(child, 0) != nil || zombie(child)
			}
			for _, d := range []string{tmp, work} {
				es, err := os.ReadDir(d)
				testenv.Check(t, err == nil && len(es) <= 0, "left behind: %v %v", es, err)
			}
		})
	}
}

// zombie: the process has ended, and nobody has asked how.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(b), ") Z ")
}

// needSignals skips a test of signals that nncc ignores because they are ignored
// here: under nohup.
func needSignals(t *testing.T, list []syscall.Signal) {
	t.Helper()
	if slices.ContainsFunc(list, func(s syscall.Signal) bool { return signal.Ignored(s) }) {
		t.Skip("the signal is ignored here, and so by nncc: nohup")
	}
}
