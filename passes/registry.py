"""Every Lamina pass by name; classes load only when a pipeline asks for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from xdsl.passes import ModulePass

PASSES: dict[str, str] = {
    # contracts
    "verify-stablehlo": "lamina.passes.contracts.verify_stablehlo:VerifyStableHLOPass",
    "verify-aten": "lamina.passes.contracts.verify_aten:VerifyAtenPass",
    "verify-functional": "lamina.passes.contracts.verify_functional:VerifyFunctionalPass",
    "verify-core-aten": "lamina.passes.contracts.verify_core_aten:VerifyCoreAtenPass",
    "verify-prims": "lamina.passes.contracts.verify_prims:VerifyPrimsPass",
    "verify-loop": "lamina.passes.contracts.verify_loop:VerifyLoopPass",
    "verify-fused": "lamina.passes.contracts.verify_fused:VerifyFusedPass",
    "verify-bufferized": "lamina.passes.contracts.verify_bufferized:VerifyBufferizedPass",
    "verify-scheduled": "lamina.passes.contracts.verify_scheduled:VerifyScheduledPass",
    # sizes of arguments
    "bind-sizes": "lamina.passes.sizes.bind_sizes:BindSizesPass",
    "choose-padding": "lamina.lowering.choose_padding:ChoosePaddingPass",
    "limit-sizes": "lamina.passes.sizes.limit_sizes:LimitSizesPass",
    # between layers
    "allow-lower-ops": "lamina.passes.contracts.allow_lower_ops:AllowLowerOpsPass",
    "number-arguments": "lamina.passes.functionalize.number_arguments:NumberArgumentsPass",
    "partition": "lamina.lowering.partition:PartitionPass",
    "inline-calls": "lamina.passes.functionalize.inline_calls:InlineCallsPass",
    "outline-callees": "lamina.passes.calls.outline_callees:OutlineCalleesPass",
    "link-callees": "lamina.passes.calls.link_callees:LinkCalleesPass",
    "functionalize": "lamina.passes.functionalize.functionalize:FunctionalizePass",
    "choose-stages": "lamina.lowering.stages.choose_stages:ChooseStagesPass",
    "outline-stages": "lamina.lowering.stages.outline_stages:OutlineStagesPass",
    "bound-dynamic-shapes": ("lamina.lowering.bound_dynamic_shapes:BoundDynamicShapesPass"),
    "roll-loops": "lamina.passes.regions.roll_loops:RollLoopsPass",
    "roll-layers": "lamina.passes.regions.roll_layers:RollLayersPass",
    "widen-half-floats": "lamina.passes.numerics.widen_half_floats:WidenHalfFloatsPass",
    "fold-batch-norm": "lamina.passes.numerics.fold_batch_norm:FoldBatchNormPass",
    "flush-exponentials": "lamina.passes.numerics.flush_exponentials:FlushExponentialsPass",
    "convert-stablehlo-to-prims": (
        "lamina.lowering.stablehlo_to_prims:ConvertStableHLOToPrimsPass"
    ),
    "convert-aten-to-core-aten": "lamina.lowering.aten_to_core_aten:ConvertAtenToCoreAtenPass",
    "convert-core-aten-to-prims": "lamina.lowering.core_aten_to_prims:ConvertCoreAtenToPrimsPass",
    "materialize-random-state": (
        "lamina.passes.numerics.materialize_random_state:MaterializeRandomStatePass"
    ),
    "split-complex": "lamina.lowering.split_complex:SplitComplexPass",
    "linalg-number-arguments": (
        "lamina.lowering.linalg_to_loop.linalg_number_arguments:LinalgNumberArgumentsPass"
    ),
    "convert-linalg-to-loop": "lamina.lowering.linalg_to_loop:ConvertLinalgToLoopPass",
    "convert-scheduled-to-mlir": "lamina.lowering.scheduled_to_mlir:ConvertScheduledToMlirPass",
    "convert-loop-to-linalg": "lamina.lowering.loop_to_linalg:ConvertLoopToLinalgPass",
    "convert-prims-to-loop": "lamina.lowering.prims_to_loop:ConvertPrimsToLoopPass",
    "bound-nests": "lamina.lowering.bound_nests:BoundNestsPass",
    "outline-literals": "lamina.lowering.outline_literals:OutlineLiteralsPass",
    "outline-regions": "lamina.passes.regions.outline_regions:OutlineRegionsPass",
    "batch-scans": "lamina.passes.regions.batch_scans:BatchScansPass",
    "roll-nests": "lamina.passes.regions.roll_nests:RollNestsPass",
    "hoist-invariants": "lamina.passes.regions.hoist_invariants:HoistInvariantsPass",
    # structured loops
    "canonicalize-loop": "lamina.passes.loop.canonicalize_loop:CanonicalizeLoopPass",
    "narrow-scatters": "lamina.passes.loop.narrow_scatters:NarrowScattersPass",
    "split-places": "lamina.passes.loop.split_places:SplitPlacesPass",
    "limit-reads": "lamina.passes.loop.limit_reads:LimitReadsPass",
    "expect-runs": "lamina.passes.loop.expect_runs:ExpectRunsPass",
    "loop-cse": "lamina.passes.loop.loop_cse:LoopCsePass",
    "choose-layouts": "lamina.passes.loop.choose_layouts:ChooseLayoutsPass",
    "apply-layouts": "lamina.passes.loop.apply_layouts:ApplyLayoutsPass",
    "choose-winograd": "lamina.passes.loop.choose_winograd:ChooseWinogradPass",
    "apply-winograd": "lamina.passes.loop.apply_winograd:ApplyWinogradPass",
    "fold-layout": "lamina.passes.loop.fold_layout:FoldLayoutPass",
    "fuse-elementwise": "lamina.passes.fusion.fuse_elementwise:FuseElementwisePass",
    "hoist-constants": "lamina.passes.loop.hoist_constants:HoistConstantsPass",
    "pack-contractions": "lamina.passes.loop.pack_contractions:PackContractionsPass",
    "pad-windows": "lamina.passes.loop.pad_windows:PadWindowsPass",
    "fuse-into-scatters": "lamina.passes.fusion.fuse_into_scatters:FuseIntoScattersPass",
    "fuse-gathers": "lamina.passes.fusion.fuse_gathers:FuseGathersPass",
    "align-dims": "lamina.passes.loop.align_dims:AlignDimsPass",
    "split-products": "lamina.passes.loop.split_products:SplitProductsPass",
    "split-reductions": "lamina.passes.loop.split_reductions:SplitReductionsPass",
    "fuse-column-sums": "lamina.passes.fusion.fuse_column_sums:FuseColumnSumsPass",
    "note-least-extents": "lamina.passes.fusion.note_least_extents:NoteLeastExtentsPass",
    "fuse-kernels": "lamina.passes.fusion.fuse_kernels:FuseKernelsPass",
    "merge-small-kernels": "lamina.passes.fusion.merge_small_kernels:MergeSmallKernelsPass",
    "drop-unit-dims": "lamina.passes.fusion.drop_unit_dims:DropUnitDimsPass",
    "pack-in-tasks": "lamina.passes.fusion.pack_in_tasks:PackInTasksPass",
    "merge-siblings": "lamina.passes.fusion.merge_siblings:MergeSiblingsPass",
    "elide-rounding": "lamina.passes.numerics.elide_rounding:ElideRoundingPass",
    "outline-kernels": "lamina.passes.fusion.outline_kernels:OutlineKernelsPass",
    "sink-row-factors": "lamina.passes.fusion.sink_row_factors:SinkRowFactorsPass",
    "stream-dims": "lamina.passes.fusion.stream_dims:StreamDimsPass",
    "bound-dims": "lamina.passes.fusion.bound_dims:BoundDimsPass",
    "limit-rows": "lamina.passes.fusion.limit_rows:LimitRowsPass",
    "drop-row-masks": "lamina.passes.fusion.drop_row_masks:DropRowMasksPass",
    "elide-masks": "lamina.passes.fusion.elide_masks:ElideMasksPass",
    "inline-regions": "lamina.passes.regions.inline_regions:InlineRegionsPass",
    "unroll-layers": "lamina.passes.regions.unroll_layers:UnrollLayersPass",
    # memory and schedules
    "bufferize": "lamina.passes.memory.bufferize:BufferizePass",
    "elide-copies": "lamina.passes.memory.elide_copies:ElideCopiesPass",
    "mutate-in-place": "lamina.passes.memory.mutate_in_place:MutateInPlacePass",
    "fuse-borders": "lamina.passes.fusion.fuse_borders:FuseBordersPass",
    "plan-memory": "lamina.passes.memory.plan_memory:PlanMemoryPass",
    "split-domains": "lamina.passes.loop.split_domains:SplitDomainsPass",
    "pair-results": "lamina.passes.schedule.pair_results:PairResultsPass",
    "alternate-directions": "lamina.passes.schedule.alternate_directions:AlternateDirectionsPass",
    "choose-directions": "lamina.passes.schedule.choose_directions:ChooseDirectionsPass",
    "mask-cut-sums": "lamina.passes.schedule.mask_cut_sums:MaskCutSumsPass",
    "choose-schedule": "lamina.passes.schedule.choose_schedule:ChooseSchedulePass",
    "limit-panels": "lamina.passes.schedule.limit_panels:LimitPanelsPass",
    "limit-padded-reads": "lamina.passes.schedule.limit_padded_reads:LimitPaddedReadsPass",
    "derive-sizes": "lamina.passes.schedule.derive_sizes:DeriveSizesPass",
    "limit-arguments": "lamina.passes.schedule.limit_arguments:LimitArgumentsPass",
    "compact-arguments": "lamina.passes.schedule.compact_arguments:CompactArgumentsPass",
    "compact-buffers": "lamina.passes.schedule.compact_buffers:CompactBuffersPass",
    "elide-joins": "lamina.passes.schedule.elide_joins:ElideJoinsPass",
    "explain-schedule": "lamina.passes.schedule.explain_schedule:ExplainSchedulePass",
    "parallelize": "lamina.passes.schedule.parallelize:ParallelizePass",
    "cache-read": "lamina.passes.schedule.cache_read:CacheReadPass",
    "rfactor": "lamina.passes.schedule.rfactor:RfactorPass",
    "jam": "lamina.passes.schedule.jam:JamPass",
    "tile-nests": "lamina.passes.schedule.tile_nests:TileNestsPass",
    "compute-at": "lamina.passes.schedule.compute_at:ComputeAtPass",
    "vectorize": "lamina.passes.schedule.vectorize:VectorizePass",
    "apply-schedule": "lamina.passes.schedule.apply_schedule:ApplySchedulePass",
    "share-kernels": "lamina.passes.parallel.share_kernels:ShareKernelsPass",
    "merge-equal-kernels": "lamina.passes.fusion.merge_equal_kernels:MergeEqualKernelsPass",
    "merge-parallel-regions": (
        "lamina.passes.parallel.merge_parallel_regions:MergeParallelRegionsPass"
    ),
    "hoist-teams": "lamina.passes.parallel.hoist_teams:HoistTeamsPass",
    "guard-accesses": "lamina.passes.memory.guard_accesses:GuardAccessesPass",
    "plan-scratch": "lamina.passes.memory.plan_scratch:PlanScratchPass",
}
"""Pass name to `module:class`."""


def load_pass(name: str) -> type[ModulePass]:
    """The pass class of that name. Raises KeyError for names not in `PASSES`."""
    module, _, attribute = PASSES[name].partition(":")
    return getattr(import_module(module), attribute)


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Lazy factories, as xDSL's opt tool and universes want them."""
    return {name: partial(load_pass, name) for name in PASSES}
