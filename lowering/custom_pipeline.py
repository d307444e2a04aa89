"""`lamina.Pipeline`: the compiler's passes, some of them replaced, left out, or joined by others.

    mine = lamina.Pipeline().before("fuse-kernels", MyPass()).drop("merge-siblings")
    lamina.compile(program, pipeline=mine)

A pipeline is a value: each method gives another one. It says how the passes of the compiler differ,
whatever the layer at which a program comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from lamina.dialects.compiling import compiling
from lamina.dialects.errors import InputError
from lamina.dialects.extension_tables import key_of_pass
from lamina.dialects.nearest_ops import nearest
from lamina.dialects.records import record
from lamina.lowering.pass_specs import Pass, pass_of
from lamina.lowering.pipeline import (
    CONTRACTS,
    ENTERED,
    ENTERING,
    SOURCE_LAYERS,
    STAGES,
    pipeline,
    run_pipeline,
)

KNOWN = ("lamina.", "xdsl.")
"""Packages whose versions are part of the disk cache's keys."""


@record
class Edit:
    """One change: `passes` before, behind or instead of each pass called `name`."""

    place: str
    name: str
    passes: tuple[Pass, ...] = ()

    def apply(self, specs: Sequence[Pass]) -> tuple[Pass, ...]:
        """The passes with the change."""
        made: list[Pass] = []
        for spec in specs:
            if name_of(spec) != self.name:
                made.append(spec)
            elif self.place == "before":
                made += [*self.passes, spec]
            elif self.place == "after":
                made += [spec, *self.passes]
            else:
                made += self.passes
        return tuple(made)


def name_of(spec: Pass) -> str:
    """The name of a pass, of a spec without its options."""
    return spec.name if isinstance(spec, ModulePass) else spec.partition("{")[0]


@record
class Pipeline:
    """The compiler's passes with changes, in the order in which they were made.

    Passes are `ModulePass` objects, of xDSL or one's own, or specs as `lamina-opt -p` takes them. A
    name that stands in several stages (`widen-half-floats`) is meant in each. After a pass that is
    not Lamina's the program is verified. A pipeline never changes: each method gives another, whose
    `edits` are one longer. Raises InputError for a name that no pass has.

        mine = lamina.Pipeline().after("verify-core-aten", MyPass()).drop("merge-siblings")
        compiled = lamina.compile(text, pipeline=mine)
    """

    edits: tuple[Edit, ...] = ()

    def before(self, name: str, *passes: Pass) -> Pipeline:
        """A pipeline with `passes` in front of the one called `name`."""
        return self._with(Edit("before", name, passes))

    def after(self, name: str, *passes: Pass) -> Pipeline:
        """A pipeline with `passes` behind the one called `name`."""
        return self._with(Edit("after", name, passes))

    def replace(self, name: str, *passes: Pass) -> Pipeline:
        """A pipeline with `passes` instead of the one called `name`."""
        return self._with(Edit("replace", name, passes))

    def drop(self, *names: str) -> Pipeline:
        """A pipeline without the passes of these `names`."""
        made = self
        for name in names:
            made = made._with(Edit("replace", name))
        return made

    def _with(self, edit: Edit) -> Pipeline:
        known = {name for stage in STAGES for name in stage.passes} | set(CONTRACTS.values())
        entering = (*ENTERING.values(), *ENTERED.values())
        known |= {name for names in entering for name in names}
        known |= {name for source in SOURCE_LAYERS.values() for name in source.passes}
        known |= {name_of(p) for earlier in self.edits for p in earlier.passes}
        if not isinstance(edit.name, str) or edit.name not in known:
            near = nearest(edit.name, known)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise InputError(f"no pass of the pipeline is called {edit.name!r}{hint}")
        for spec in edit.passes:
            if not isinstance(spec, ModulePass | str):
                raise InputError(
                    f"Pipeline: {spec!r} is no pass; it takes ModulePass objects, as MyPass(), and "
                    "specs, as 'cse'"
                )
            pass_of(spec)
        return replace(self, edits=(*self.edits, edit))

    def applied(self, specs: Sequence[Pass]) -> tuple[Pass, ...]:
        """Some of the compiler's passes, given as `specs`, with the changes."""
        made = tuple(specs)
        for edit in self.edits:
            made = edit.apply(made)
        return made

    def passes(
        self,
        *,
        start: str = "aten",
        stop: str = "scheduled",
        target: str = "host",
        rounding: str = "kernel",
    ) -> tuple[ModulePass, ...]:
        """The passes from layer `start` to layer `stop` as objects.

        `target` and `rounding` are options of some of them; see `lamina.pipeline`.
        """
        specs = pipeline(start=start, stop=stop, target=target, rounding=rounding)
        return tuple(pass_of(spec) for spec in self.applied(specs))

    def run(
        self,
        module: ModuleOp,
        *,
        start: str = "aten",
        stop: str = "scheduled",
        target: str = "host",
        rounding: str = "kernel",
        until: str | None = None,
        since: str | None = None,
        context: Context | None = None,
    ) -> None:
        """Run the passes on a module in place: those behind `since`, up to `until` and with it.

        The passes are those that `passes` gives for `start`, `stop`, `target` and `rounding`; the
        module stands at `start`. They load dialects in `context`, Lamina's own by default.
        So a run that stopped after a pass goes on with `since` of its name, to the same result.
        Raises InputError for a pass that is not among them.
        """
        if not isinstance(module, ModuleOp):
            raise InputError(f"Pipeline.run: it takes a ModuleOp, not a {type(module).__name__}")
        specs = self.applied(pipeline(start=start, stop=stop, target=target, rounding=rounding))
        coming = between(specs, since, until)
        with compiling():
            run_pipeline(module, coming, context or _context())

    @property
    def key(self) -> str | None:
        """What tells it from other pipelines; None if it has passes that no version tells apart.

        What is compiled by those is not kept in the disk cache. Passes of an active extension that
        has a version are told apart by it, and by their files.
        """
        passes = [pass_of(spec) for edit in self.edits for spec in edit.passes]
        versions = [_version(type(p)) for p in passes]
        if None in versions:
            return None
        texts = [
            f"{version}{p.pipeline_pass_spec()}"
            for version, p in zip(versions, passes, strict=True)
        ]
        return f"{[(edit.place, edit.name, len(edit.passes)) for edit in self.edits]} {texts}"


def _version(kind: type[ModulePass]) -> str | None:
    """What tells a class of passes from others of its name, beside Lamina's and xDSL's versions."""
    return "" if kind.__module__.startswith(KNOWN) else key_of_pass(kind)


def between(specs: Sequence[Pass], since: str | None, until: str | None) -> Sequence[Pass]:
    """The passes behind `since`, up to `until` and with it; InputError if they are not there.

    Of several passes of one name, `since` is the first and `until` the last.
    """
    names = [name_of(spec) for spec in specs]
    for name in (since, until):
        if name is not None and not (isinstance(name, str) and name in names):
            near = ", ".join(nearest(name, names) or names[:8])
            raise InputError(f"no pass among these is called {name!r}; nearest: {near}")
    first = 0 if since is None else names.index(since) + 1
    end = len(names) if until is None else len(names) - names[::-1].index(until)
    return specs[first:end]


def _context() -> Context:
    from lamina.dialects.context import Context as AllDialects

    return AllDialects()
