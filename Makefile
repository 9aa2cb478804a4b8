# Headgate.
#
#   make            build headgated, headgate and the library (release) into build/release
#   make check      install what is missing, build, pass every test
#
# FLAVOUR=release|asan|tsan|debug chooses a build tree; CC=gcc|clang the compiler.

FLAVOUR ?= release
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
B := build/$(FLAVOUR)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wold-style-definition -Wvla -Wcast-align=strict -Wcast-qual -Wpointer-arith \
    -Wwrite-strings -Wundef -Wformat=2 -Wswitch-enum -Wimplicit-fallthrough=5 -Wnull-dereference \
    -Wdouble-promotion -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Wdate-time
ifneq (,$(findstring clang,$(CC)))
WARNINGS := $(filter-out -Wcast-align=strict -Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond \
    -Wduplicated-branches -Wjump-misses-init,$(WARNINGS)) -Wcast-align -Wimplicit-fallthrough
endif

CFLAGS_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -fsanitize=thread
CFLAGS_debug := -O0
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread

ALL_CFLAGS := -std=c11 -g -fPIC -D_GNU_SOURCE -ffp-contract=off $(CFLAGS_$(FLAVOUR)) $(WARNINGS) -Werror \
    -Iinclude -Isrc -I. $(CFLAGS)
ALL_LDFLAGS := $(LDFLAGS_$(FLAVOUR)) $(LDFLAGS)
LIBS := -lcyaml -lnng -luv -lmsgpackc -lsodium -lm -lpthread

ROOMS := base limit wire edge cluster
dir_base := src/base
dir_limit := src/limit
dir_wire := src/wire
dir_edge := src/edge
dir_cluster := cluster
$(foreach r,$(ROOMS),$(eval objects_$(r) := $$(patsubst %.c,$(B)/%.o,$$(wildcard $(dir_$(r))/*.c))))
archive = $(B)/lib$(1).a
# What each room may link with, in link order.
rooms_base := base
rooms_limit := limit base
rooms_wire := wire base
rooms_cluster := cluster limit base
rooms_edge := edge wire limit base
rooms_all := edge cluster wire limit base

.PHONY: all
all: $(B)/headgated $(B)/headgate

define room_rule
$(B)/lib$(1).a: $(objects_$(1))
	@rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

ALL_ARCHIVES := $(foreach r,$(rooms_all),$(call archive,$(r)))
$(B)/headgated: $(patsubst %.c,$(B)/%.o,$(filter-out src/headgate%.c,$(wildcard src/*.c))) $(ALL_ARCHIVES)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(B)/headgate: $(patsubst %.c,$(B)/%.o,$(wildcard src/headgate*.c)) $(ALL_ARCHIVES)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# tests/unit/<room>_<what>.c is linked with that room and those below it.
define unit_rule
$(B)/tests/unit/$(1)_%: $(B)/tests/unit/$(1)_%.o $(foreach r,$(rooms_$(1)),$(call archive,$(r)))
	$$(CC) $$(ALL_LDFLAGS) -o $$@ $$^ $$(LIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call unit_rule,$(r))))
UNIT := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/*.c))

.PHONY: unit
unit: $(UNIT)
	prove $(UNIT)

.PRECIOUS: $(B)/%.o
-include $(shell find $(B) -name '*.d' 2>/dev/null)
