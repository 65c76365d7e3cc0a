# SPDX-License-Identifier: GPL-2.0
# Read in place of scripts/Makefile.build: prints the objects that a configuration selects in FOLDERS,
# one a line, "y" or the module before each, and compiles nothing.

# Kbuild enters its own folders without need-builtin, while it prepares the tree.
ifeq ($(need-builtin)$(need-modorder),)
include $(srctree)/scripts/Makefile.build
else
src := $(if $(VPATH),$(VPATH)/)$(obj)
.PHONY: $(obj)/ FORCE
$(obj)/:
FORCE:

include include/config/auto.conf
include $(srctree)/scripts/Kbuild.include
include $(srctree)/scripts/Makefile.compiler
include $(kbuild-file)
include $(srctree)/scripts/Makefile.lib

down := $(foreach d,$(subdir-ym),$(if $(filter $d/%,$(addsuffix /,$(FOLDERS))),$d))
parts = $(or $(addprefix $(obj)/,$(call suffix-search,$(notdir $1),.o,-objs -y -m)),$1)
ifneq ($(filter $(obj),$(FOLDERS)),)
$(foreach o,$(filter %.o,$(real-obj-y) $(lib-y)),$(info @@ y $o))
$(foreach m,$(filter %.o,$(obj-m)),$(foreach o,$(call parts,$m),$(info @@ $m $o)))
endif
.PHONY: $(down)
$(obj)/: $(down)
	@:
$(down):
	$(Q)$(MAKE) $(build)=$@ need-builtin=1 need-modorder=1
endif
