// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
)

// Entry is a named array of an archive.
type Entry struct {
	Name  string // without the .npy that the file in the archive carries
	Array *Array
}

// maxRatio is the most that deflate can expand: 258 bytes for two bits, 1032:1.
const maxRatio = 1032

// ReadNpz reads the numeric arrays of an archive of the given size that want names, in its order; of the others,
// the entries have no array. Arrays of text (notes) are left out. The archive's directory is checked first: the
// entries' packed sizes must fit the file, and none may claim an expansion that its compression method cannot have.
func ReadNpz(r io.ReaderAt, size int64, lim Limits, want func(name string) bool) (_ []Entry, err error) {
	defer fail.Catch(&err)
	lim = lim.orDefault()
	z, err := zip.NewReader(r, size)
	fail.If(err != nil, "npz: not a .npz archive: %w", err)
	fail.If(len(z.File) > lim.Entries, "npz: %d entries, the limit is %d", len(z.File), lim.Entries)
	z.File = slices.DeleteFunc(z.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, "/") })
	names, packed := map[string]bool{}, uint64(0)
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		fail.If(!ok, "npz: %.64q in the archive is not a .npy file", f.Name)
		fail.If(names[name], "npz: the archive has two arrays %.64q", name)
		c := f.CompressedSize64
		fail.If(c > uint64(size) || packed+c > uint64(size),
			"npz: the entries up to %.64q claim more packed bytes than the %d of the file", name, size)
		packing(f, name)
		names[name], packed = true, packed+f.CompressedSize64
	}
	var out []Entry
	left := lim.Bytes // that may still be decoded
	for _, f := range z.File {
		e := Entry{Name: strings.TrimSuffix(f.Name, ".npy")}
		if want(e.Name) {
			e.Array, err = readEntry(f, Limits{Bytes: left})
			if errors.Is(err, ErrText) {
				continue
			}
			fail.If(err != nil, "array %.64q: %w", e.Name, err)
			left -= int64(e.Array.Len() * dtypes[e.Array.DType].size)
		}
		out = append(out, e)
	}
	return out, nil
}

// packing refuses entries whose sizes their compression method cannot have.
func packing(f *zip.File, name string) {
	c, u := f.CompressedSize64, f.UncompressedSize64
	switch {
	case f.Flags&1 != 0:
		fail.Errorf("npz: the array %.64q is encrypted", name)
	case f.Method == zip.Store && u != c:
		fail.Errorf("npz: the stored array %.64q claims %d bytes and %d packed bytes", name, u, c)
	case f.Method == zip.Deflate && u > maxRatio*c+64:
		fail.Errorf("npz: the array %.64q claims to expand from %d to %d bytes, which deflate cannot do", name,
			c, u)
	case f.Method != zip.Store && f.Method != zip.Deflate:
		fail.Errorf("npz: the array %.64q is packed by method %d, only stored and deflated are read", name,
			f.Method)
	}
}

func readEntry(f *zip.File, lim Limits) (_ *Array, err error) {
	defer fail.Catch(&err)
	r := fail.Must(f.Open())
	defer r.Close()
	return readNpy(r, int64(f.UncompressedSize64), f.Method == zip.Store, lim)
}

// ReadFile reads a .npy or .npz file, told apart by its first bytes. The only
// entry of a .npy file has an empty name.
func ReadFile(path string, lim Limits) ([]Entry, error) {
	return ReadFileNamed(path, lim, func(string) bool { return true })
}

// ReadFileNamed is ReadFile, of a .npz file as ReadNpzNamed.
func ReadFileNamed(path string, lim Limits, want func(name string) bool) (_ []Entry, err error) {
	defer fail.Catch(&err)
	f, _ := fail.Must2(files.Open(path))
	defer f.Close()
	var first [2]byte
	if n, err := f.Read(first[:]); err != nil && n == 0 {
		return nil, fmt.Errorf("%s: npz: the file is empty", path)
	}
	if string(first[:]) == "PK" {
		return ReadNpzNamed(path, lim, want)
	}
	return []Entry{{"", fail.Must(ReadNpyFile(path, lim))}}, nil
}

// ReadNpzFile reads every numeric array of a .npz file, see ReadNpz.
func ReadNpzFile(path string, lim Limits) ([]Entry, error) {
	return ReadNpzNamed(path, lim, func(string) bool { return true })
}

// ReadNpzNamed is ReadNpzFile for the arrays that want names; of the others, the entries have no array.
func ReadNpzNamed(path string, lim Limits, want func(name string) bool) (_ []Entry, err error) {
	defer fail.Catch(&err)
	f, st := fail.Must2(files.Open(path))
	defer f.Close()
	es, err := ReadNpz(f, st.Size(), lim, want)
	fail.If(err != nil, "%s: %w", path, err)
	return es, nil
}

// WriteNpz writes an archive with the entries in the order given. Entries are
// stored, not packed, and carry no time: the same entries give the same bytes.
func WriteNpz(w io.Writer, entries []Entry) error { return writeNpz(w, entries, zip.Store) }

func writeNpz(w io.Writer, entries []Entry, method uint16) (err error) {
	defer fail.Catch(&err)
	z := zip.NewWriter(w)
	seen := map[string]bool{}
	for _, e := range entries {
		fail.If(seen[e.Name], "npz: the array %.64q is written twice", e.Name)
		seen[e.Name] = true
		f := fail.Must(z.CreateHeader(&zip.FileHeader{Name: e.Name + ".npy", Method: method, Modified: time.Time{}}))
		if err := WriteNpy(f, e.Array); err != nil {
			return fmt.Errorf("array %.64q: %w", e.Name, err)
		}
	}
	return z.Close()
}

// WriteNpyFile writes a .npy file.
func WriteNpyFile(path string, a *Array) error {
	var b bytes.Buffer
	if err := WriteNpy(&b, a); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// WriteNpzFile writes a .npz file.
func WriteNpzFile(path string, entries []Entry) error {
	var b bytes.Buffer
	if err := WriteNpz(&b, entries); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
