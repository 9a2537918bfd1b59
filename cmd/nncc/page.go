// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/files"
)

func pageFlag(c *cli, fs *pflag.FlagSet) {
	fs.StringVar(&c.page, "html", "", "also write what is printed, drawn, as one page to `FILE`")
}

// writePage writes --html, if it is asked for.
func (c *cli) writePage(page func() []byte) error {
	if c.page == "" {
		return nil
	}
	list := []files.Target{{Path: filepath.Base(c.page), Data: page()}}
	if err := files.Replace(filepath.Dir(c.page), list, c.inputFiles()...); err != nil {
		return &driver.InputError{Err: fmt.Errorf("--html: %w", err)}
	}
	return nil
}
