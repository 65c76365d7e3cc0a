# SPDX-License-Identifier: GPL-2.0
# A PMU without an interrupt.
/^\tpmu {/,/^\t};/{
	/interrupts/d
}
