# SPDX-License-Identifier: GPL-2.0
# A PMU for each of two CPUs; both interrupt by the same PPI.
s/^\t\tcpu@\([01]\) {/\t\tcpu\1: cpu@\1 {/
/^\tpmu {/,/^\t};/c\
	pmu-big {\
		compatible = "arm,cortex-a72-pmu";\
		interrupts = <1 7 4>;\
		interrupt-affinity = <&cpu0>;\
	};\
	pmu-little {\
		compatible = "arm,cortex-a53-pmu";\
		interrupts = <1 7 4>;\
		interrupt-affinity = <&cpu1>;\
	};
