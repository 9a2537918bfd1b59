// SPDX-License-Identifier: Apache-2.0

//go:build !js

package main

import (
	"io"

	"github.com/schollz/progressbar/v3"
)

func newSpinner(w io.Writer) spinner {
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14))
}
