// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

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
	if err := files.ReplaceFile(c.page, page(), nil, c.inputFiles()...); err != nil {
		return &driver.InputError{Err: fmt.Errorf("--html: %w", err)}
	}
	return nil
}
