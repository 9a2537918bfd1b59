// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package files

import "errors"

// exchange makes two paths change places in one step; not here.
func exchange(a, b string) error { return errors.ErrUnsupported }
