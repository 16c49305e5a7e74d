# SPDX-License-Identifier: Apache-2.0
"""Pictures of what penstock measures and traces: `penstock plot`."""
