# Headgate: one rate limit, held together by daemons that hear each other late.
#
#   make              build headgated and headgate (release) into build/release
#   make up           install what is missing, build, start three regions here, show that one limit holds
#   make down         stop what `make up` started
#   make check        install what is missing, build, pass every test and every check of the source
#   make deps         install what is missing (.ci/packages lists it) from Debian's packages
#
#   make unit         unit tests           make sim          the simulated cluster, 1,000 seeds
#   make e2e          real processes       make sim-canary   planted bugs that it must find
#   make fuzz         fuzz the decoders    make tidy         source rules, clang-tidy, cppcheck
#   make model        the model of a takeover, tried whole: some minutes
#   make wan          what three regions admit over an emulated wide area network: a table, some minutes
#   make pictures     the pictures of the dashboard in docs/pictures, anew
#   make compose-check    three regions as containers (skips where no engine can be started)
#   make package-check    the Debian packages in a clean Debian: install, run, remove, purge
#   make bench        what it costs, next to others [MODE=full]
#   make install      [DESTDIR=] [PREFIX=/usr/local]: binaries, headers, libheadgate, headgate.pc; make uninstall
#                     with the same words removes them
#   make deb          Debian packages, into build/deb
#   make clean        remove build/
#
# FLAVOUR=release|asan|tsan|debug|clang|fuzz chooses a build tree (build/<flavour>), V=1 shows whole commands,
# CC, CFLAGS and LDFLAGS are respected; whatever they change is rebuilt.

# What a recipe that failed has written is no target.
.DELETE_ON_ERROR:

FLAVOUR ?= release
override FLAVOUR := $(FLAVOUR)
ifeq (,$(filter $(FLAVOUR),release asan tsan debug clang fuzz))
$(error FLAVOUR is '$(FLAVOUR)': expected release, asan, tsan, debug, clang or fuzz)
endif
ifeq (default,$(origin CC))
CC := $(if $(filter clang fuzz,$(FLAVOUR)),clang,gcc)
endif
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
B := build/$(FLAVOUR)
O := $(B)/obj

# ---- flags -----------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
    -Wmissing-prototypes -Wold-style-definition -Wvla -Wcast-align=strict -Wcast-qual -Wpointer-arith \
    -Wwrite-strings -Wundef -Wformat=2 -Wswitch-enum -Wimplicit-fallthrough=5 -Wnull-dereference \
    -Wdouble-promotion -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init -Wdate-time \
    -Wredundant-decls
ifneq (,$(findstring clang,$(CC)))
WARNINGS := $(filter-out -Wcast-align=strict -Wimplicit-fallthrough=5 -Wlogical-op -Wduplicated-cond \
    -Wduplicated-branches -Wjump-misses-init,$(WARNINGS)) -Wcast-align -Wimplicit-fallthrough
endif

HARDENING := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection
# Fat objects: the static library is also for programs that are linked without LTO, and so are the tests.
# -g1: as of asan below. A debugger wants FLAVOUR=debug, or CFLAGS=-g, which Debian's packages are built with.
CFLAGS_release := -O2 -g1 -flto=auto -ffat-lto-objects $(HARDENING)
LDFLAGS_release := -O2 -flto=auto -pie -Wl,-z,relro,-z,now
# Built for its warnings and for the hashes of the simulator: another compiler, and without the optimiser.
CFLAGS_clang := -O0 -g0 $(filter-out -D_FORTIFY_SOURCE=2,$(HARDENING))
LDFLAGS_clang := -pie -Wl,-z,relro,-z,now
# -g1: reports name functions and lines; a fifth of the time to compile would go into the types of variables.
CFLAGS_asan := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# -no-pie: a program with sanitizers has 180,000 relocations, which would be made anew in each of thousands of starts.
LDFLAGS_asan := -fsanitize=address,undefined -no-pie
CFLAGS_tsan := -O1 -g1 -fsanitize=thread
LDFLAGS_tsan := -fsanitize=thread
CFLAGS_debug := -O0
CFLAGS_fuzz := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS_fuzz := -fsanitize=fuzzer,address,undefined
ifneq (,$(findstring clang,$(CC)))
CFLAGS_release := $(filter-out -flto=auto -ffat-lto-objects,$(CFLAGS_release))
LDFLAGS_release := $(filter-out -flto=auto,$(LDFLAGS_release))
endif

# -ffp-contract=off: the simulator's hashes are the same whatever the compiler may fuse.
ALL_CFLAGS := -std=c11 -g -fPIC -D_GNU_SOURCE -ffp-contract=off -ffile-prefix-map="$(CURDIR)=." \
    $(CFLAGS_$(FLAVOUR)) $(WARNINGS) -Werror -Iinclude -Isrc -I. $(CFLAGS)
ALL_LDFLAGS := $(LDFLAGS_$(FLAVOUR)) $(LDFLAGS)
PLAIN_LDFLAGS := $(filter-out -flto=auto,$(ALL_LDFLAGS)) $(if $(findstring flto,$(ALL_LDFLAGS)),-fno-lto)
# There are some hundred test programs to link. What GNU ld needs half a second for takes gold a fifth, and lld a tenth;
# in one thread, since other links have the other processors. gold warns about clang's own sanitizers.
ifeq (fuzz,$(FLAVOUR))
TEST_LINKER :=
else ifneq (,$(shell command -v ld.lld 2>/dev/null))
TEST_LINKER := -fuse-ld=lld -Wl,--threads=1
else ifneq (,$(shell command -v ld.gold 2>/dev/null))
TEST_LINKER := -fuse-ld=gold
endif
TEST_LDFLAGS := $(PLAIN_LDFLAGS) $(TEST_LINKER)
# Tests are debugged in other builds, so these are linked without what names lines: it takes as long as all else.
ifeq (release,$(FLAVOUR))
TEST_LDFLAGS += -Wl,--strip-debug
endif
# A unit test is not linked with LTO, and what calls the product in it need not be fast itself.
TEST_CFLAGS_asan := -O0
TEST_CFLAGS_release := -O0 -U_FORTIFY_SOURCE
# Debian keeps them all in the default paths, and nng has no .pc file: pkg-config would add nothing.
LIBS := -lyaml -lnng -luv -lmsgpackc -lsqlite3 -lsodium -ljansson -lnghttp2 -lprotobuf-c -licui18n -licuuc -lsystemd -lhiredis -lseccomp -lssl -lcrypto -lm -lpthread

SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
ifdef V
Q :=
SAY := @:
else
Q := @
SAY := $(if $(findstring s,$(firstword -$(MAKEFLAGS))),@:,@printf '  %-4s %s\n')
endif

# ---- what is built ---------------------------------------------------------------------------------

ROOMS := base limit rules wire edge cluster
dir_base := src/base
dir_limit := src/limit
dir_rules := src/rules
dir_wire := src/wire
dir_edge := src/edge
dir_cluster := cluster
$(foreach r,$(ROOMS),$(eval objects_$(r) := $$(patsubst %.c,$(O)/%.o,$$(wildcard $(dir_$(r))/*.c $(dir_$(r))/*/*.c))))
archive = $(B)/lib$(1).a
# What each room may link with, in link order.
rooms_base := base
rooms_limit := limit base
rooms_rules := rules limit base
rooms_wire := wire base
rooms_cluster := cluster rules limit base
rooms_edge := edge wire rules limit base
rooms_all := edge cluster wire rules limit base

.PHONY: all
all: $(B)/headgated $(B)/headgate library

define room_rule
$(B)/lib$(1).a: $(objects_$(1))
	$(SAY) AR $$@
	$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

$(O)/%.o: %.c $(B)/flags
	$(SAY) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Debian has no library of llhttp, but its C, which was generated: it is compiled as it is, without our warnings.
# Proxies are strict, and so are we. One file of ours knows it.
LLHTTP := /usr/share/llhttp
LLHTTP_CFLAGS := -isystem /usr/share/include/llhttp -DLLHTTP_STRICT_MODE=1
$(O)/src/http/message.o $(O)/src/http/message.read: ALL_CFLAGS += $(LLHTTP_CFLAGS)
objects_llhttp := $(patsubst %,$(O)/llhttp/%.o,llhttp http api)
$(O)/llhttp/%.o: $(LLHTTP)/%.c $(B)/flags
	$(SAY) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(WARNINGS) -Werror,$(ALL_CFLAGS)) $(LLHTTP_CFLAGS) -w -std=gnu11 -c -o $@ $<

# The messages of gRPC: src/grpc/proto/x/y.proto becomes x/y.pb-c.[ch] in the build tree, as those of Google do that they
# name. They are compiled without our warnings, and come before all that may include them.
PROTO_ROOT := src/grpc/proto
PROTO_C := $(O)/proto
PROTO_NAMES := $(patsubst $(PROTO_ROOT)/%.proto,%,$(shell find $(PROTO_ROOT) -name '*.proto')) \
    google/protobuf/duration google/protobuf/struct google/protobuf/wrappers
PROTO_HEADERS := $(patsubst %,$(PROTO_C)/%.pb-c.h,$(PROTO_NAMES))
objects_proto := $(patsubst %,$(PROTO_C)/%.o,$(PROTO_NAMES))
define proto_rule
	$(SAY) GEN $(@:.h=.c)
	@mkdir -p $(PROTO_C)
	$(Q)protoc-c -I$(PROTO_ROOT) -I/usr/include --c_out=$(PROTO_C) $<
endef
$(PROTO_C)/%.pb-c.h: $(PROTO_ROOT)/%.proto
	$(proto_rule)
$(PROTO_C)/google/%.pb-c.h: /usr/include/google/%.proto
	$(proto_rule)
$(PROTO_C)/%.o: $(PROTO_C)/%.pb-c.h $(PROTO_HEADERS) $(B)/flags
	$(SAY) CC $@
	$(Q)$(CC) $(filter-out $(WARNINGS) -Werror,$(ALL_CFLAGS)) -w -I$(PROTO_C) -c -o $@ $(<:.h=.c)
objects_grpc := $(patsubst %.c,$(O)/%.o,$(wildcard src/grpc/*.c)) $(objects_proto)
grpc_objects := $(patsubst %.c,$(O)/%,$(wildcard src/grpc/*.c tests/unit/grpc/*.c tests/lib/grpc_asked.c tests/fuzz/fuzz_grpc.c))
$(addsuffix .o,$(grpc_objects)) $(addsuffix .read,$(grpc_objects)): ALL_CFLAGS += -isystem $(PROTO_C)
$(addsuffix .o,$(grpc_objects)) $(addsuffix .read,$(grpc_objects)): | $(PROTO_HEADERS)

ALL_ARCHIVES := $(foreach r,$(rooms_all),$(call archive,$(r)))
objects_commands := $(patsubst %.c,$(O)/%.o,$(wildcard src/commands/*.c))
# The page of the daemon: src/http/dashboard/dashboard.css becomes the array dashboard_css, and so on.
objects_dashboard := $(patsubst src/%,$(O)/src/%.o,$(wildcard src/http/dashboard/*))
$(O)/src/http/dashboard/%.c: src/http/dashboard/%
	@mkdir -p $(@D)
	$(Q){ printf '#include "http/dashboard.h"\nconst unsigned char $(subst .,_,$*)[] = {\n' && \
	    od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' && \
	    printf '};\nconst size_t $(subst .,_,$*)_bytes = sizeof $(subst .,_,$*);\n'; } >$@
$(O)/src/http/dashboard/%.o: $(O)/src/http/dashboard/%.c $(B)/flags
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
.PRECIOUS: $(O)/src/http/dashboard/%.c
objects_http := $(patsubst %.c,$(O)/%.o,$(wildcard src/http/*.c)) $(objects_dashboard) $(objects_llhttp)
DAEMON := $(patsubst %.c,$(O)/%.o,$(wildcard src/*.c)) $(objects_commands) $(objects_http) $(objects_grpc) $(ALL_ARCHIVES)
$(B)/headgated: $(DAEMON)
	$(SAY) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# tests/e2e/peers/<what>.patch makes a daemon that another release could be. Only the sources that it changes are
# compiled anew, and stand before the archives that have them as they are.
PEERS := $(patsubst tests/e2e/peers/%.patch,$(B)/peers/%/headgated,$(wildcard tests/e2e/peers/*.patch))
$(B)/peers/%/headgated: tests/e2e/peers/%.patch $(DAEMON)
	$(SAY) LD $@
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && changed=$$(sed -n 's|^+++ b/||p' $<) && \
	    cp --parents $$changed $(@D) && patch -s -p1 -d $(@D) <$< && \
	    for source in $$changed; do $(CC) -I$(@D) $(ALL_CFLAGS) -c -o $(@D)/$$source.o $(@D)/$$source || exit 1; done && \
	    $(CC) $(TEST_LDFLAGS) -o $@ $$(printf '$(@D)/%s.o ' $$changed) $(filter %.o %.a,$^) $(LIBS)

# The daemon of the last release, for tests/e2e/upgrade_former.t.
.PHONY: former-release
former-release:
	+@tests/e2e/peers/former-release $(MAKE)

# Linked without LTO, which takes three quarters of a minute of a processor: what decides is in the daemon.
$(B)/headgate: $(patsubst %.c,$(O)/%.o,$(wildcard src/operator/*.c)) $(objects_commands) $(ALL_ARCHIVES)
	$(SAY) LD $@
	$(Q)$(CC) $(PLAIN_LDFLAGS) -o $@ $^ $(LIBS)

# The library for other programs. Each of its parts becomes one object in which only headgate_* is global: the
# words of our rooms (table_create, error_set) are also other people's.
LIBRARY := $(B)/libheadgate.a $(B)/libheadgate.so.0 $(B)/libheadgate.so
.PHONY: library
library: $(LIBRARY)

CC_PART = $(CC) -r -nostdlib -fPIC $(CFLAGS_$(FLAVOUR)) $(filter -ffile-prefix-map=%,$(LDFLAGS)) \
    $(if $(findstring flto,$(CFLAGS_$(FLAVOUR))),-flinker-output=nolto-rel)
define part_rule
$(B)/library/$(1).o: $(2) $(3)
	$(SAY) LD $$@
	@mkdir -p $$(@D)
	$(Q)$$(CC_PART) -o $$@.all $$^ && objcopy --wildcard --keep-global-symbol='headgate_*' $$@.all $$@ && rm $$@.all
endef
$(eval $(call part_rule,limiter,$(O)/src/edge/library/limiter.o $(O)/src/edge/process/memory.o,$(foreach r,limit base,$(call archive,$(r)))))
client_objects := $(patsubst %.c,$(O)/%.o,$(wildcard src/edge/library/client*.c))
$(eval $(call part_rule,client,$(client_objects),$(foreach r,edge wire base,$(call archive,$(r)))))
# It calls both others by their public names.
$(eval $(call part_rule,daemons,$(patsubst %.c,$(O)/%.o,$(wildcard src/edge/library/daemons*.c) src/edge/process/clock.c src/base/random.c src/base/held_clock.c),))
PARTS := $(B)/library/limiter.o $(B)/library/client.o $(B)/library/daemons.o

$(B)/libheadgate.a: $(PARTS)
	$(SAY) AR $@
	$(Q)rm -f $@ && ar rcs $@ $^
$(B)/libheadgate.so.0: $(PARTS)
	$(SAY) LD $@
	$(Q)$(CC) -shared $(filter-out -pie -no-pie,$(ALL_LDFLAGS)) -Wl,-soname,$(@F) -o $@ $^ -lsodium -lssl -lcrypto
$(B)/libheadgate.so: $(B)/libheadgate.so.0
	$(Q)ln -sf $(<F) $@

# Helpers of tests, compiled once. A program gets those that it calls.
TEST_LIB := $(B)/tests/libtest.a
$(TEST_LIB): $(patsubst %.c,$(O)/%.o,$(wildcard tests/lib/*.c))
	$(SAY) AR $@
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^

# What is linked without LTO has no use for its part of objects.
NO_LTO_CFLAGS := $(filter-out -flto=auto -ffat-lto-objects,$(ALL_CFLAGS))
$(O)/tests/unit/%.o: ALL_CFLAGS := $(NO_LTO_CFLAGS) $(TEST_CFLAGS_$(FLAVOUR))
$(O)/tests/lib/%.o $(O)/tests/sim/%.o $(O)/tests/model/%.o $(O)/tests/wan/%.o $(O)/src/operator/%.o: ALL_CFLAGS := $(NO_LTO_CFLAGS)

# tests/unit/<room>/<what>.c is linked with that room and those below it.
define unit_rule
$(B)/tests/unit/$(1)/%: $(O)/tests/unit/$(1)/%.o $(TEST_LIB) $(foreach r,$(rooms_$(1)),$(call archive,$(r)))
	$$(SAY) LD $$@
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(TEST_LDFLAGS) -o $$@ $$^ $$(LIBS)
endef
$(foreach r,$(ROOMS),$(eval $(call unit_rule,$(r))))
# tests/unit/sim/<what>.c: the simulator's own truths.
$(B)/tests/unit/sim/%: $(O)/tests/unit/sim/%.o $(TEST_LIB) $(patsubst %.c,$(O)/%.o,$(wildcard tests/sim/truth*.c)) \
    $(foreach r,$(rooms_limit),$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)
UNIT_SOURCES := $(wildcard tests/unit/*/*.c)
UNIT := $(patsubst %.c,$(B)/%,$(UNIT_SOURCES))

SIM := $(if $(wildcard tests/sim/*.c),$(B)/tests/sim)
$(B)/tests/sim: $(patsubst %.c,$(O)/%.o,$(wildcard tests/sim/*.c)) $(TEST_LIB) $(foreach r,$(rooms_cluster),$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# A wide area network and a judge of what is admitted in it.
WAN := $(B)/tests/wan/relay $(B)/tests/wan/ask
$(WAN): $(B)/tests/wan/%: $(O)/tests/wan/%.o
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ -lm

MODEL := $(B)/tests/model/model
$(MODEL): $(patsubst %.c,$(O)/%.o,$(wildcard tests/model/*.c))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^

# tests/fuzz/fuzz_<what>.c is a libFuzzer target; here its main replays tests/fuzz/corpus/<what> and mutations.
FUZZ_ROOMS := edge cluster wire rules limit base
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
objects_replay := $(if $(filter fuzz,$(FLAVOUR)),,$(O)/tests/fuzz/replay.o)
# What of HTTP reads bytes of strangers.
HTTP_READERS := $(patsubst %,src/http/%.c,message shape words query json_query json_arena)
$(B)/tests/fuzz/fuzz_http: $(O)/tests/fuzz/fuzz_http.o $(objects_replay) $(TEST_LIB) \
    $(patsubst %.c,$(O)/%.o,$(HTTP_READERS)) $(objects_llhttp) $(foreach r,$(FUZZ_ROOMS),$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)
# A whole client of gRPC needs all but the edge.
$(B)/tests/fuzz/fuzz_grpc: $(O)/tests/fuzz/fuzz_grpc.o $(objects_replay) $(TEST_LIB) $(objects_grpc) $(objects_http) \
    $(objects_commands) $(foreach r,$(FUZZ_ROOMS),$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)
$(B)/tests/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(objects_replay) $(TEST_LIB) $(foreach r,$(FUZZ_ROOMS),$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# tests/unit/server/<what>.c is linked with the commands and without the cluster: it brings a node of its own.
$(B)/tests/unit/server/%: $(O)/tests/unit/server/%.o $(TEST_LIB) $(objects_commands) \
    $(foreach r,edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/unit/server/persist_%: $(O)/tests/unit/server/persist_%.o $(TEST_LIB) $(O)/src/persist_%.o \
    $(foreach r,edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# The links to the central store, over real sockets, with nobody who asks.
$(B)/tests/unit/server/worker_%: $(O)/tests/unit/server/worker_%.o $(TEST_LIB) $(O)/src/worker_%.o \
    $(foreach r,edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# tests/unit/served/<what>.c has the commands and a real node that is alone: everything but the edge.
$(B)/tests/unit/served/%: $(O)/tests/unit/served/%.o $(TEST_LIB) $(objects_commands) \
    $(foreach r,cluster edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# tests/unit/http/<what>.c has HTTP, the commands and a real node that is alone.
$(B)/tests/unit/http/%: $(O)/tests/unit/http/%.o $(TEST_LIB) $(objects_http) $(objects_commands) \
    $(foreach r,cluster edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# tests/unit/grpc/<what>.c has gRPC, and what those have.
$(B)/tests/unit/grpc/%: $(O)/tests/unit/grpc/%.o $(TEST_LIB) $(objects_grpc) $(objects_http) $(objects_commands) \
    $(foreach r,cluster edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_LDFLAGS) -o $@ $^ $(LIBS)

# tests/bench/<what>.c measures, and is linked as those are.
BENCH := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
$(B)/tests/bench/%: $(O)/tests/bench/%.o $(objects_commands) $(TEST_LIB) \
    $(foreach r,cluster edge wire rules limit base,$(call archive,$(r)))
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# What it measures is what programs get.
$(B)/tests/bench/library: $(O)/tests/bench/library.o $(B)/libheadgate.a $(call archive,base)
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# For tests that compile by themselves, without a make for each source.
.PHONY: show-compile
show-compile:
	@printf '%s\n' '$(CC) $(ALL_CFLAGS)'

# Compiled for what clang says of them, and not linked: that takes no longer than to read them, and ccache knows it. What
# clang says of the product, it says in tests/tidy/clang-tidy.t.
$(O)/%.read: %.c $(B)/flags
	$(SAY) READ $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -MT $@ -MF $(@:.read=.read.d) -c -o $@ $<
.PHONY: test-sources
test-sources: $(patsubst %.c,$(O)/%.read,$(UNIT_SOURCES) $(wildcard tests/fuzz/*.c))

# Rewritten only when the compiler or a flag is another than last time; every object depends on it.
STAMP := $(shell $(CC) --version 2>/dev/null | head -n 1) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(TEST_LDFLAGS) $(LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(STAMP)' | cmp -s - $@ || printf '%s\n' '$(STAMP)' >$@
.PHONY: FORCE
FORCE:

.PRECIOUS: $(O)/%.o
-include $(shell find $(O) -name '*.d' 2>/dev/null)

# ---- tests and checks ------------------------------------------------------------------------------

export HEADGATE_BUILD := $(B)

.PHONY: deps unit sim e2e tidy check
deps:
	@.ci/deps build up check

unit: $(UNIT)
	prove $(UNIT)

# More worlds than `make check` runs, of each mode.
SIM_MODES := COMBINED DISK EDIT GRANTS GRANTS_BUCKETS HOMES HOMES_BUCKETS HOMES_DAEMONS HOMES_LEASES LIARS LIMITS \
    LIMITS_GRANTS LONELY NEWER ODD RESTARTS RULE_WEIGHTS TAKEOVER TICKING TIERS WEIGHTS WINDOWS
sim:
	@for flavour in release asan clang; do \
	    $(SUBMAKE) -s FLAVOUR=$$flavour build/$$flavour/tests/sim || exit 1; done
	HEADGATE_SIM_SEEDS=1000 $(SIM_MODES:%=HEADGATE_SIM_%_SEEDS=200) prove tests/sim/*.t

# Planted bugs, each in a copy of the tree: which seed finds it?
.PHONY: sim-canary
sim-canary:
	tests/sim/canary/run

# Every story with one start or return; tests/model/model.t tries those without any.
.PHONY: model
model: $(MODEL)
	$(MODEL)

e2e: all $(PEERS) $(WAN) former-release
	prove tests/e2e/*.t

# Real daemons, each region in a network namespace: what they admit, judged from outside, next to one bucket. Needs root.
.PHONY: wan
wan:
	@.ci/deps build
	@$(SUBMAKE) -s all $(WAN)
	@tests/wan/figures

tidy:
	HEADGATE_TIDY_STATES=225000 prove -j2 tests/tidy/*.t

# What things cost, as ratios to something else that was measured in the same minutes: figures, JSON and a picture in
# build/bench. Exit status 1 if a goal is missed. MODE=full takes longer, and compares with more.
MODE ?= quick
.PHONY: bench
bench:
	@.ci/deps build bench $(if $(filter full,$(MODE)),bench-full)
	@$(SUBMAKE) -s $(BENCH) all
	@tests/bench/run $(if $(filter full,$(MODE)),,--quick); status=$$?; \
	    tests/bench/plot build/bench/throughput.json >build/bench/throughput.svg && exit $$status

# With libFuzzer, FUZZ_SECONDS for each target; what it finds to be new stays in build/fuzz.
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz:
	@$(SUBMAKE) -s FLAVOUR=fuzz $(FUZZ:$(B)/%=build/fuzz/%)
	@for target in $(basename $(notdir $(wildcard tests/fuzz/fuzz_*.c))); do \
	    corpus=build/fuzz/corpus/$$target; mkdir -p $$corpus && cp tests/fuzz/corpus/$${target#fuzz_}/* $$corpus/ && \
	    build/fuzz/tests/fuzz/$$target -artifact_prefix=build/fuzz/ -max_total_time=$(FUZZ_SECONDS) -max_len=4096 $$corpus || exit 1; \
	done

# What runs in several threads. (Of the units of the store, those that say most to its thread.)
TSAN := $(patsubst %.c,build/tsan/%,$(wildcard tests/unit/base/gate.c tests/unit/edge/clock.c tests/unit/cluster/thread.c tests/unit/edge/limiter.c \
    tests/unit/edge/store.c tests/unit/edge/store_aside.c tests/unit/limit/table_threads.c tests/unit/rules/ruleset_threads.c tests/unit/served/hot_threads.c))

# The end-to-end tests again, with daemons under ASan and UBSan; not those that measure speed or
# compile, nor what runs with TSan.
E2E_ASAN := $(patsubst %,build/asan/%,$(filter-out %/dashboard.t %/docs.t %/failover.t %/floods.t %/integrations.t %/kubernetes.t %/library.t %/licenses.t %/load.t %/threads.t %/up.t %/upgrade_former.t %/wan.t,$(wildcard tests/e2e/*.t)))
# The others run with sanitizers only, but for those that are about what sanitizers change: time, the sandbox, sockets that
# are handed over, files, what a client of another language gets; and one of each door and of each way to decide.
E2E_RELEASE := $(filter-out $(E2E_ASAN:build/asan/%=%),$(wildcard tests/e2e/*.t)) \
    $(patsubst %,tests/e2e/%.t,central cluster grpc http keys patience peers protocol reload rules rules_check service \
    signals sockets store takeover tls upgrade users)
# And with TSan what makes several threads of a daemon work.
E2E_TSAN := build/tsan/tests/e2e/threads.t
build/asan/tests/e2e/%.t build/tsan/tests/e2e/%.t: tests/e2e/%.t
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nHEADGATE_BUILD=build/%s exec perl %s\n' $(word 2,$(subst /, ,$@)) $< >$@ && chmod +x $@

# All units run with ASan and UBSan. In release run those of base, limit, wire and the edge, where arithmetic, sockets,
# files and the sandbox are; not those of rooms that run in release all the same: cluster and rules in the simulator,
# commands, HTTP and gRPC end to end. What runs with TSan runs with ASan as well, and not a third time. `make unit` runs
# all in release.
UNIT_CHECKED := $(filter-out $(TSAN:build/tsan/%=build/release/%),$(patsubst %.c,build/release/%, \
    $(filter-out $(patsubst %,tests/unit/%/%,cluster rules served http grpc sim),$(UNIT_SOURCES))))

# What `make check` runs, each flavour by a make of its own; side by side, so that no processor waits for a last link.
CHECK_FLAVOURS := $(patsubst %,check-build-%,release asan clang tsan)
.PHONY: check-build $(CHECK_FLAVOURS)
check-build: $(CHECK_FLAVOURS)
check-build-release: goals := all $(UNIT_CHECKED) $(SIM) $(MODEL) $(PEERS) $(WAN) former-release
check-build-asan: goals := all $(patsubst build/release/%,build/asan/%,$(UNIT) $(SIM) $(FUZZ) $(PEERS)) $(E2E_ASAN)
check-build-clang: goals := build/clang/tests/sim test-sources
check-build-tsan: goals := $(TSAN) $(E2E_TSAN) build/tsan/headgated build/tsan/headgate
$(CHECK_FLAVOURS): check-build-%:
	@$(MAKE) --no-print-directory -s FLAVOUR=$* $(goals)

# One run of prove over everything, so that its summary counts everything; tests/order.yml says what runs when.
#
# A smaller quarantine of freed memory: what is freed may be used again after 32 MB instead of 256, so that far fewer
# pages are new.
check: export ASAN_OPTIONS := quarantine_size_mb=32
check: deps
	@echo 'check: building with gcc (release, asan, tsan) and clang; a warning is an error'
	@$(SUBMAKE) -s check-build
	@echo 'check: units, simulator, fuzz corpus, source rules, end to end'
	@HARNESS_RULESFILE=tests/order.yml prove -j4 \
	    $(UNIT_CHECKED) $(patsubst %.c,build/asan/%,$(UNIT_SOURCES) $(wildcard tests/fuzz/fuzz_*.c)) \
	    $(TSAN) $(wildcard tests/sim/*.t tests/model/*.t tests/tidy/*.t) $(E2E_RELEASE) $(E2E_ASAN) $(E2E_TSAN)

# ---- a cluster to look at --------------------------------------------------------------------------

.PHONY: up down compose-check package-check
up:
	@.ci/deps build up
	@[ -x $(B)/headgated ] || echo 'Building into $(B), about half a minute on two cores ...'
	@$(SUBMAKE) -s all
	@config/local-cluster.sh up

down:
	@config/local-cluster.sh down

# The page as Chromium draws it, for the README.
.PHONY: pictures
pictures:
	@.ci/deps build browser
	@$(SUBMAKE) -s all
	@tests/e2e/browser/pictures

package-check:
	@.ci/deps build package
	prove -v tests/package-check

compose-check:
	@.ci/deps build
	@$(SUBMAKE) -s all
	prove -v tests/compose-check

# ---- installation ----------------------------------------------------------------------------------

VERSION := $(shell sed -n 's/.*HEADGATE_VERSION "\(.*\)"/\1/p' src/base/version.h)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTINATION = $(DESTDIR)$(PREFIX)
HEADERS := $(patsubst include/%,%,$(wildcard include/headgate/*.h))

# Paths stand in quotes, since they may have spaces. Modes are given, since the umask of root may be a narrow one.
.PHONY: install install-library install-place
install-place:
	@for place in '$(PREFIX)' '$(LIBDIR)'; do case "$$place" in ''|/*) ;; *) \
	    echo "PREFIX or LIBDIR is '$$place': expected a path that begins with /" >&2; exit 1 ;; esac; done

install: all install-library
	install -d '$(DESTINATION)/bin'
	install -m 755 $(B)/headgated $(B)/headgate '$(DESTINATION)/bin'

install-library: library install-place
	install -d '$(DESTINATION)/include/headgate' '$(DESTDIR)$(LIBDIR)/pkgconfig'
	install -m 644 include/headgate/*.h '$(DESTINATION)/include/headgate'
	install -m 644 $(B)/libheadgate.a $(B)/libheadgate.so.0 '$(DESTDIR)$(LIBDIR)'
	ln -sf libheadgate.so.0 '$(DESTDIR)$(LIBDIR)/libheadgate.so'
	printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' 'libdir=$(LIBDIR)' '' 'Name: headgate' \
	    'Description: a rate limiter for your program, and a client of the headgate daemon' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lheadgate' \
	    'Requires.private: libsodium libssl libcrypto' >'$(DESTDIR)$(LIBDIR)/pkgconfig/headgate.pc'
	chmod 644 '$(DESTDIR)$(LIBDIR)/pkgconfig/headgate.pc'

# What `make install` with the same DESTDIR, PREFIX and LIBDIR has put there, and nothing else: no config, no state.
.PHONY: uninstall
uninstall: install-place
	rm -f '$(DESTINATION)/bin/headgated' '$(DESTINATION)/bin/headgate' \
	    $(foreach header,$(HEADERS),'$(DESTINATION)/include/$(header)') \
	    $(foreach file,libheadgate.a libheadgate.so.0 libheadgate.so pkgconfig/headgate.pc, \
	        '$(DESTDIR)$(LIBDIR)/$(file)')
	[ ! -d '$(DESTINATION)/include/headgate' ] || \
	    rmdir --ignore-fail-on-non-empty '$(DESTINATION)/include/headgate'

.PHONY: deb
deb:
	@.ci/deps build package
	@config/debian/build

# ---- the rest --------------------------------------------------------------------------------------

.PHONY: help clean
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

clean:
	rm -rf build
