// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/accel/mla/lm"
)

// Places in a file, see lm/README.md.
const (
	atCRC, atSections, atMACs, atWork = 12, 40, 88, 96
	headerBytes                       = 128
)

var le = binary.LittleEndian

// section is a part of a file, nil where the header says nonsense.
func section(b []byte, i int) []byte {
	off, n := uint64(le.Uint32(b[atSections+12*i:])), uint64(le.Uint32(b[atSections+12*i+4:]))
	if off+n > uint64(len(b)) {
		return nil
	}
	return b[off : off+n]
}

// repair sets the checksums right; a reader then looks at the content.
func repair(b []byte) {
	if len(b) < headerBytes {
		return
	}
	for i := range 4 {
		if s := section(b, i); s != nil {
			le.PutUint32(b[atSections+12*i+8:], crc32.ChecksumIEEE(s))
		}
	}
	le.PutUint32(b[atCRC:], 0)
	le.PutUint32(b[atCRC:], crc32.ChecksumIEEE(b[:headerBytes]))
}

// recount also sets steps and MACs to those of the commands, so that damaged
// commands that are within their limits run; false when they are not.
func recount(b []byte) bool {
	s := &lm.Segment{}
	repair(b)
	if err := lm.Scan(b, s); err != nil || s.Count() != nil || s.Work > 1<<21 {
		return false
	}
	le.PutUint64(b[atMACs:], s.MACs)
	le.PutUint64(b[atWork:], s.Work)
	repair(b)
	return true
}

// edges are words that meet the ends of ranges.
var edges = []uint32{0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 257, 1 << 12, 1<<24 - 1, 1 << 24,
	1<<24 + 1, 1<<29 - 1, 1 << 29, 1 << 30, 1<<31 - 1, 1 << 31,
	0xffffffff, 0xfffffffe, 0xffffff80, 0xffffff7f, 0xff000000, 0xc0000000}

// damaged changes a file in up to three places, mostly in the tables.
func damaged(r *rand.Rand, file []byte) []byte {
	b := bytes.Clone(file)
	for range 1 + r.IntN(3) {
		part := b
		switch k := r.IntN(10); {
		case k < 5:
			part = section(b, 1)
		case k < 8:
			part = section(b, 0)
		case k == 8:
			part = section(b, 2)
		case k == 9 && r.IntN(2) == 0:
			part = b[:min(len(b), headerBytes)]
		}
		if len(part) < 8 {
			continue
		}
		at := r.IntN(len(part))
		word := part[min(at&^3, len(part)-4):]
		switch r.IntN(8) {
		case 0:
			part[at] ^= 1 << r.IntN(8)
		case 1:
			part[at] = byte(r.Uint32())
		case 2:
			le.PutUint32(word, edges[r.IntN(len(edges))])
		case 3:
			le.PutUint32(word, le.Uint32(word)+uint32(r.IntN(5)-2))
		case 4:
			le.PutUint32(word, le.Uint32(word)<<1)
		case 5: // a word from elsewhere in the part
			from := r.IntN(len(part)-3) &^ 3
			le.PutUint32(word, le.Uint32(part[from:]))
		case 6:
			le.PutUint32(word, uint32(r.IntN(300)))
		case 7:
			if r.IntN(20) > 0 {
				le.PutUint32(word, -le.Uint32(word))
			} else if n := r.IntN(len(b) + 1); r.IntN(2) == 0 { // cut
				return b[:n]
			} else { // lengthened or a piece left out
				m := min(n+r.IntN(40), len(b))
				return append(b[:n:n], b[m:]...)
			}
		}
		if len(b) < headerBytes {
			return b
		}
	}
	return b
}

// TestDamagedFiles: 20,000 damaged files, with and without repaired checksums
// and counts, under the sanitizers: an error or a normal end, never an access
// outside; and the simulator takes exactly what this package's reader takes.
func TestDamagedFiles(t *testing.T) {
	var files [][]byte
	all := nodes()
	for i, name := range sortedKeys(all) {
		files = append(files, compiled(t, name, parse(t, all[name]), uint64(i)).file)
	}
	r := rand.New(rand.NewPCG(7, 7))
	var jobs bytes.Buffer
	var list [][]byte
	for i := range 20000 {
		b := damaged(r, files[i%len(files)])
		switch i / len(files) % 4 {
		case 0:
		case 1:
			repair(b)
		default:
			if len(b) < headerBytes || !recount(b) {
				repair(b)
			}
		}
		list = append(list, b)
		jobs.Write(job(1, b))
	}
	out := run(t, jobs.Bytes())
	if len(out) != 4*len(list) {
		t.Fatalf("%d answers, want %d", len(out)/4, len(list))
	}
	status := map[uint32]int{}
	for i, b := range list {
		s := le.Uint32(out[4*i:])
		status[s]++
		_, err := lm.Decode(b)
		if s == 11 { // more memory than the test gives: nothing else was looked at
			continue
		}
		// 13: an index computed at run time was out of range
		if (err == nil) != (s == 0 || s == 13) {
			path := filepath.Join(os.TempDir(), fmt.Sprintf("mla-damaged-%d.lm", i))
			os.WriteFile(path, b, 0o644)
			t.Errorf("file %d (written to %s): the simulator says %d, nncc: %v", i, path, s, err)
		}
	}
	t.Logf("answers by status: %v", status)
	for _, s := range []uint32{0, 7, 8, 9, 10} {
		testenv.Check(t, status[s] >= 100, "only %d files with status %d: the test shows little", status[s], s)
	}
}
