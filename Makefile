# make run    builds and shows what hocket does, on an example
# make test   builds and runs all tests
# make build  leaves the program at build/hocket
# make bench  [NAME=scaling] builds and runs benchmarks
# make docs   writes the generated documents; make format formats the sources
.PHONY: build run test bench docs format deps

deps:
	@tools/install-deps

build: deps
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@cmake --build build --target hocket_cli

run: build
	@tools/show-example build/hocket

test: deps
	cmake --preset release
	cmake --build build
	ctest --preset release

bench: deps
	@cmake --preset release > /dev/null
	@cmake --build build --target benches
	@for b in $(if $(NAME),build/bench/$(NAME),build/bench/*); do [ -x $$b ] && [ -f $$b ] || continue; $$b || exit 1; done

docs: deps
	@cmake --preset release > /dev/null
	@cmake --build build --target hocket_docs
	@build/tools/docs docs

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i
