# SPDX-License-Identifier: Apache-2.0
from penstock_plot.command import main

main()
