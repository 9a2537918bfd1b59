// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a YAML file that a user writes. Whatever is larger or deeper is a mistake or an attack, and would keep
// what reads it busy for long.
const (
	maxYAMLValues = 20000
	maxYAMLDepth  = 64
)

// YAMLError is what is wrong with a YAML file.
type YAMLError struct {
	Line int // 0: not known
	Msg  string
}

func (e *YAMLError) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
}

// YAML reads the one document of a file: nil where it is empty or null. Anchors, aliases and merge keys, by which
// small files become large ones, are refused; instead says what to write in their place.
func YAML(data []byte, instead string) (*yaml.Node, error) {
	// The parser recurses over flow collections before anything here can look at depth.
	if n := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")); n > maxYAMLValues/4 {
		return nil, &YAMLError{0, fmt.Sprintf("%d opening brackets; at most %d are read", n, maxYAMLValues/4)}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decodeNode(dec, &doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := decodeNode(dec, &more); err == nil {
		return nil, &YAMLError{more.Line, "a second YAML document; want one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	left := maxYAMLValues
	if err := plainYAML(doc.Content[0], 0, &left, instead); err != nil {
		return nil, err
	}
	if n := doc.Content[0]; n.ShortTag() != "!!null" {
		return n, nil
	}
	return nil, nil
}

// decodeNode shields callers from panics of the YAML library on hostile text.
func decodeNode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: unreadable: %v", r)
		}
	}()
	return dec.Decode(n)
}

// yamlError turns "yaml: line 3: text" into an error with that line.
func yamlError(err error) error {
	e := &YAMLError{Msg: strings.TrimPrefix(err.Error(), "yaml: ")}
	if n, _ := fmt.Sscanf(e.Msg, "line %d:", &e.Line); n == 1 {
		e.Msg = strings.TrimSpace(e.Msg[strings.Index(e.Msg, ":")+1:])
	}
	return e
}

// plainYAML holds a value and those in it against the limits, of which so many values are left.
func plainYAML(n *yaml.Node, depth int, left *int, instead string) error {
	fail := func(format string, args ...any) error { return &YAMLError{n.Line, fmt.Sprintf(format, args...)} }
	*left--
	switch {
	case *left < 0:
		return fail("more than %d values; no more are read", maxYAMLValues)
	case depth > maxYAMLDepth:
		return fail("nested deeper than %d levels", maxYAMLDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fail("anchors and aliases are not accepted; %s", instead)
	case n.ShortTag() == "!!merge":
		return fail("merge keys (<<) are not accepted; %s", instead)
	}
	for _, c := range n.Content {
		if err := plainYAML(c, depth+1, left, instead); err != nil {
			return err
		}
	}
	return nil
}
