"""`partition`: hands what a back end takes to that back end; the rest stays for native code."""

from lamina.lowering.partition.partition import PartitionPass

__all__ = ["PartitionPass"]
