# SPDX-License-Identifier: GPL-2.0
# The targets are listed by "make help". Variables:
#   ARCH=arm64|x86_64   BUILD=dir (build)   O=dir (of "configure", "kernel", "stock", "debug")
#   JOBS=n   TARBALL=linux-source-6.12.tar.xz   KERNEL=ours|stock|debug   CMD='...'   SMP=n
#   ICOUNT=shift   PMU=name   CPU=name   MEM=megabytes   FILES='...'   TIMEOUT=seconds
#   APPEND='kernel parameters'   QEMU=program   QEMU_ARGS='...'

# A path with a blank would be two words of a recipe, and Kbuild has no such paths.
$(foreach path,CURDIR BUILD O TARBALL,$(if $(word 2,$($(path))),$(error \
	$(path) has a blank: $($(path)); use a path without)))

ARCH ?= x86_64
BUILD ?= build
JOBS ?= $(shell nproc)
STOCK := $(CURDIR)/build/src/stock
OVERLAY := $(abspath $(BUILD))/src/overlay
OUT := $(abspath $(BUILD))
export BUILD JOBS TARBALL

IMAGE_arm64 := Image
IMAGE_x86_64 := bzImage
IMAGE_PATH_x86_64 := arch/x86/boot/bzImage
IMAGE = $(IMAGE_$(ARCH))

FRAGMENTS := $(addprefix $(CURDIR)/configs/,perf.config $(ARCH).config)
OURS := $(CURDIR)/configs/ours.config
CONFIG := scripts/config $(ARCH)
KBUILD := scripts/kbuild $(ARCH)

.DEFAULT_GOAL := help
# Each step uses all CPUs by itself; two at once would only slow each other down.
.NOTPARALLEL:
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' Makefile

.PHONY: arch tree stock-tree
arch:
	@case "$(ARCH)" in arm64|x86_64) ;; *) \
	echo "error: ARCH=$(ARCH) is not known; use ARCH=arm64 or ARCH=x86_64" >&2; exit 1;; esac
	@scripts/need build/$(ARCH)

stock-tree:
	@scripts/overlay/stock $(STOCK)

tree: stock-tree ## the overlay source tree alone
	@scripts/overlay/sync $(STOCK) $(OVERLAY)

kernel: OBJ = $(if $(O),$(abspath $(O)),$(OUT)/$(ARCH))
kernel: arch tree ## our kernel
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS) $(OURS)
	@$(KBUILD) $(OVERLAY) $(OBJ) $(IMAGE)

stock: OBJ = $(if $(O),$(abspath $(O)),$(OUT)/stock-$(ARCH))
stock: arch stock-tree ## the untouched base, same configuration
	@$(CONFIG) $(STOCK) $(OBJ) $(FRAGMENTS)
	@LOCALVERSION=-stock $(KBUILD) $(STOCK) $(OBJ) $(IMAGE)

debug: OBJ = $(if $(O),$(abspath $(O)),$(OUT)/debug-$(ARCH))
debug: arch tree ## our kernel with the sanitizers and lockdep on
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS) $(OURS) $(CURDIR)/configs/debug.config \
		$(wildcard $(CURDIR)/configs/debug-$(ARCH).config)
	@$(KBUILD) $(OVERLAY) $(OBJ) $(IMAGE)

configure: OBJ = $(if $(O),$(abspath $(O)),$(OUT)/$(ARCH))
configure: arch tree ## configure and prepare an object directory, build nothing
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS) $(OURS)
	@$(KBUILD) $(OVERLAY) $(OBJ) prepare

.PHONY: kernel stock debug configure

KERNEL ?= ours
GOAL_ours := kernel
GOAL_stock := stock
GOAL_debug := debug
export ARCH KERNEL APPEND CMD FILES SMP MEM ICOUNT TIMEOUT QEMU QEMU_ARGS CPU PMU
unexport O
override APPEND := $(value APPEND)
override CMD := $(value CMD)

guest: $(if $(filter x86_64,$(ARCH)),qemu) ## the guest's file systems (busybox, perf, selftests)
	@scripts/guest/build $(ARCH)

run: $(GOAL_$(KERNEL)) guest ## boot and run CMD; without CMD, perf stat of a real program
	@scripts/run

shell: $(GOAL_$(KERNEL)) guest ## boot with a shell
	@scripts/run -i

.PHONY: guest run shell

# ARCH given on the command line narrows a check to it; "make check" is both.
ARCHES = $(if $(filter command line environment,$(origin ARCH)),$(ARCH),arm64 x86_64)
each = @for a in $(ARCHES); do $(MAKE) --no-print-directory $(1) ARCH=$$a O= || exit 1; done
CHECK = scripts/check $(addprefix --arch ,$(ARCHES)) $(patsubst %,--without '%',$(WITHOUT)) \
	$(if $(FIRST),--first) $(addprefix --within ,$(WITHIN)) $(TEST)

# WITHOUT='pattern...' leaves selftests out; FIRST=1 runs each on the first of its machines only.
# WITHIN=seconds: no guest is started later, what has not run is skipped.
# On our x86_64 kernel tools/testing/qemu/branches, precise and ibs run, too: TEST='branches ...'.
check: ## KUnit, selftests in guests, exact records, ABI, style, docs; TEST='name...' for some
	@scripts/need python3 clang $(if $(TEST),,style docs tally)
	$(call each,kernel guest qemu)
	@$(CHECK)

# N=n: every n-th; N=n SEED=n: so many at random. ONLY='name...': those, or those of a test.
# ALONE=1: a kernel for each.
mutants: ## are the tests seen to fail? N=n SEED=n ONLY='name...' for some
	@scripts/need python3 git
	$(call each,guest qemu)
	@scripts/mutants $(addprefix --arch ,$(ARCHES)) $(if $(ALONE),--alone) $(ONLY) \
		$(if $(N),$(if $(SEED),--random $(N) --seed $(SEED),--every $(N)))

# STYLE='check...' runs some checks, IN='path...' shows the findings there.
check-style: ## checkpatch, kernel-doc, sparse, layers, names, words; STYLE='check...' for some
	@scripts/need python3 style
	@for a in arm64 x86_64; do $(MAKE) --no-print-directory kernel ARCH=$$a O= || exit 1; done
	@scripts/style/run $(addprefix --in ,$(IN)) $(STYLE)

docs: tree ## render Documentation/core-api/perf in build/docs
	@scripts/docs $(OVERLAY) $(OUT)/docs

check-debug: ## the same on the debug kernel, where any complaint is a failure
	$(call each,debug guest qemu)
	@$(CHECK) --kernel debug

LONG = BRANCH_SAMPLES=100000 BRANCH_SWITCHES=1000000 PRECISE_SAMPLES=100000 BATCH_SAMPLES=1000000
LONG_TESTS = $(or $(TEST),x86_branch x86_branch_kernel x86_branch_counters x86_branch_tasks \
	x86_branch_stack x86_brs x86_precise x86_batch x86_batch_tasks x86_ibs_tasks)
LONG_LIMIT = $(if $(filter debug,$(KERNEL)),14400,3600)

# KERNEL=debug: on the debug kernel; its limit is a longer one.
check-long: ## branch and precise records in large numbers: 10^5 samples of each kind, 10^6 switches
	@$(MAKE) --no-print-directory $(GOAL_$(KERNEL)) guest qemu ARCH=x86_64 O=
	@scripts/check --arch x86_64 --kernel $(KERNEL) --limit $(LONG_LIMIT) \
		--append '$(LONG)' $(LONG_TESTS)

BESIDE = x86_branch x86_branch_pair x86_branch_errno x86_branch_counters x86_branch_stack \
	x86_branch_tasks x86_branch_bpf x86_bts x86_brs x86_precise x86_batch x86_topdown x86_ibs \
	x86_ibs_filter perf_branch.sh perf_mem.sh perf_topdown.sh perf_ibs.sh branches precise ibs
# NUMBERS='PRECISE_SAMPLES=100000': more kernel parameters.
check-beside: ## branch and precise records, IBS: stock and ours by case; TEST='name...' for some
	@$(MAKE) --no-print-directory stock kernel guest qemu ARCH=x86_64 O=
	@scripts/beside --append '$(NUMBERS)' --limit 3600 $(or $(TEST),$(BESIDE))

storm: debug guest ## the random storm on the debug kernel, for SECONDS (600)
	@scripts/check --kernel debug --arch $(ARCH) --limit $$(($(or $(SECONDS),600) + 300)) \
		--append STORM_SECONDS=$(or $(SECONDS),600) storm

check-stock: ## the selftests on the stock kernel (what they show there is for comparison)
	$(call each,stock guest qemu)
	@$(CHECK) --kernel stock

# ARCH=arm|i386|powerpc|riscv|s390: the objects that have to do with perf, of an architecture that
# no guest has; i386 boots, too. FLAVOUR=amd64|cloud-amd64|rt-amd64|arm64|cloud-arm64: those objects
# in Debian's configuration. IN='folder...': those in some folders.
OTHERS := arm i386 powerpc riscv s390
check-consumers: ## compile, link and load users of perf that the guests do without; FLAVOUR=name
	$(if $(FLAVOUR),@$(MAKE) --no-print-directory flavour O=,$(call each,$(if $(filter \
		$(OTHERS),$(ARCH)),others,consumers)))

others: OBJ = $(OUT)/consumers-$(ARCH)
others: tree
	@scripts/need build/$(ARCH)
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS_OTHERS)
	@scripts/consumers-objects $(ARCH) $(OVERLAY) $(OBJ) $(IN)
	$(if $(filter i386,$(ARCH)),@$(MAKE) --no-print-directory qemu ARCH=x86_64)
	$(if $(filter i386,$(ARCH)),@scripts/consumers-i386 $(OVERLAY) $(OBJ))

FRAGMENTS_OTHERS = $(if $(filter i386,$(ARCH)),,$(CURDIR)/configs/perf.config) $(OURS) \
	$(CURDIR)/configs/consumers-$(ARCH).config

flavour: OBJ = $(OUT)/consumers-$(FLAVOUR)
flavour: FLAVOUR_ARCH = $(if $(filter %arm64,$(FLAVOUR)),arm64,x86_64)
flavour: tree
	@scripts/need build/$(FLAVOUR_ARCH)
	@scripts/consumers-flavour $(FLAVOUR) $(OVERLAY) $(OBJ)
	@scripts/consumers-objects $(FLAVOUR_ARCH) $(OVERLAY) $(OBJ) $(IN)

consumers: OBJ = $(OUT)/consumers-$(ARCH)
consumers: arch tree guest
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS) $(OURS) $(CURDIR)/configs/consumers.config \
		$(CURDIR)/configs/consumers-$(ARCH).config
	@$(KBUILD) $(OVERLAY) $(OBJ) $(IMAGE) modules
	@scripts/consumers $(ARCH) $(OBJ)

bench: stock kernel qemu ## stock and ours under an instruction clock; ROWS='...' for some rows
	@scripts/bench --arch $(ARCH) $(if $(ROWS),--rows '$(ROWS)') $(if $(PMU),--pmu $(PMU))

# PER=function: what one call of it takes. SAVE=file and BASE=file compare two states of the tree.
bench-functions: kernel qemu ## instructions of each function in one row; ROW='...' PER=function
	@scripts/bench-functions --arch $(ARCH) $(if $(PMU),--pmu $(PMU)) \
		$(if $(PER),--per $(PER)) \
		$(if $(SAVE),--save $(SAVE)) $(if $(BASE),--base $(BASE)) \
		'$(or $(ROW),$(error which row? ROW=name, names are in scripts/bench-rows.csv))'

profile: $(GOAL_$(KERNEL)) guest ## record a real program in the guest, draw its flame graph
	@scripts/profile

perf-test: stock kernel guest ## Debian's "perf test" on stock and ours, side by side
	@scripts/perf-test

check-clients: stock kernel guest qemu ## PAPI, rr, bpftrace and libpfm4 on stock and ours
	@scripts/clients

# Without ARCH and PMU: arm64, and x86_64 with the models "intel" and "amd-v2".
# CASES='n...': these with all their calls.
compare: ## random calls on stock and ours: which answers differ? N=cases SEED=n
	$(call each,stock kernel guest qemu)
	@scripts/compare $(if $(filter 1,$(words $(ARCHES))),--arch $(ARCHES)) \
		$(if $(PMU),--pmu $(PMU)) $(if $(N),--cases $(N)) \
		$(if $(SEED),--seed $(SEED)) $(CASES)

tally: ## the recorder and reader of perf.data, in build/tally
	@scripts/need tally
	@$(MAKE) --no-print-directory -C tools/tally O=$(OUT)/tally

base-perf: stock-tree ## the base's own perf for this host, in build/base-perf
	@scripts/base-perf $(STOCK) $(OUT)/base-perf

# COMPARE_WITH= builds no perf of the base: the tests with it are run if it is there, or skipped.
COMPARE_WITH ?= base-perf
check-tally: ## tools/tally: round trips, mutated files, perf, flame graph; TEST='name...'
check-tally: tally $(COMPARE_WITH)
	@BASE_PERF=$(OUT)/base-perf/perf \
		$(MAKE) --no-print-directory -C tools/tally O=$(OUT)/tally check

qemu: ## QEMU for ARCH: x86_64 with our PMU model, arm64 with exact counts on several CPUs
	@tools/testing/qemu/build $(OUT)/qemu $(ARCH)

check-qemu: ## the model's registers, and the stock driver on it
	@$(MAKE) --no-print-directory qemu stock guest ARCH=x86_64
	@KERNEL=stock tools/testing/qemu/check $(OUT)/qemu/qemu-system-x86_64

check-models: ## our kernel under the numbers of every x86 processor line that it has tables for
	@$(MAKE) --no-print-directory qemu kernel ARCH=x86_64 O=
	@tools/testing/qemu/models $(OUT)/qemu/qemu-system-x86_64 $(OUT)/x86_64/$(IMAGE_PATH_x86_64)

.PHONY: storm qemu check-qemu check-models check check-debug check-long check-stock
.PHONY: check-consumers consumers
.PHONY: others flavour
.PHONY: check-style docs bench bench-functions profile perf-test check-clients mutants compare
.PHONY: tally check-tally base-perf
