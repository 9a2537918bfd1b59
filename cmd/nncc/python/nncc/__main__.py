# SPDX-License-Identifier: Apache-2.0
from nncc import main

main()
