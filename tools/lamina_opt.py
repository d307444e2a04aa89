"""`lamina-opt`: parse textual IR, run passes over it, print it or emit code.

Everything `xdsl-opt` can do, on top of it Lamina's dialects, passes and code generation targets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError, LaminaError
from lamina.dialects.extension_tables import extended, extended_names
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.source import SourceParser, decode_source, describe_invalid
from lamina.frontends.file_formats import FILE_FORMATS
from lamina.lowering.custom_pipeline import between
from lamina.lowering.pass_specs import quoted_names
from lamina.lowering.pipeline import pipeline
from lamina.passes.contracts.pass_states import verify_state
from lamina.passes.contracts.verify_program import verify_between_ops
from lamina.runtime.layers import layer_of
from lamina.tools.expected_diagnostics import ExpectedDiagnostics, is_annotated
from lamina.tools.extension_files import add_load_argument, run_extended
from lamina.tools.listings import ListOps, ListPasses, options_of
from lamina.tools.output_file import OutputFile
from lamina.tools.pass_observers import (
    PassObserver,
    add_observer_arguments,
    explained,
    reproduced_passes,
    semantics_observer,
)
from lamina.tools.pipeline_arguments import (
    AppendPasses,
    add_layer_arguments,
    add_pipeline_arguments,
    pipeline_of,
)
from lamina.tools.program_passes import ProgramPasses
from lamina.tools.reporting import describe
from lamina.tools.source_files import add_sizes_argument, bind_in_text, read_source
from lamina.tools.targets import target_factories
from lamina.tools.universe import UNIVERSE

USAGE = """lamina-opt [options] [FILE.mlir]

  lamina-opt FILE                              parse, verify and print; FILE may be a .pt2
  lamina-opt FILE -p 'functionalize,cse'       run passes; options as pass{option=value}
  lamina-opt FILE --to loop                    the compiler's own passes, from where it stands
  lamina-opt FILE --to loop --drop NAME        these passes with changes, see `lamina.Pipeline`
  lamina-opt FILE --to scheduled -t asm        emit code: llvmir, asm, object (needs -o)
  lamina-opt FILE --to loop --print-ir-after-change   each pass that changes something, on stderr
  lamina-opt FILE --load mine.py               with the extensions of a file, see `lamina.extend`
  lamina-opt --list-passes | --list-ops prims  what there is
"""


class LaminaOptMain(xDSLOptMain):
    """xDSL's opt tool with Lamina's universe, source locations and one-screen messages."""

    def __init__(self, args: Sequence[str] | None = None) -> None:
        self._line_offset = 0
        self._is_annotated = False
        self._expected: ExpectedDiagnostics | None = None
        self._has_ended = False
        self._stage = "reading the arguments"
        self._foreign_pass: str | None = None
        self._given_passes: str | None = None
        super().__init__(description="Lamina's modular optimizer driver", args=args)

    def register_all_dialects(self) -> None:
        """Lamina's context, and every other dialect of the installed xDSL universes."""
        self.ctx = Context()
        known = set(self.ctx.registered_dialect_names)
        everything = UNIVERSE.all_dialects | Universe.get_multiverse().all_dialects
        for name, factory in everything.items():
            if name not in known:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """xDSL's passes and Lamina's, also where Lamina runs without being installed."""
        super().register_all_passes()
        for name, factory in UNIVERSE.all_passes.items():
            self.available_passes.setdefault(name, factory)
        for name, entry in extended_names("pass").items():
            self.available_passes[name] = entry.value

    def register_all_targets(self) -> None:
        """xDSL's targets and `llvmir`, `asm`, `object` through Lamina's code generator."""
        super().register_all_targets()
        self.available_targets.update(target_factories())

    def register_all_frontends(self) -> None:
        """Textual IR under any extension but those of other programs' files."""
        self.available_frontends["mlir"] = self._parse_text
        for suffix in FILE_FORMATS:
            self.available_frontends[suffix.removeprefix(".")] = self._read_file

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """xDSL's arguments, those of layers and their passes, `--list-passes`, `--list-ops`."""
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "lamina-opt"
        for action in arg_parser._actions:  # xDSL's own -p keeps only the last one given
            if action.dest == "passes":
                action.__class__ = AppendPasses
        arg_parser.usage = USAGE
        add_layer_arguments(arg_parser)
        add_sizes_argument(arg_parser)
        add_pipeline_arguments(arg_parser)
        add_load_argument(arg_parser)
        add_observer_arguments(arg_parser)
        add = arg_parser.add_argument
        add(
            "--explain",
            action="store_true",
            help="Say on stderr what each chosen schedule is estimated to take, and others",
        )
        add("--list-passes", action=ListPasses, help="List all passes and their options, then exit")
        add(
            "--list-ops",
            action=ListOps,
            metavar="LAYER",
            help="List the ops of aten, core_aten, prims or loop (default: all), then exit",
        )

    @property
    def version_format(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The text of `--version`; xDSL fills in its own version."""
        try:
            ours = version("lamina")
        except PackageNotFoundError:
            ours = lamina.__version__
        return f"lamina-opt {ours} (xdsl {{xdsl_version}})"

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        """Parse one piece of the input; `start_offset` lines of the file stand before it."""
        self._line_offset = start_offset
        self._expected, self._has_ended = None, False
        if self._is_annotated:
            text = chunk.read().decode("utf-8", "replace")
            chunk.seek(0)
            self._expected = ExpectedDiagnostics.of(text, self.get_input_name(), start_offset)
        with self._diagnosed():
            return super().parse_chunk(chunk, file_extension, start_offset)

    @contextmanager
    def _diagnosed(self) -> Iterator[None]:
        """Code whose error must be what a comment of the piece expects; the piece ends with it."""
        try:
            yield
        except (DiagnosticException, ParseError) as error:
            if self._expected is None:
                raise
            if isinstance(error, ParseError):
                error.span = replace(error.span, line_offset=self._line_offset)
            expected, self._expected = self._expected, None
            self._has_ended = True
            expected.check(describe("lamina-opt", error))

    def _parse_text(self, stream: IO[bytes]) -> ModuleOp:
        name = self.get_input_name()
        parser = SourceParser(self.ctx, decode_source(stream.read(), name), name, self._line_offset)
        module = parser.parse_module(not self.args.no_implicit_module)
        return bind_in_text(module, self.args.sizes)

    def _read_file(self, stream: IO[bytes]) -> ModuleOp:
        """The module of a program of another framework; what it binds become arguments."""
        return read_source(self.get_input_name(), self.args.sizes).module

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """The text, or the bytes as text, that the target makes of the module."""
        made = ""
        if not self._has_ended:
            with self._diagnosed():
                made = self._emitted(prog)
        if self._expected is not None:
            self._expected.check(None)
        return made

    def _emitted(self, prog: ModuleOp) -> str:
        self._check_target()
        name = parse_spec(self.args.target).name
        try:
            return super().output_resulting_program(prog)
        except (LaminaError, DiagnosticException):
            raise
        except Exception as error:
            ours = target_factories()
            if name in ours:
                raise
            raise InputError(
                f"lamina-opt: error: xDSL's target '{name}' failed: {type(error).__name__}: "
                f"{error}\n  Lamina's own targets are {', '.join(n for n in ours if n != 'mlir')}"
            ) from error

    def _check_target(self) -> None:
        spec = parse_spec(self.args.target)
        ours = target_factories().get(spec.name)
        if ours is not None:
            _check_options(ours(), spec, "target")

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """The input file; `-` and nothing mean standard input, any extension means textual IR."""
        if self.args.input_file == "-":
            self.args.input_file = None
        stream, extension = super().get_input_stream()
        if extension not in self.available_frontends:
            extension = "mlir"
        if self.args.verify_diagnostics and extension == "mlir":
            with stream:
                text = stream.read()
            self._is_annotated = is_annotated(text.decode("utf-8", "replace"))
            stream = BytesIO(text)
        return stream, extension

    def prepare_output(self) -> IO[str]:
        """Standard output, or the file of `-o`, which is written only when there is a result."""
        is_object = parse_spec(self.args.target).name == "object"
        if self.args.output_file is None or self.args.output_file == "-":
            if is_object:
                raise InputError("lamina-opt: error: -t object needs an output file: -o FILE.o")
            self.args.output_file = None
            return super().prepare_output()
        path = Path(self.args.output_file)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise InputError(f"lamina-opt: error: cannot write '{path}': no such folder or no file")
        return OutputFile(self.args.output_file, "latin-1" if is_object else "utf-8")

    def setup_pipeline(self) -> None:
        """The pipeline of `--to` and `-p`, with messages that name the pass at fault."""
        if self.args.run_reproducer:
            self.args.passes = self._reproduced()
        if self.args.to is None:
            self._check_no_edits()
        elif self.args.from_layer is None and self.args.since is None:
            self._given_passes, self.pipeline = self.args.passes, ProgramPasses(())
            return  # the program, not read yet, says where it begins
        else:
            self._check_target()
            self.args.passes = ",".join((*self._passes_to_layer(), self.args.passes)).strip(",")
        passes = quoted_names(self.args.passes)
        self.args.passes = explained(passes) if self.args.explain else passes
        for spec in parse_pipeline(self.args.passes):
            self._check_pass(spec)
        super().setup_pipeline()
        checks = self.pipeline.callback
        self._observer = PassObserver(self.args, self.pipeline.passes)
        semantics = semantics_observer(self.args, self.get_input_name())

        def between(ran: ModulePass | None, module: ModuleOp, coming: ModulePass | None) -> None:
            self._stage = f"verifying what pass '{ran.name}' left" if ran else "verifying the input"
            if checks is not None:
                checks(ran, module, coming)
            if not self.args.disable_verify:
                verify_between_ops(module)
            self._observer.between(ran, module, coming)
            if semantics is not None:
                semantics.between(ran, module)
            self._stage = f"running pass '{coming.name}'" if coming else "writing the output"
            if coming is not None:
                verify_state(module, coming.name)
            foreign = coming is not None and coming.name not in UNIVERSE.all_passes
            self._foreign_pass = coming.name if coming is not None and foreign else None

        self.pipeline = ProgramPasses(self.pipeline.passes, between)

    def _reproduced(self) -> str:
        given = self.args.input_file
        if given in (None, "-") or self.args.to is not None or self.args.passes:
            raise InputError(
                "lamina-opt: error: --run-reproducer takes a file, and its passes from there"
            )
        return reproduced_passes(Path(given).read_bytes(), given)

    def _check_no_edits(self) -> None:
        if self.args.until or self.args.since or self.args.pipeline_edits:
            raise InputError(
                "lamina-opt: error: --before, --after, --replace, --drop, --until and --since are "
                "about the passes of --to LAYER"
            )

    def _passes_to_layer(self) -> tuple[str, ...]:
        (cpu,) = parse_spec(self.args.target).parameters.get("cpu", ("host",))
        specs = pipeline(start=self.args.from_layer or "aten", stop=self.args.to, target=str(cpu))
        changed = pipeline_of(self.args).applied(specs)
        return tuple(str(spec) for spec in between(changed, self.args.since, self.args.until))

    def apply_passes(self, prog: ModuleOp) -> None:
        """Run the pipeline; failures say at which pass, and where in the source."""
        with self._diagnosed():
            self._apply_observed(prog)

    def _begin_where(self, prog: ModuleOp) -> None:
        """Set the pipeline up from the layer at which this piece of the input stands."""
        if self._given_passes is None:
            return
        self.args.from_layer, self.args.passes = layer_of(prog), self._given_passes
        self.setup_pipeline()

    def _apply_observed(self, prog: ModuleOp) -> None:
        self._begin_where(prog)
        try:
            self._apply_passes(prog)
        except Exception as error:
            if (kept := self._observer.keep(error)) is not None:
                print(kept, file=sys.stderr)
            raise
        if self.args.explain:
            from lamina.passes.schedule.explain_schedule import report

            print(report(prog) or "no kernel has a schedule", file=sys.stderr)

    @property
    def _prints_diagnostics(self) -> bool:
        """Whether xDSL prints errors, its own as they are, and goes on with the next piece."""
        return self.args.verify_diagnostics and not self._is_annotated

    def _apply_passes(self, prog: ModuleOp) -> None:
        self._check_layer(prog)
        try:
            super().apply_passes(prog)
        except VerifyException as error:
            if self._prints_diagnostics or not self._stage.startswith("verifying"):
                raise
            raise InputError(f"{describe_invalid(prog, error)}\n  while {self._stage}") from error
        except LaminaError:
            raise
        except Exception as error:
            if self._foreign_pass is not None and not isinstance(error, DiagnosticException):
                raise self._failed(self._foreign_pass, error) from error
            error.add_note(f"while {self._stage}")
            raise

    def _failed(self, name: str, error: Exception) -> InputError:
        entry = extended("pass", name)
        if entry is not None:
            return entry.error(f"pass '{name}' raises", error)
        said = f"{type(error).__name__}: {error}"
        return InputError(f"lamina-opt: error: xDSL's pass '{name}' failed: {said}")

    def _check_layer(self, prog: ModuleOp) -> None:
        """The program must stand at the layer that `--from` says."""
        if self.args.to is None or self.args.since is not None or self._given_passes is not None:
            return  # with --since it stands between two layers
        found, said = layer_of(prog), self.args.from_layer
        own = any(op.name.startswith(f"{found}.") for op in prog.walk())
        if found in ("aten", "core_aten", "prims") and not own:
            return  # what stands there belongs to no layer, or to an extension
        if found != said and (found, said) != ("aten", "functional"):
            raise InputError(
                f"lamina-opt: error: the program stands at layer {found}, not at {said} "
                f"(--from {found})"
            )

    def _check_pass(self, spec: ArgSpec) -> None:
        if spec.name not in self.available_passes:
            near = nearest(spec.name, self.available_passes)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise InputError(
                f"lamina-opt: error: unknown pass '{spec.name}'{hint} (--list-passes shows all)"
            )
        _check_options(self.available_passes[spec.name](), spec, "pass")


def _check_options(kind: type[ModulePass] | type[Target], spec: ArgSpec, what: str) -> None:
    try:
        kind.from_spec(spec)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"lamina-opt: error: {what} '{spec.name}': {error}\n"
            f"  options: {options_of(kind) or 'none'}"
        ) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `lamina-opt` command; the result is its exit code."""
    return run_extended("lamina-opt", arguments, lambda: LaminaOptMain(arguments).run())


if __name__ == "__main__":
    raise SystemExit(main())
