"""A `lamina.Pipeline` on a command line: `--to`, `--from`, and `--before`, `--drop`, ..."""

import argparse
from collections.abc import Sequence
from typing import Any

from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from lamina.dialects.errors import InputError
from lamina.lowering.custom_pipeline import Pipeline
from lamina.lowering.pass_specs import quoted_names


class AppendPasses(argparse.Action):
    """Another `-p` goes on where the one before it ends."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


class _Edit(argparse.Action):
    """A change of the pipeline; they apply in the order in which they are given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        edits: list[tuple[str, list[str]]] = getattr(namespace, self.dest)
        given = [str(value) for value in values or ()]
        setattr(namespace, self.dest, [*edits, ((option_string or "").lstrip("-"), given)])


def add_layer_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say which of the compiler's own passes run, from a layer to another."""
    add = parser.add_argument
    add("--to", metavar="LAYER", help="Run the compiler's own passes down to this layer first")
    add(
        "--from",
        dest="from_layer",
        metavar="LAYER",
        help="The layer at which the input stands, for --to (default: that of its ops)",
    )
    add("--until", metavar="PASS", help="Of the passes of --to, run those up to this one")
    add(
        "--since",
        metavar="PASS",
        help="Of the passes of --to, run those behind this one, where a run with --until ended",
    )


def add_pipeline_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that change the compiler's own passes; `pipeline_of` reads them."""
    group = parser.add_argument_group(
        "the compiler's own passes", "PASSES as -p of lamina-opt takes them, such as 'cse,dce'"
    )
    for place, means in (
        ("before", "run PASSES in front of each pass called NAME"),
        ("after", "run PASSES behind it"),
        ("replace", "run PASSES instead of it"),
    ):
        group.add_argument(
            f"--{place}",
            nargs=2,
            action=_Edit,
            dest="pipeline_edits",
            default=[],
            metavar=("NAME", "PASSES"),
            help=means,
        )
    group.add_argument(
        "--drop",
        nargs=1,
        action=_Edit,
        dest="pipeline_edits",
        default=[],
        metavar="NAME",
        help="leave the pass called NAME out",
    )


def pipeline_of(options: argparse.Namespace) -> Pipeline:
    """The pipeline with the changes of a command line. Raises InputError for unknown passes."""
    made = Pipeline()
    for place, (name, *passes) in options.pipeline_edits:
        try:
            specs = [str(spec) for text in passes for spec in parse_pipeline(quoted_names(text))]
            made = getattr(made, place)(name, *specs)
        except (InputError, ArgSpecParseError) as error:
            raise InputError(f"--{place} {name}: {error}") from error
    return made
