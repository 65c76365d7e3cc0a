#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The one refusal that takes a locked down kernel; tests.list boots it with lockdown=confidentiality.
exec "$(dirname "$0")/errno" "REGS_INTR, locked down"
