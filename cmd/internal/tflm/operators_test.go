// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestOperators compares the layers of every operator, and those between sums, with
// TensorFlow Lite Micro, where it takes them.
func TestOperators(t *testing.T) {
	program := testenv.Get("NNCC_TFLM_RUN")
	if program == "" {
		t.Skip("NNCC_TFLM_RUN names no program that runs TensorFlow Lite Micro")
	}
	for i, l := range tflitetest.Layers() {
		for k, x := range []*tflitetest.Layer{l, l.Amid()} {
			if x == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%d.%d", x.Op, x.Type, i, k), func(t *testing.T) { compareOperator(t, program, x) })
		}
	}
}

func compareOperator(t *testing.T, program string, l *tflitetest.Layer) {
	path := filepath.Join(t.TempDir(), "net.tflite")
	testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
	var in [][][]byte
	var stream bytes.Buffer
	for range runs {
		x := l.Data()
		in = append(in, x)
		stream.Write(bytes.Join(x, nil))
	}
	cmd := exec.Command(program, path, fmt.Sprint(runs))
	var msg bytes.Buffer
	cmd.Stdin, cmd.Stderr = &stream, &msg
	want, err := cmd.Output()
	if err != nil {
		t.Skipf("refused by TensorFlow Lite Micro: %v %s", err, bytes.TrimSpace(msg.Bytes()))
	}
	have, err := program1(path, in)
	testenv.OK(t, err)
	if why := differ(have, want); why != "" {
		t.Error(why)
	}
}
