"""The simulator and what is planned with it, against published runs and against arithmetic."""

import pytest
from xsort.ray.machines import INSTANCES, Store, Work
from xsort.ray.plan import plan
from xsort.ray.simulate import DRIVE, IN, Job, Losses, Simulation, Step, share
from xsort.ray.sizes import parse_size, show_seconds, show_size


def simulate(job, instance="i4i.4xlarge", nodes=8, **options):
    return Simulation(job, INSTANCES[instance], nodes, **options).run()


# Sorts of Exoshuffle, by its authors: the record, and the comments of raysort/config/aws.py in
# github.com/exoshuffle/raysort. The first one is what the links were calibrated with.
PUBLISHED = [
    ("i4i.4xlarge", 40, 8, 458, True),
    ("i4i.4xlarge", 40, 100, 5378, True),
    ("i4i.2xlarge", 10, 1, 423, True),
    ("i4i.2xlarge", 10, 1, 361, False),
]


@pytest.mark.parametrize(("instance", "nodes", "terabytes", "seconds", "stored"), PUBLISHED)
def test_published_runs_are_predicted(instance, nodes, terabytes, seconds, stored):
    # Tasks of the last but the smallest are made larger: the test has no minute.
    scale = max(1, terabytes / 3)
    job = Job(
        terabytes * 1e12,
        slice_bytes=2e9 * scale,
        part_bytes=(4e9 if terabytes >= 8 else 2e9) * scale,
        store=Store() if stored else None,
        design="push",
    )
    result = simulate(job, instance, nodes)
    assert result.seconds == pytest.approx(seconds, rel=0.2)


def test_the_record_costs_what_it_cost():
    forecast = plan("100TB", nodes=40, instance="i4i.4xlarge")
    assert forecast.dollars == pytest.approx(97, rel=0.2)
    assert forecast.seconds == pytest.approx(5378, rel=0.2)
    assert "100 TB on 40 x i4i.4xlarge" in str(forecast)


def test_nothing_is_faster_than_its_resources():
    job = Job(1e12, slice_bytes=2e9)
    result = simulate(job)
    link = INSTANCES["i4i.4xlarge"].link
    # In once from the store, out once to the store, and seven eighths from node to node.
    assert result.seconds > 1e12 / 8 / link * (1 + 1 + 7 / 8) * 0.999
    assert result.phases["map"] > 1e12 / 8 / link
    assert (result.maps, result.merges) == (500, 500) and result.error is None
    assert simulate(job).seconds == result.seconds, "the same seed, the same run"


def test_shares_are_fair_and_use_all_there_is():
    capacity = [100.0, 100.0, 1.0, 4.0, 1e9, 1e9]
    slow, fast, still = Step(((IN, 100.0),), 4.0), Step(((IN, 100.0),), 0), Step((), 2.0)
    drive = Step(((DRIVE, 0.5),), 0)
    steps = dict(enumerate((slow, fast, still, drive)))
    rates = share(capacity, steps, {0: 1, 1: 1, 2: 1, 3: 1})
    # The slow one can't take its half, so the fast one has the rest.
    assert rates == pytest.approx({0: 0.25, 1: 0.75, 2: 0.5, 3: 2.0})


def test_lost_nodes_cost_their_slices():
    job = Job(1e12, slice_bytes=2e9)
    calm = simulate(job)
    at = calm.phases["map"] + 20
    lost = simulate(job, losses=Losses(at=(at,), replaced_seconds=120))
    assert lost.nodes_lost == 1 and lost.error is None
    assert 0 < lost.maps - calm.maps <= 1.5 * calm.maps / 8
    assert calm.seconds < lost.seconds < 1.6 * calm.seconds
    early = simulate(job, losses=Losses(at=(calm.phases["map"] / 2,)))
    assert early.maps - calm.maps <= calm.maps / 8 and early.error is None
    alone = simulate(job, nodes=1, losses=Losses(at=(10.0,)))
    assert alone.error is not None


def test_a_key_that_cannot_be_split_is_what_ties_are_broken_for():
    even, heavy = (simulate(Job(1e12, heavy_share=share)) for share in (0, 0.6))
    assert heavy.seconds > 2 * even.seconds


def test_plans_that_cannot_be():
    with pytest.raises(ValueError, match="take 27 nodes or more"):
        plan("100TB", nodes=4, instance="i4i.4xlarge")
    with pytest.raises(ValueError, match="no figures for 'm5.large'"):
        plan("1TB", nodes=4, instance="m5.large")
    assert plan("1TB", nodes=4, instance="i4i.4xlarge", spot=0.3).dollars_machines < 2
    assert plan("1TB", nodes=4, instance="i4i.4xlarge", work=Work(sort_core=1e6)).seconds > 10_000


def test_sizes():
    assert [parse_size(text) for text in ("2GB", "2GiB", "2g", "7", "1.5K", 9)] == [
        2 * 10**9, 2**31, 2**31, 7, 1536, 9,
    ]  # fmt: skip
    for text in ("2 zb", "", "1Gi", "-4K"):
        with pytest.raises(ValueError, match="no size"):
            parse_size(text)
    assert [show_size(count) for count in (12, 999_600, 1.5e12)] == ["12 B", "1 MB", "1.5 TB"]
    assert [show_seconds(count) for count in (8.25, 252, 5378)] == [
        "8.25 s", "4 min 12 s", "1 h 29 min",
    ]  # fmt: skip
