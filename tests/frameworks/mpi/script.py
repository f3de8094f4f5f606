# SPDX-License-Identifier: Apache-2.0
"""A script with the usual steps of mpi4py programs: power iteration on a matrix whose rows the ranks share, statistics, a tree of
communicators, and pickled objects. Each rank collects its results: integers, and floats rounded to fewer digits than the order
of additions can change. Rank 0 prints the results of all."""
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()


said = []


def say(*words):
    said.append(" ".join(str(word) for word in ("script.py:", rank, *words)))


# Power iteration: each step all-reduces its product, and the first guess is broadcast.
n = 4096
drawn = numpy.random.default_rng(5 + rank)
rows = numpy.arange(rank, n, ranks)
guess = numpy.random.default_rng(1).random(n) if rank == 0 else numpy.empty(n)
world.Bcast(guess, root=0)
weights = drawn.random((8, n)) / n
for step in range(6):
    product = numpy.zeros(n)
    product[rows[:8]] = weights @ guess
    total = numpy.empty(n)
    world.Allreduce(product, total)
    guess = 0.5 * guess + total / numpy.sqrt(world.allreduce(float(product @ product)))
say("power", f"{numpy.linalg.norm(guess):.9g}")

# float32, integers, maxima; in place; by request.
for kind in (numpy.float32, numpy.int32, numpy.int64, numpy.uint8):
    data = (drawn.random(20000) * 30).astype(kind)
    world.Allreduce(MPI.IN_PLACE, data, op=MPI.MAX)
    say("max", kind.__name__, int(data.astype(numpy.int64).sum()))
counts = numpy.bincount(drawn.integers(0, 5000, 100000), minlength=5000)
requests = []
results = [numpy.empty_like(counts) for _ in range(4)]
for result in results:
    requests.append(world.Iallreduce(counts, result))
MPI.Request.Waitall(requests)
say("counts", int(results[3].sum()), int(results[0] @ numpy.arange(5000)))

# Rows and columns of a grid of the ranks.
half = world.Split(rank % 2, rank)
part = numpy.full(6000, rank + 1.0)
whole = numpy.empty(6000 * half.Get_size())
half.Allgather(part, whole)
say("gathered", float(whole.sum()))
block = numpy.empty(3000, dtype=numpy.float64)
half.Reduce_scatter_block(numpy.arange(3000.0 * half.Get_size()), block)
say("scattered", float(block.sum()))
half.Free()

# Objects, which mpi4py pickles and sends as bytes, of different sizes on each rank.
everybody = world.allgather({"rank": rank, "text": "x" * (1000 * rank)})
say("objects", [len(one["text"]) for one in everybody], len(world.bcast("y" * 50000 if rank == 1 else None, root=1)))
for lines in world.gather(said) or []:
    print("\n".join(lines), flush=True)
