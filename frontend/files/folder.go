// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// File is a file to write; Path has slashes and is relative to the folder.
type File struct {
	Path string
	Data []byte
}

// Of are files that another package describes alike.
func Of[F ~struct {
	Path string
	Data []byte
}](list []F) []File {
	return lists.Map(list, func(f F) File { return File(f) })
}

// Folder is an output folder that is filled out of sight and appears, complete,
// by Commit. Several processes may do so at once: one whole folder after the
// other appears.
//
// What is staged lies beside the folder, in .nncc-tmp-*/new, where the file
// lock is locked as long as the process lives: what processes that were killed
// left is known by it, and removed.
type Folder struct {
	name          string // as the user wrote it
	dir, manifest string
	base          string // where the lock and the stage are: the parent, or dir
	stage         string
	release       func() // of the stage's lock
	files         []string
	kept          []string
}

// Fresh is what the name of a file ends with that could not take the place of one that a user changed.
const Fresh = ".new"

const stagePrefix = ".nncc-tmp-"

// NewFolder prepares the output folder dir. The file manifest in it, JSON with
// the keys generator and files, tells what nncc wrote; places that are somebody
// else's are refused before any work is done.
func NewFolder(dir, manifest string) (_ *Folder, err error) {
	defer fail.Catch(&err)
	name := dir
	if err := Ours(dir, manifest); err != nil {
		return nil, unwritable(name, err)
	}
	// Absolute: the current folder itself may be the one that is replaced.
	dir = fail.Must(filepath.Abs(dir))
	f := &Folder{name: name, dir: dir, manifest: manifest, base: filepath.Dir(dir)}
	if err := os.MkdirAll(f.base, 0o777); err != nil {
		return nil, unwritable(name, err)
	}
	if err = f.prepare(); errors.Is(err, fs.ErrPermission) && isDir(dir) {
		f.base = dir // no one may write beside it
		err = f.prepare()
	}
	if err != nil {
		return nil, unwritable(name, err)
	}
	return f, nil
}

func (f *Folder) prepare() (err error) {
	defer fail.Catch(&err)
	unlock := fail.Must(lock(f.base))
	defer unlock()
	sweep(f.base)
	f.stage = fail.Must(TempDir(f.base, stagePrefix))
	if f.release, err = tryLock(filepath.Join(f.stage, "lock")); err == nil {
		err = os.Mkdir(f.new(), 0o777)
	}
	if err != nil {
		f.Discard()
	}
	return err
}

func (f *Folder) new() string { return filepath.Join(f.stage, "new") }

// Kept are the files, with slashes, that a user had edited and Commit has kept: what was added in the place of
// one has its name with Fresh.
func (f *Folder) Kept() []string { return f.kept }

// Files are the paths added so far.
func (f *Folder) Files() []string { return f.files }

// Add writes files to the stage.
func (f *Folder) Add(list ...File) error {
	f.files = append(f.files, lists.Map(list, func(x File) string { return x.Path })...)
	return unwritable(f.name, WriteTree(f.new(), list))
}

// WriteTree writes files below dir, which no other process writes to.
func WriteTree(dir string, list []File) (err error) {
	defer fail.Catch(&err)
	for _, x := range list {
		p := filepath.FromSlash(x.Path)
		if !filepath.IsLocal(p) {
			return bug.Errorf("%q is no path within a folder", x.Path)
		}
		p = filepath.Join(dir, p)
		fail.Check(os.MkdirAll(filepath.Dir(p), 0o777))
		fail.Check(os.WriteFile(p, x.Data, 0o666))
	}
	return nil
}

// Discard removes what is not committed.
func (f *Folder) Discard() {
	if f.release != nil {
		f.release()
		f.release = nil
	}
	if f.stage != "" {
		RemoveTemp(f.stage)
	}
}

// Commit puts the folder in its place. Files of the user's in a folder that is
// replaced are kept, and so are those of nncc's that the user changed.
func (f *Folder) Commit() error { return unwritable(f.name, f.commit()) }

func (f *Folder) commit() (err error) {
	defer fail.Catch(&err)
	unlock := fail.Must(lock(f.base))
	defer unlock()
	sweep(f.base)
	// Another process may have been here since NewFolder.
	old, edited := fail.Must2(written(f.dir, f.manifest))
	f.yield(edited)
	st, err := os.Lstat(f.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(f.new(), f.dir)
	case err != nil:
		return err
	case f.base == f.dir || isCurrent(st): // processes whose working folder it is still see it
		return f.fill(old)
	}
	fail.Check(os.Chmod(f.new(), st.Mode().Perm()))
	fail.Check(f.carry(f.dir, old, true))
	if err := f.swap(); err != nil {
		if errors.Is(err, errNotMoved) { // a mount point, say
			return f.fill(old)
		}
		return err
	}
	// What the user has put there since.
	return f.carry(f.was(), old, false)
}

// yield leaves their places to files that the user edited: what would replace one gets another name.
func (f *Folder) yield(edited map[string]bool) {
	for p := range edited {
		f.kept = append(f.kept, filepath.ToSlash(p))
		i := slices.Index(f.files, filepath.ToSlash(p))
		if i < 0 {
			continue // it is not written any more
		}
		f.files[i] += Fresh
		fail.Check(os.Rename(filepath.Join(f.new(), p), filepath.Join(f.new(), p+Fresh)))
	}
	slices.Sort(f.kept)
}

func (f *Folder) was() string { return filepath.Join(f.stage, "old") }

// errNotMoved: the folder cannot be renamed; nothing has changed.
var errNotMoved = errors.New("the folder cannot be moved")

// swap replaces the folder by the stage: in one step where the system can, else
// in two, between which a file says what sweep has to complete.
func (f *Folder) swap() error {
	if exchange(f.new(), f.dir) == nil {
		return os.Rename(f.new(), f.was())
	}
	if err := os.WriteFile(filepath.Join(f.stage, "target"), []byte(f.dir), 0o666); err != nil {
		return err
	}
	if err := os.Rename(f.dir, f.was()); err != nil {
		return fmt.Errorf("%w: %w", errNotMoved, err)
	}
	if err := os.Rename(f.new(), f.dir); err != nil {
		return errors.Join(err, os.Rename(f.was(), f.dir))
	}
	return nil
}

// fill replaces what nncc wrote in a folder that stays itself, file by file.
// Meanwhile its manifest says that it is incomplete: nncc replaces such a folder.
func (f *Folder) fill(old map[string]bool) (err error) {
	defer fail.Catch(&err)
	if f.base != f.dir {
		// To the same device, so that every step is a rename.
		sweep(f.dir)
		in := fail.Must(TempDir(f.dir, stagePrefix))
		defer RemoveTemp(in)
		fail.Check(os.CopyFS(filepath.Join(in, "new"), os.DirFS(f.new())))
		RemoveTemp(f.new())
		g := *f
		g.stage, g.base = in, f.dir
		return g.fill(old)
	}
	now, list := map[string]bool{}, []string{f.manifest}
	for _, p := range f.files {
		now[filepath.FromSlash(p)] = true
		list = append(list, p)
	}
	for p := range now {
		if st, err := os.Lstat(filepath.Join(f.dir, p)); err == nil && (st.IsDir() || old == nil || !old[p]) {
			return f.foreign(p)
		}
	}
	for p := range old {
		list = append(list, filepath.ToSlash(p))
	}
	half := fail.Must(json.Marshal(map[string]any{"generator": "nncc", "incomplete": true, "files": list}))
	tmp := filepath.Join(f.stage, "half")
	fail.Check(os.WriteFile(tmp, half, 0o666))
	manifest := filepath.Join(f.dir, f.manifest)
	fail.Check(os.Rename(tmp, manifest))
	for p := range old {
		if !now[p] && p != f.manifest {
			if err := os.Remove(filepath.Join(f.dir, p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for d := filepath.Dir(p); d != "." && os.Remove(filepath.Join(f.dir, d)) == nil; d = filepath.Dir(d) {
			}
		}
	}
	for p := range now {
		if p == filepath.FromSlash(f.manifest) {
			continue
		}
		to := filepath.Join(f.dir, p)
		fail.Check(os.MkdirAll(filepath.Dir(to), 0o777))
		fail.Check(os.Rename(filepath.Join(f.new(), p), to))
	}
	return os.Rename(filepath.Join(f.new(), f.manifest), manifest)
}

func (f *Folder) foreign(rel string) error {
	return fmt.Errorf("%s was not written by nncc, and is where nncc wants to write: move it away, or choose "+
		"another folder", filepath.Join(f.dir, rel))
}

// carry moves what is not nncc's from the folder that is replaced into the
// stage (before the swap) or the new folder (after it). Before, files are linked
// or copied, so that the old folder stays whole until the new one is there.
// Objects of the emitted Makefile (build) stay behind.
func (f *Folder) carry(from string, old map[string]bool, before bool) error {
	into := f.dir
	if before {
		into = f.new()
	}
	made := map[string]bool{} // folders that nncc made: they go with their last file
	for p := range old {
		for d := filepath.Dir(p); d != "."; d = filepath.Dir(d) {
			made[d] = true
		}
	}
	return filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() && (rel == "build" || strings.HasPrefix(e.Name(), stagePrefix)) {
			return filepath.SkipDir
		}
		if old[rel] || e.IsDir() && made[rel] || e.Name() == lockName {
			return nil
		}
		to := filepath.Join(into, rel)
		if there, err := os.Lstat(to); err == nil {
			if !before || e.IsDir() && there.IsDir() {
				return nil
			}
			return f.foreign(rel)
		}
		if e.IsDir() {
			st, err := e.Info()
			if err == nil {
				err = os.MkdirAll(to, st.Mode().Perm()|0o700)
			}
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if !before {
			return os.Rename(p, to)
		}
		return duplicate(p, to, e.Type())
	})
}

func duplicate(from, to string, kind fs.FileMode) (err error) {
	defer fail.Catch(&err)
	if kind&fs.ModeSymlink != 0 {
		target := fail.Must(os.Readlink(from))
		return os.Symlink(target, to)
	}
	if os.Link(from, to) == nil {
		return nil
	}
	b := fail.Must(Read(from, 1<<40))
	st := fail.Must(os.Stat(from))
	return errors.Join(os.WriteFile(to, b, st.Mode().Perm()), os.Chtimes(to, st.ModTime(), st.ModTime()))
}

// sweep removes stages of processes that were killed, and puts a folder back
// that one of them had just moved away. The caller holds the lock of base.
func sweep(base string) {
	es, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range es {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), stagePrefix) {
			continue
		}
		dir := filepath.Join(base, e.Name())
		release, err := tryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue // its process lives, or it is somebody else's
		}
		if target, err := os.ReadFile(filepath.Join(dir, "target")); err == nil &&
			filepath.Dir(string(target)) == base {
			if _, err := os.Lstat(string(target)); errors.Is(err, fs.ErrNotExist) {
				_ = os.Rename(filepath.Join(dir, "old"), string(target))
			}
		}
		release()
		_ = os.RemoveAll(dir)
	}
}

// Ours is an error where dir is somebody else's. It may be called without the lock:
// a folder that another process replaces meanwhile is looked at again.
func Ours(dir, manifest string) error {
	for try := 1; ; try++ {
		before, _ := os.Lstat(dir)
		_, _, err := written(dir, manifest)
		if err == nil || try == maxLooks {
			return err
		}
		if after, _ := os.Lstat(dir); before == nil && after == nil ||
			before != nil && after != nil && os.SameFile(before, after) {
			return err
		}
	}
}

// maxLooks is how often Ours looks at a folder that is replaced each time.
const maxLooks = 100

// written gives the files that nncc wrote into dir, and apart from them those that were edited since (by the
// hashes in its manifest, where it has some); nil when dir is absent or empty; an error when it is somebody else's.
func written(dir, manifest string) (mine, edited map[string]bool, err error) {
	if empty, err := isEmpty(dir); err != nil || empty {
		return nil, nil, err
	}
	var r struct {
		Generator string            `json:"generator"`
		Files     []string          `json:"files"`
		Hashes    map[string]string `json:"file_hashes"`
	}
	b, err := Read(filepath.Join(dir, manifest), maxManifest)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Generator != "nncc" {
		return nil, nil, fmt.Errorf("%s is not empty and was not written by nncc (it has no %s of nncc's): choose "+
			"another folder, or remove it", dir, manifest)
	}
	mine, edited = map[string]bool{filepath.FromSlash(manifest): true}, map[string]bool{}
	for _, f := range r.Files {
		p := filepath.Clean(filepath.FromSlash(f))
		if !filepath.IsLocal(p) { // a manifest may have been written by somebody else
			continue
		}
		sum := r.Hashes[f]
		if sum == "" || !isEdited(filepath.Join(dir, p), sum) {
			mine[p] = true
		} else {
			edited[p] = true
		}
		if fresh := p + Fresh; sum != "" && !isEdited(filepath.Join(dir, fresh), sum) {
			mine[fresh] = true
		}
	}
	return mine, edited, nil
}

// isEdited reports a file whose bytes have another hash; the ends of lines that version control may have put there
// do not count.
func isEdited(path, sum string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	b, err := Read(path, maxManifest)
	return err == nil && Hash(b) != sum && Hash(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))) != sum
}

// Hash is that of a file in file_hashes: its SHA-256, in hexadecimal.
func Hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// isEmpty reports a folder that is absent, or holds nothing but what nncc works with; an error where it cannot
// become an output folder.
func isEmpty(dir string) (_ bool, err error) {
	defer fail.Catch(&err)
	st, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	fail.If(st.Mode()&fs.ModeSymlink != 0, "%s is a symbolic link, which nncc does not follow: name the folder itself",
		dir)
	fail.If(!st.IsDir(), "%s exists and is no folder: it is %s", dir, Kind(st.Mode()))
	es, err := os.ReadDir(dir)
	return !slices.ContainsFunc(es, func(e fs.DirEntry) bool {
		return e.Name() != lockName && !strings.HasPrefix(e.Name(), stagePrefix)
	}), err
}

// maxManifest bounds what is read of a manifest: reports of large models have
// tens of megabytes.
const maxManifest = 1 << 30

func isDir(p string) bool {
	st, err := os.Lstat(p)
	return err == nil && st.IsDir()
}

func isCurrent(dir fs.FileInfo) bool {
	st, err := os.Stat(".")
	return err == nil && os.SameFile(st, dir)
}
