# SPDX-License-Identifier: GPL-2.0
# An idle state that loses the CPU's context: bit 16 of the parameter (PSCI, CPU_SUSPEND).
/^\t\tcpu@/a\
			cpu-idle-states = <&sleep>;
/^\t\tcpu-map {/i\
		idle-states {\
			entry-method = "psci";\
			sleep: sleep {\
				compatible = "arm,idle-state";\
				arm,psci-suspend-param = <0x10000>;\
				entry-latency-us = <1>;\
				exit-latency-us = <1>;\
				min-residency-us = <2>;\
			};\
		};
