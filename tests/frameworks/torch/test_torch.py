# SPDX-License-Identifier: Apache-2.0
"""PyTorch on hosts of a lab: the backend ina keeps torch's promises. Python takes about ten seconds to load torch on each host,
so each lab runs many checks."""
import os
import queue
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "system"))
from lab import LAB, run  # noqa: E402

SOURCE = HERE.parents[2]
BUILD = Path(LAB).resolve().parent
PYTHON = ["env", f"PYTHONPATH={BUILD / 'frameworks' / 'torch'}", "PYTHONDONTWRITEBYTECODE=1", "GLOO_SOCKET_IFNAME=vec0", "/usr/bin/python3"]
OPTIONS = ["--quiet", "--aggregator", "model", "--memory", "640"]


def check(folder, n, script, *arguments, options=(), timeout_s=600):
    return run(folder, n, [*OPTIONS, *options], [*PYTHON, HERE / script, *arguments], timeout_s)


def assert_all_right(result, ranks):
    assert result.code == 0, result
    assert result.out.count("all right") == ranks, result


def test_semantics_bit_by_bit(tmp_path):
    """Two ranks."""
    assert_all_right(check(tmp_path, 2, "check_semantics.py", tmp_path), 2)


def test_semantics_within_the_bound(tmp_path):
    assert_all_right(check(tmp_path, 4, "check_semantics.py", tmp_path), 4)


def test_collectives(tmp_path):
    """Also, each group has left the aggregator when it is destroyed, so that there is room for another job."""
    result = check(tmp_path, 3, "check_collectives.py")
    assert_all_right(result, 3)
    assert result.aggregator["jobs_closed"] == result.aggregator["jobs_opened"] > 0, result


def test_loss(tmp_path):
    """Each cable loses one packet in 200 each way, including packets of torch's own connections."""
    result = check(tmp_path, 4, "check_faults.py", 3, options=["--loss-up", "0.005", "--loss-down", "0.005"])
    assert_all_right(result, 4)
    assert result.aggregator["packets_joined"] > 0, result


def test_aggregator_is_reset(tmp_path):
    result = check(tmp_path, 2, "check_faults.py", 8, options=["--reset-every", "1500"])
    assert_all_right(result, 2)
    assert result.stats["engine_resets"] > 0 and "fallbacks 0" not in result.out, result


def test_a_rank_in_gloo_helps(tmp_path, monkeypatch):
    """The switch forgets the job before a host whose sum was lost asks for it again, so only the other host has that sum."""
    monkeypatch.setenv("INA_ACK_TIMEOUT", "19")  # 2 s
    assert_all_right(check(tmp_path, 2, "check_helped.py", options=["--job-ttl", "1", "--at", "1,loss-down=0.1"]), 2)


def test_a_rank_is_killed(tmp_path):
    assert check(tmp_path, 3, "check_killed.py", "signal").out.count("all right") == 2


def test_a_rank_ends_by_an_exception(tmp_path):
    result = check(tmp_path, 3, "check_killed.py", "exception")
    assert result.out.count("all right") == 2 and "the victim's own" in result.out + result.err, result


def quietly(*command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """A virtual environment with Debian's torch and the wheel, which knows nothing of the build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = ("/usr/bin/python3", "-m", "pip")
    quietly(*pip, "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", folder, SOURCE / "frameworks/torch", INA_BUILD=str(BUILD))
    python = "cp{}{}".format(*sys.version_info)
    wheel, = folder.glob(f"torch_ina-*-{python}-{python}-linux_x86_64.whl")
    quietly("/usr/bin/python3", "-m", "venv", "--system-site-packages", "--without-pip", folder / "venv")
    quietly(*pip, "--python", folder / "venv/bin/python3", "install", "--no-index", "--no-deps", wheel)
    return folder / "venv"


def test_wheel_has_its_library(venv):
    extension, = venv.rglob("_core.*.so")
    assert f"libina.so.0 => {extension.parent}/libina.so.0" in quietly("ldd", extension)
    assert str(BUILD).encode() not in extension.read_bytes(), "it has a path into the build folder"
    out = quietly(venv / "bin/python3", "-c", "import torch_ina_hook as hook; print(hook.load()._name)", PYTHONPATH="")
    assert out == f"{extension.parent}/libina.so.0\n"


def test_torchrun(tmp_path, venv):
    """The setup of a user: the wheel; torchrun sets the ranks, and ina-lab sets nothing; and Debian's /etc/hosts, where a host's
    own name is 127.0.1.1. Python 3.11's iteration over flags leaves 0 out, so this torchrun needs an option for the output of
    the script. If this torch's stores need a libuv that it was built without, so that its torchrun fails, the variables are set as
    in docs/pytorch.md."""
    can_run = subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed as d; d.TCPStore('127.0.0.1', 0, is_master=True, wait_for_workers=False)"],
                             capture_output=True, text=True, timeout=200)
    assert can_run.returncode == 0 or "libuv" in can_run.stderr, can_run
    launch = ("-m torch.distributed.run --nnodes 2 --node_rank $node --nproc_per_node 1 -r 1 -t 1 --master_addr head --master_port 29400"
              if can_run.returncode == 0 else "")
    variables = "" if launch else "USE_LIBUV=0 RANK=$node WORLD_SIZE=2 MASTER_ADDR=head MASTER_PORT=29400"
    script = tmp_path / "job.sh"
    script.write_text(f"""node=$INA_RANK
if [ $node = 0 ]; then head=127.0.1.1; else head=$INA_ROOT; fi
printf '127.0.0.1 localhost\\n%s head\\n' $head >{tmp_path}/hosts.$node
mount --bind {tmp_path}/hosts.$node /etc/hosts
unset INA_RANK INA_RANKS INA_ROOT INA_COOKIE INA_BIND PYTHONPATH
exec env PYTHONDONTWRITEBYTECODE=1 {variables} {venv}/bin/python3 {launch} {HERE / "check_faults.py"} 2
""")
    result = run(tmp_path, 2, [*OPTIONS[:-1], "1000"], ["bash", script], 300)
    assert_all_right(result, 2)
    assert result.out.count(f"torch_ina from {venv}/") == 2, result


def offsets(structure, name, folder):
    """The offsets of the same fields, from the compiler."""
    fields = [field for field, _ in structure._fields_]
    lines = "".join(f'printf("%zu %zu\\n", offsetof(struct {name}, {field}), sizeof(((struct {name} *)0)->{field}));' for field in fields)
    source = folder / f"{name}.c"
    source.write_text(f"#include <ina.h>\n#include <stdio.h>\nint main(void) {{ {lines} return 0; }}\n")
    quietly("cc", "-I", SOURCE / "hostlib/include", "-o", source.with_suffix(""), source)
    sizes = [tuple(map(int, line.split())) for line in quietly(source.with_suffix("")).splitlines()]
    return dict(zip(fields, sizes))


def test_structures_of_the_hook(tmp_path, monkeypatch):
    """The structs are the header's, field by field, and so are their types."""
    monkeypatch.syspath_prepend(str(BUILD / "frameworks/torch"))
    import torch_ina_hook as hook
    for structure, name in ((hook.Options, "ina_options"), (hook.Stats, "ina_stats")):
        ours = {field: (getattr(structure, field).offset, getattr(structure, field).size) for field, _ in structure._fields_}
        assert ours == offsets(structure, name, tmp_path)
    header = (SOURCE / "hostlib/include/ina.h").read_text()
    for dtype, number in hook.TYPES.items():
        assert re.search(rf"\bINA_{str(dtype).split('.')[1].upper()} = {number},", header), dtype
    for number, algorithm in hook.ALGORITHMS.items():
        assert re.search(rf"\bINA_ALGORITHM_{algorithm.upper()} = {number},", header), algorithm
    assert re.search(rf"\bINA_SUM = {hook.SUM},", header) and f"#define INA_ERROR_SIZE {hook.ERROR_BYTES}\n" in header


def test_hook_waits_once_for_all_states(monkeypatch):
    """Threads that do not end stand for communicators that other ranks do not close."""
    monkeypatch.syspath_prepend(str(BUILD / "frameworks/torch"))
    import torch_ina_hook as hook
    monkeypatch.setattr(hook, "_patience_s", 0.5)
    end, states = threading.Event(), []
    for _ in range(4):
        state = hook.State.__new__(hook.State)
        state._lock, state._started, state._closed, state._thread = threading.Lock(), queue.SimpleQueue(), False, threading.Thread(target=end.wait)
        state._thread.start()
        states.append(state)
    began = time.monotonic()
    for state in states:
        state.close()
    waited = time.monotonic() - began
    end.set()
    assert 0.5 <= waited < 1.5, waited


@pytest.mark.parametrize("ranks, options", [(2, []), (4, ["--loss-up", "0.005", "--loss-down", "0.005"])])
def test_hook(tmp_path, ranks, options):
    result = check(tmp_path, ranks, "check_hook.py", options=options)
    assert result.out.count("all right") == ranks - 1, result
