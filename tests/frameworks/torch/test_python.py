# SPDX-License-Identifier: Apache-2.0
"""The backend in Python alone keeps the same promises: some of test_torch.py's checks."""
import re

import pytest

from test_torch import BUILD, SOURCE, assert_all_right, check


@pytest.fixture(autouse=True)
def in_python(monkeypatch):
    monkeypatch.setenv("INA_TORCH", "python")
    monkeypatch.syspath_prepend(str(BUILD / "frameworks/torch"))


def test_numbers():
    """The types are libina's own, and the operations are the header's."""
    import torch
    import torch.distributed as dist
    from torch_ina import in_python
    header = (SOURCE / "hostlib/include/ina.h").read_text()
    types = in_python.types()
    assert types[torch.float32] == 2 and types[torch.bfloat16] == 3 and len(types) >= 8, types
    for dtype, number in types.items():
        assert re.search(rf"\bINA_{str(dtype).split('.')[1].upper()} = {number},", header), dtype
    for name, number in in_python.OPS.items():
        assert re.search(rf"\bINA_{name.replace('PRODUCT', 'PROD')} = {number},", header) and hasattr(dist.ReduceOp, name), name
    assert re.search(rf"\bINA_UINT8 = {in_python.BYTE},", header)


def test_collectives(tmp_path):
    result = check(tmp_path, 3, "check_collectives.py")
    assert_all_right(result, 3)
    assert result.aggregator["jobs_closed"] == result.aggregator["jobs_opened"] > 0, result


def test_semantics(tmp_path):
    assert_all_right(check(tmp_path, 2, "check_semantics.py", tmp_path), 2)


def test_loss(tmp_path):
    result = check(tmp_path, 4, "check_faults.py", 3, options=["--loss-up", "0.005", "--loss-down", "0.005"])
    assert_all_right(result, 4)
    assert result.aggregator["packets_joined"] > 0, result


@pytest.mark.parametrize("way", ["signal", "exception"])
def test_a_rank_ends(tmp_path, way):
    assert check(tmp_path, 3, "check_killed.py", way).out.count("all right") == 2
