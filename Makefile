# SPDX-License-Identifier: GPL-2.0
# The targets are listed by "make help". Variables:
#   ARCH=arm64|x86_64   BUILD=dir (build)   O=dir (object directory of "kernel" and "stock")
#   JOBS=n   TARBALL=linux-source-6.12.tar.xz   KERNEL=ours|stock|debug   CMD='...'   SMP=n
#   ICOUNT=shift   PMU=name   TIMEOUT=seconds   APPEND='kernel parameters'   QEMU_ARGS='...'

# A recipe would take a path with a blank for two, and Kbuild knows no such path.
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
# Each step uses all CPUs by itself; two of them would only be in each other's way.
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
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS) $(OURS) $(CURDIR)/configs/debug.config
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
export ARCH KERNEL APPEND CMD SMP MEM ICOUNT TIMEOUT QEMU QEMU_ARGS CPU PMU
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
CHECK = scripts/check $(addprefix --arch ,$(ARCHES)) $(patsubst %,--without '%',$(WITHOUT)) $(TEST)

check: ## KUnit, selftests in guests, the ABI test; TEST='name...' for some, WITHOUT='pattern...' for all but some
	@scripts/need python3 clang
	$(call each,kernel guest qemu)
	@$(CHECK)

check-debug: ## the same on the debug kernel, where any complaint is a failure
	$(call each,debug guest qemu)
	@$(CHECK) --kernel debug

storm: debug guest ## the random storm on the debug kernel, for SECONDS (600)
	@scripts/check --kernel debug --arch $(ARCH) --limit $$(($(or $(SECONDS),600) + 300)) \
		--append STORM_SECONDS=$(or $(SECONDS),600) storm

check-stock: ## the selftests on the stock kernel (what they show there is for comparison)
	$(call each,stock guest qemu)
	@$(CHECK) --kernel stock

check-consumers: ## compile, link and load the base's users of perf that the guests do without
	$(call each,consumers)

consumers: OBJ = $(OUT)/consumers-$(ARCH)
consumers: arch tree guest
	@$(CONFIG) $(OVERLAY) $(OBJ) $(FRAGMENTS) $(OURS) $(CURDIR)/configs/consumers.config \
		$(CURDIR)/configs/consumers-$(ARCH).config
	@$(KBUILD) $(OVERLAY) $(OBJ) $(IMAGE) modules
	@scripts/consumers $(ARCH) $(OBJ)

bench: stock kernel qemu ## stock and ours under an instruction clock, row by row; ROWS='...' for some
	@scripts/bench --arch $(ARCH) $(if $(ROWS),--rows '$(ROWS)') $(if $(PMU),--pmu $(PMU))

profile: $(GOAL_$(KERNEL)) guest ## record a real program in the guest, draw its flame graph
	@scripts/profile

perf-test: stock kernel guest ## Debian's "perf test" on stock and ours, side by side
	@scripts/perf-test

qemu: ## QEMU for ARCH: x86_64 with our PMU model, arm64 with exact counts on several CPUs
	@tools/testing/qemu/build $(OUT)/qemu $(ARCH)

check-qemu: ## the model's registers, and the stock driver on it
	@$(MAKE) --no-print-directory qemu stock guest ARCH=x86_64
	@tools/testing/qemu/check $(OUT)/qemu/qemu-system-x86_64

check-models: ## our kernel under the numbers of every x86 processor line that it has tables for
	@$(MAKE) --no-print-directory qemu kernel ARCH=x86_64 O=
	@tools/testing/qemu/models $(OUT)/qemu/qemu-system-x86_64 $(OUT)/x86_64/$(IMAGE_PATH_x86_64)

.PHONY: storm qemu check-qemu check-models check check-debug check-stock check-consumers consumers bench profile perf-test
