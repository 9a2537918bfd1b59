// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
)

// kind is what a file holds.
type kind int

const (
	unknown kind = iota
	arrays
	pictures
	recordings
	tables
	labels
)

var kindNames = map[kind]string{arrays: ".npy or .npz", pictures: "pictures (.png, .jpg)",
	recordings: "recordings (.wav)", tables: "tables (.csv)"}

// extensions say what files hold.
var extensions = map[string]kind{".npy": arrays, ".npz": arrays, ".png": pictures, ".jpg": pictures,
	".jpeg": pictures, ".wav": recordings, ".csv": tables}

// unread are formats that people have and nncc does not read.
var unread = map[string]string{".gif": "PNG", ".bmp": "PNG", ".webp": "PNG", ".tif": "PNG", ".tiff": "PNG",
	".heic": "PNG", ".ppm": "PNG", ".pgm": "PNG", ".mp3": "WAV", ".flac": "WAV", ".ogg": "WAV", ".m4a": "WAV",
	".aac": "WAV", ".xlsx": "CSV", ".parquet": "CSV", ".tsv": "CSV"}

// convertTo is what files that are not read become; "": they are none of these.
func convertTo(path string) string { return unread[strings.ToLower(filepath.Ext(path))] }

// notRead is the error of such a file.
func (s *Set) notRead(path string) {
	s.refuse(true, path, "files of this kind are not read; convert them to %s", convertTo(path))
}

// labelFiles are the names of files of labels in a folder of data.
var labelFiles = []string{"labels.txt", "labels.csv", "classes.txt"}

func kindOf(path string) kind {
	if slices.Contains(labelFiles, strings.ToLower(filepath.Base(path))) {
		return labels
	}
	return extensions[strings.ToLower(filepath.Ext(path))]
}

// file is a file of a folder.
type file struct {
	path  string
	rel   string // below the folder, with slashes
	class string // its first subfolder; "": it lies in the folder itself
}

// listing is what a folder holds.
type listing struct {
	kind    kind
	files   []file // of this kind
	labels  []string
	classes bool // every file lies in a subfolder
}

// maxDepth is how deep folders may be nested.
const maxDepth = 3

// survey lists a folder. One with files of several kinds is refused: which of them
// are the samples?
func (s *Set) survey(root string) *listing {
	found := map[kind][]file{}
	foreign := ""
	l := &listing{classes: true}
	var walk func(dir, rel string, depth int)
	walk = func(dir, rel string, depth int) {
		s.refuse(depth > maxDepth-1, dir, "folders are nested more than three deep")
		list, err := os.ReadDir(dir)
		s.refuse(err != nil, dir, "%w", err)
		lists.Sort(list, func(a, b os.DirEntry) int { return text.Natural(a.Name(), b.Name()) })
		for _, e := range list {
			name := e.Name()
			full, below := filepath.Join(dir, name), strings.TrimPrefix(rel+"/"+name, "/")
			k := kindOf(name)
			switch {
			case strings.HasPrefix(name, "."):
			case e.IsDir():
				walk(full, below, depth+1)
			case k == labels:
				l.labels = append(l.labels, full)
			case k != unknown:
				class, _, in := strings.Cut(below, "/")
				if !in {
					class, l.classes = "", false
				}
				found[k] = append(found[k], file{full, below, class})
			case convertTo(name) != "" && foreign == "":
				foreign = full
			}
		}
	}
	walk(root, "", 0)
	s.oneKind(root, l, found, foreign)
	return l
}

// oneKind takes the files of the only kind there is.
func (s *Set) oneKind(root string, l *listing, found map[kind][]file, foreign string) {
	var what []string
	for k := arrays; k < labels; k++ {
		if len(found[k]) > 0 {
			what = append(what, fmt.Sprintf("%d of %s (%s)", len(found[k]), kindNames[k], found[k][0].rel))
			l.kind, l.files = k, found[k]
		}
	}
	s.refuse(len(what) > 1, root, "holds files of several kinds: %s; put the samples into a folder of their own",
		strings.Join(what, ", "))
	if len(what) == 0 && foreign != "" {
		s.notRead(foreign)
	}
	if !l.classes {
		s.loose(root, l)
	}
}

// loose takes the classes from files of which some lie beside the folders, and says so
// where labels are wanted.
func (s *Set) loose(root string, l *listing) {
	var beside, in []string
	for i := range l.files {
		f := &l.files[i]
		if f.class == "" {
			beside = append(beside, f.rel)
		} else if !slices.Contains(in, f.class) {
			in = append(in, f.class)
		}
		f.class = ""
	}
	if s.opt.Labelled && s.opt.Labels == "" && len(in) > 0 && len(l.labels) == 0 {
		s.Diags.Add(diag.Warnf("loose-files", root, "%d files lie beside the folders (%s), so that these (%s) are no "+
			"classes and there are no labels: move the files into folders, or say --labels FILE", len(beside),
			quoted(beside), quoted(in)))
	}
}
