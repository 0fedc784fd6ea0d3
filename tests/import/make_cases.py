"""Writes cases/, overloads.txt and README.md: graphs for the importer and the values PyTorch gives them."""

import sys
import warnings

sys.dont_write_bytecode = True
warnings.simplefilter("ignore")

import torch
import torch.distributed._functional_collectives  # registers the collectives

from maker import archives, ops_elementwise, ops_lists, ops_nn, ops_structure, rare, report, steps, traps_kernels, traps_state, traps_types
from maker.capture import Case

torch.set_num_threads(1)


def main():
    traps_state.make()
    traps_types.make()
    traps_kernels.make()
    ops_elementwise.make()
    ops_structure.make()
    ops_nn.make()
    ops_lists.make()
    steps.make()
    rare.make()
    archives.make()
    report.write(Case.made)


main()
