# SPDX-License-Identifier: Apache-2.0
"""The events of a run: everything that a seed determines."""
import math
import random
from dataclasses import dataclass, field


@dataclass
class Schedule:
    """A run: n hosts, options of ina-lab, arguments of churn, and the facts that the verdict needs."""
    seed: int
    hosts: int = 0
    aggregator: str = ""
    algorithm: str = ""
    communicators: int = 0
    options: list = field(default_factory=list)    # for ina-lab, in addition to those of every run
    arguments: list = field(default_factory=list)  # for churn
    victim: int = -1       # the rank that dies
    death: str = ""        # kill; cut: its cable is cut and stays so
    death_s: float = 0     # seconds after the start
    stall_s: tuple = ()    # start and end of a cut of a cable that is too long for retransmissions
    aggregator_fails: bool = False
    fabric: str = ""       # several switches
    jobs: int = 1          # at the same time
    channels: int = 1      # of each job
    contexts: int = 0      # of each aggregator; 0: enough for all

    @property
    def lacks_contexts(self):
        """Each channel needs a context; a copy of a JOIN that comes after the end of its job takes one too."""
        return 0 < self.contexts < 2 * self.channels * self.jobs

    @property
    def has_lossy_channels(self):
        """Several channels that lose their aggregators, while frames are lost too."""
        return self.channels > 1 and self.aggregator_fails and any(word.startswith("--loss") for word in self.options)

    def add(self, option, value):
        self.options += [f"--{option}", str(value)]


def draw(seed):
    """The schedule of a seed. The order of the random numbers is part of it, so new choices come last."""
    chance = random.Random(seed)
    schedule = Schedule(seed, hosts=chance.choices([2, 3, 4, 5, 6, 8], [4, 4, 4, 1, 1, 1])[0])
    draw_network(schedule, chance)
    draw_losses(schedule, chance)
    draw_aggregator(schedule, chance)
    draw_hosts(schedule, chance)
    draw_work(schedule, chance)
    draw_fabric(schedule, chance)
    draw_jobs(schedule, chance)
    draw_channels(schedule, chance)
    draw_idle(schedule, chance)
    draw_lossy_channels(schedule, chance)
    # With any other algorithm the fault would have no effect.
    if (schedule.aggregator_fails or schedule.lacks_contexts) and schedule.algorithm == "ina":
        schedule.algorithm = schedule.arguments[4] = "auto"
    return schedule


def between(chance, least, most):
    """Every order of magnitude is equally likely."""
    return math.exp(chance.uniform(math.log(least), math.log(most)))


def milliseconds(value):
    return f"{value:.3f}ms"


def draw_network(schedule, chance):
    schedule.add("mtu", chance.choice([256, 512, 1024, 2048, 4096, 4096]))
    schedule.add("link-rate", chance.choice(["1G", "10G", "25G", "100G"]))
    schedule.add("link-delay", chance.choice(["500ns", "5us", "50us"]))
    if chance.random() < 0.2:
        schedule.add("queue", int(between(chance, 30_000, 2_000_000)))
    if chance.random() < 0.2:
        schedule.add("ecn-threshold", int(between(chance, 5_000, 500_000)))
    if chance.random() < 0.2:
        schedule.add("host-packet-cost", int(between(chance, 50, 5_000)))


def draw_losses(schedule, chance):
    if chance.random() < 0.3:
        return
    for name in ("loss-up", "loss-down", "duplicate", "reorder", "corrupt"):
        if chance.random() < 0.5:
            schedule.add(name, f"{between(chance, 5e-4, 4e-2):.6f}")


def draw_aggregator(schedule, chance):
    schedule.aggregator = chance.choices(["rtl", "model", "off"], [6, 3, 1])[0]
    fate = chance.choices(["none", "reset-at", "reset-every", "job-ttl", "off-after", "stuck-after"],
                          [12, 6, 2, 2, 1, 1])[0]
    if schedule.aggregator == "off" or fate == "none":
        return
    schedule.aggregator_fails = True
    if fate == "reset-at":
        for _ in range(chance.randint(1, 3)):
            schedule.add(fate, milliseconds(between(chance, 0.5, 200)))
    elif fate == "job-ttl":  # it forgets jobs that only pause
        schedule.add(fate, f"{between(chance, 0.05, 1):.3f}")
    else:
        schedule.add(fate, int(between(chance, 20, 2000)))


def draw_hosts(schedule, chance):
    """Late ranks; a cable that is cut for a moment, which retransmissions repair, or for longer; a host that dies."""
    if chance.random() < 0.2:
        schedule.add("delay-rank", f"{chance.randrange(schedule.hosts)}:{between(chance, 0.001, 5):.3f}")
    fate = chance.choices(["none", "blip", "stall", "kill", "cut"], [5, 3, 2, 2, 1])[0]
    rank = chance.randrange(schedule.hosts)
    time_ms = between(chance, 1, 150)
    if fate in ("blip", "stall"):
        end_ms = time_ms + (between(chance, 0.01, 200) if fate == "blip" else between(chance, 200, 20_000))
        schedule.add("cut", f"{rank}:{milliseconds(time_ms)}:{milliseconds(end_ms)}")
        schedule.stall_s = (time_ms / 1000, end_ms / 1000) if fate == "stall" else ()
    elif fate != "none":
        schedule.victim, schedule.death, schedule.death_s = rank, fate, time_ms / 1000
        schedule.add(fate, f"{rank}:{milliseconds(time_ms)}")


def draw_work(schedule, chance):
    asked = [3, 0 if schedule.aggregator == "off" or schedule.aggregator_fails else 1, 1]
    schedule.algorithm = chance.choices(["auto", "ina", "ring"], asked)[0]
    schedule.communicators = chance.randint(1, 6)
    # The RTL is simulated clock by clock: less data if it has more ports.
    elements = chance.choice([300, 5_000, 40_000, 100_000])
    if schedule.aggregator == "rtl":
        elements = min(elements, 160_000 // schedule.hosts)
    schedule.arguments = [schedule.seed, schedule.communicators, chance.randint(1, 30), elements, schedule.algorithm]
    if schedule.victim >= 0:
        schedule.arguments.append(schedule.victim)


def fabrics(hosts):
    """The possible fabrics for this number of hosts, in the notation of --topology, with their switches and the cables between
    them."""
    for leaves in range(2, hosts + 1):
        if hosts % leaves:
            continue
        names = [f"leaf{leaf}" for leaf in range(leaves)]
        yield f"leaf-spine:{leaves}x{hosts // leaves}", [*names, "spine0"], [f"{name}:up0" for name in names]
        yield (f"clos:2x{leaves}x{hosts // leaves}", [*names, "spine0", "spine1"],
               [f"{name}:up{up}" for name in names for up in range(2)])


def draw_fabric(schedule, chance):
    """Several switches for a third of the seeds. One of them is reset, or a cable between two is cut for a while."""
    if chance.random() > 1 / 3:
        return
    schedule.fabric, switches, cables = chance.choice(list(fabrics(schedule.hosts)))
    schedule.add("topology", schedule.fabric)
    fate = chance.choice(["none", "reset", "blip", "stall"])
    time_ms = between(chance, 1, 150)
    if fate == "reset" and schedule.aggregator != "off":
        schedule.aggregator_fails = True
        schedule.add("at", f"{chance.choice(switches)},reset-at={milliseconds(time_ms)}")
    # Two ranks that are unreachable at two different times would be a different test.
    elif fate in ("blip", "stall") and schedule.victim < 0 and not schedule.stall_s:
        end_ms = time_ms + (between(chance, 0.01, 200) if fate == "blip" else between(chance, 200, 20_000))
        schedule.add("at", f"{chance.choice(cables)},cut-at={milliseconds(time_ms)},mend-at={milliseconds(end_ms)}")
        schedule.stall_s = (time_ms / 1000, end_ms / 1000) if fate == "stall" else ()


def draw_jobs(schedule, chance):
    """Several jobs at the same time for a quarter of the seeds, which share the switches' memory. The model may have too few
    contexts for all, and so little memory that each gets a part of what it asks for."""
    if chance.random() > 1 / 4:
        return
    schedule.jobs = chance.randint(2, 4)
    schedule.arguments[3] = max(300, schedule.arguments[3] // schedule.jobs)
    if schedule.aggregator != "model":
        return
    schedule.contexts = chance.choice([1, schedule.jobs - 1, schedule.jobs, 2 * schedule.jobs])
    window = chance.choice([8, 16, 32, 128])
    schedule.add("jobs", schedule.contexts)
    schedule.add("window", window)
    schedule.add("packet-memory", max(window, 8 * schedule.contexts) + 8 * chance.randint(0, 8))


def draw_channels(schedule, chance):
    """A tree over each of two spines for half of the seeds that have two. One of them may be reset, removed or swallow
    everything: then the other tree takes over its part."""
    if not schedule.fabric.startswith("clos") or chance.random() < 1 / 2:
        return
    schedule.channels = 2
    fate = chance.choice(["none", "reset-at", "off-after", "stuck-after"])
    spine = f"spine{chance.randrange(2)}"
    value = milliseconds(between(chance, 0.5, 200)) if fate == "reset-at" else int(between(chance, 20, 2000))
    if fate != "none" and schedule.aggregator != "off":
        schedule.aggregator_fails = True
        schedule.add("at", f"{spine},{fate}={value}")


def draw_idle(schedule, chance):
    """If there are too few contexts, a job that pauses loses its context; for half of the seeds sooner than by default."""
    if schedule.lacks_contexts and chance.random() < 1 / 2:
        schedule.add("idle-ttl", f"{between(chance, 0.004, 0.5):.4f}")


def draw_lossy_channels(schedule, chance):
    """Several channels for a sixth of the seeds, with resets and losses at the same time, whatever the switches are. Each channel
    loses its aggregator again and again, and ranks come late to channels that they have not used yet."""
    if schedule.aggregator == "off" or chance.random() > 1 / 6:
        return
    schedule.channels = chance.choice([2, 2, 3, 4])
    if not schedule.aggregator_fails:
        schedule.aggregator_fails = True
        schedule.add("reset-every", int(between(chance, 20, 1000)))
    for name in ("loss-up", "loss-down"):
        if f"--{name}" not in schedule.options:
            schedule.add(name, f"{between(chance, 1e-3, 1e-1):.6f}")


def command(jobs, seed, churn):
    """The command that runs `jobs` jobs at the same time on a host: churn is the program with its arguments after the seed."""
    program, *arguments = (str(word) for word in churn)
    if jobs == 1:
        return [program, str(seed), *arguments]
    return ["sh", "-c", f"pids=; code=0; for job in $(seq 0 {jobs - 1}); do CHURN_JOB=$job INA_COOKIE=job$job \"$0\" $(({seed} + 1000 * job)) \"$@\" &\n"
            "pids=\"$pids $!\"; done; for pid in $pids; do wait $pid || code=1; done; exit $code", program, *arguments]
