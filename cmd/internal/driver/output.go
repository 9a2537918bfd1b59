package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nncc/nncc/codegen"
)

// Write puts the firmware folder in place, complete or not at all. A folder
// that nncc wrote before is replaced, files in it that are not nncc's are kept;
// any other folder that is not empty is refused.
func (o *Compiled) Write(dir string) error {
	files := append(append([]codegen.File(nil), o.Files...),
		codegen.File{Path: firmwareManifest, Data: o.Report.JSON()}, codegen.File{Path: htmlReport, Data: o.Report.HTML()})
	return writeFolder(dir, firmwareManifest, files)
}

// The file of a folder by which nncc knows again what it wrote: JSON with the
// keys generator and files. Each kind of folder has one of its own, so that one
// does not replace another.
const (
	firmwareManifest = "report.json"
	runManifest      = "run.json"
	dumpManifest     = "dump.json"
)

func writeFolder(dir, manifest string, files []codegen.File) error {
	f, err := newFolder(dir, manifest)
	if err != nil {
		return err
	}
	defer f.discard()
	if err := f.add(files...); err != nil {
		return err
	}
	return f.commit()
}

// folder is an output folder that is filled beside its place and appears
// there, complete, by commit.
type folder struct {
	dir, tmp string
	old      map[string]bool // what nncc wrote there before; nil: nothing is there
	files    []string
}

// newFolder refuses places that are somebody else's before any work is done.
func newFolder(dir, manifest string) (*folder, error) {
	old, err := ours(dir, manifest)
	if err != nil {
		return nil, err
	}
	// Absolute: the current folder itself may be the one that is replaced.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, &InputError{err}
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, &InputError{err}
	}
	tmp, err := os.MkdirTemp(parent, ".nncc-")
	if err != nil {
		return nil, &InputError{err}
	}
	f := &folder{dir: dir, tmp: tmp, old: old}
	if err := os.Chmod(tmp, 0o755); err != nil {
		f.discard()
		return nil, err
	}
	return f, nil
}

func (f *folder) add(files ...codegen.File) error {
	for _, x := range files {
		f.files = append(f.files, x.Path)
	}
	return writeFiles(f.tmp, files)
}

// discard removes what is not committed.
func (f *folder) discard() { os.RemoveAll(f.tmp) }

// commit puts the folder in its place. Files of the user's in a folder that is
// replaced are kept.
func (f *folder) commit() error {
	if !exists(f.dir) {
		return os.Rename(f.tmp, f.dir)
	}
	if f.old == nil { // empty: it may be the current folder, so it stays itself
		return fill(f.dir, f.tmp)
	}
	away, err := os.MkdirTemp(filepath.Dir(f.dir), ".nncc-")
	if err != nil {
		return err
	}
	was := filepath.Join(away, "old")
	if err := os.Rename(f.dir, was); err != nil {
		os.Remove(away)
		return &InputError{err}
	}
	if err := os.Rename(f.tmp, f.dir); err != nil {
		return errors.Join(err, os.Rename(was, f.dir), os.Remove(away))
	}
	if err := keepForeign(was, f.dir, f.old); err != nil {
		return fmt.Errorf("%w; the folder as it was is in %s", err, was)
	}
	return os.RemoveAll(away)
}

// fill moves what is in from into the empty folder dir, all or nothing.
func fill(dir, from string) error {
	es, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for i, e := range es {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			for _, x := range es[:i] {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, x.Name())))
			}
			return &InputError{err}
		}
	}
	return nil
}

// ours gives the files that nncc wrote into dir; nil when dir is absent or
// empty; an error when it is somebody else's.
func ours(dir, manifest string) (map[string]bool, error) {
	st, err := os.Lstat(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, &InputError{err}
	}
	if !st.IsDir() {
		return nil, &InputError{fmt.Errorf("%s exists and is no folder", dir)}
	}
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil, &InputError{err}
	}
	if len(es) == 0 {
		return nil, nil
	}
	var r struct {
		Generator string   `json:"generator"`
		Files     []string `json:"files"`
	}
	b, err := os.ReadFile(filepath.Join(dir, manifest))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Generator != "nncc" {
		return nil, &InputError{fmt.Errorf("%s is not empty and was not written by nncc (it has no %s of nncc's): choose another folder, or remove it", dir, manifest)}
	}
	m := map[string]bool{}
	for _, f := range r.Files {
		m[filepath.FromSlash(f)] = true
	}
	return m, nil
}

// keepForeign moves what is not nncc's from the old folder to the new one,
// unless a new file has the same name. Objects of the emitted Makefile go.
func keepForeign(dir, into string, old map[string]bool) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() && rel == "build" {
			return filepath.SkipDir
		}
		if e.IsDir() || old[rel] {
			return nil
		}
		to := filepath.Join(into, rel)
		if exists(to) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.Rename(p, to)
	})
}

// replaceFiles writes files of the given paths: all of them, or none where one
// cannot be written.
func replaceFiles(files []codegen.File) error {
	type pending struct{ tmp, to string }
	var ready []pending
	defer func() {
		for _, f := range ready {
			os.Remove(f.tmp)
		}
	}()
	for _, f := range files {
		if st, err := os.Stat(f.Path); err == nil && st.IsDir() {
			return &InputError{fmt.Errorf("%s is a folder; want a file", f.Path)}
		}
		dir := filepath.Dir(f.Path)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return &InputError{err}
		}
		tmp, err := os.CreateTemp(dir, ".nncc-")
		if err != nil {
			return &InputError{err}
		}
		ready = append(ready, pending{tmp.Name(), f.Path})
		_, err = tmp.Write(f.Data)
		if err := errors.Join(err, tmp.Close(), os.Chmod(tmp.Name(), 0o644)); err != nil {
			return &InputError{err}
		}
	}
	for _, f := range ready {
		if err := os.Rename(f.tmp, f.to); err != nil {
			return &InputError{err}
		}
	}
	return nil
}

func writeFiles(dir string, files []codegen.File) error {
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(p, f.Data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
