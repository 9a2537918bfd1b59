// SPDX-License-Identifier: Apache-2.0

package main

import "os"

// hangUp is nil: a page has no terminal that closes.
var hangUp os.Signal
