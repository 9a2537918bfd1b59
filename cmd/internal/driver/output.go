// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/files"
)

// Write puts the firmware folder in place, complete or not at all. A folder
// that nncc wrote before is replaced, files in it that are not nncc's are kept;
// any other folder that is not empty is refused. It gives the files that a user had edited: they are kept, and the
// new ones are beside them (files.Fresh).
func (f *Firmware) Write(dir string) (kept []string, err error) {
	return writeFolder(dir, report.File, append(slices.Clone(f.Files), f.reportFiles()...))
}

// Write writes the firmware that the model is part of.
func (o *Compiled) Write(dir string) error {
	_, err := o.Firmware.Write(dir)
	return err
}

// reportFiles are the pages and report.json, which has the hashes of all other files.
func (f *Firmware) reportFiles() []codegen.File {
	hashed := func(pages ...codegen.File) map[string]string {
		sums := map[string]string{}
		for _, x := range append(pages, f.Files...) {
			sums[x.Path] = files.Hash(x.Data)
		}
		return sums
	}
	if !f.Several() {
		r := f.Models[0].Report
		page := codegen.File{Path: report.HTMLFile, Data: r.HTML()}
		r.FileHashes = hashed(page)
		return []codegen.File{page, {Path: report.File, Data: r.JSON()}}
	}
	list := []codegen.File{{Path: report.HTMLFile, Data: f.Report.HTML()}}
	for _, r := range f.Reports() {
		list = append(list, codegen.File{Path: r.Page(), Data: r.HTML()})
	}
	f.Report.FileHashes = hashed(list...)
	return append(list, codegen.File{Path: report.File, Data: f.Report.JSON()})
}

// The file of a folder by which nncc knows again what it wrote: JSON with the
// keys generator and files. Each kind of folder has one of its own, so that one
// does not replace another.
const (
	runManifest     = "run.json"
	dumpManifest    = "dump.json"
	tensorsManifest = "tensors.json"
)

func writeFolder(dir, manifest string, list []codegen.File) (kept []string, err error) {
	f, err := newFolder(dir, manifest)
	if err != nil {
		return nil, err
	}
	defer f.Discard()
	if err := f.Add(files.Of(list)...); err != nil {
		return nil, &InputError{err}
	}
	err = commit(f)
	return f.Kept(), err
}

func newFolder(dir, manifest string) (*files.Folder, error) {
	f, err := files.NewFolder(dir, manifest)
	if err != nil {
		return nil, &InputError{err}
	}
	return f, nil
}

func commit(f *files.Folder) error {
	if err := f.Commit(); err != nil {
		return &InputError{err}
	}
	return nil
}

// replaceFiles writes a file that the user named, and others beside it: all of
// them, or none where one cannot be written. None is an input of the command.
func (c *Config) replaceFiles(path string, data []byte, beside ...files.Target) error {
	list := append([]files.Target{{Path: filepath.Base(path), Data: data}}, beside...)
	for i, t := range list {
		for _, u := range list[:i] {
			if filepath.Clean(filepath.FromSlash(t.Path)) == filepath.Clean(filepath.FromSlash(u.Path)) {
				return badInput("file %s would be written twice", t.Path)
			}
		}
	}
	if err := files.ReplaceFile(path, data, beside, c.InputFiles()...); err != nil {
		return &InputError{err}
	}
	return nil
}

// InputFiles are the files that the command reads.
func (c *Config) InputFiles() []string {
	list := []string{c.Model, c.Script, c.Board, c.LayersConfig, c.CMSISLib, c.Eval.Data, c.Eval.Labels,
		c.Eval.Classes}
	list = append(append(append(list, c.Functions...), c.Calib...), c.read...)
	for _, s := range append(append([]string(nil), c.Inputs...), c.Set...) {
		list = append(list, s)
		for i := range s { // NAME=FILE, where names may hold equals signs
			if s[i] == '=' {
				list = append(list, s[i+1:])
			}
		}
	}
	return list
}

// writeFiles fills a folder of nncc's own.
func writeFiles(dir string, list []codegen.File) error { return files.WriteTree(dir, files.Of(list)) }

// OutDir is the folder that Write should fill.
func (f *Firmware) OutDir() string {
	c := f.config()
	if c.Out != "" {
		return c.Out
	}
	name := modelName(c.Model)
	if f.Several() {
		name = "models"
	}
	return name + "-" + modelName(c.Board)
}
