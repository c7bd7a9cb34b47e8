"""Where things stand on a forest row and on a slope, worked by hand and held to what cannot change."""

import re
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.reporting.html.forest import (
    MARKS,
    Interval,
    Scale,
    forest_axis,
    forest_row,
    icon,
    registered_sign,
    scale_around,
)
from pytest_tutoreval.reporting.html.slopes import corpus_slopes, draw_panel
from tests.reporting.html.runs import demo_measures
from tests.store.corpora import a_table_corpus, measures_of

UNIT = Scale(-1.0, 1.0, (-1.0, 0.0, 1.0), 0)

finite = st.floats(-1e6, 1e6, allow_nan=False)


def row(interval: Interval, **changes: object) -> str:
    return forest_row(UNIT, interval, **{"title": "t", "described": "d"} | changes)  # type: ignore[arg-type]


def test_places_are_percentages_of_the_width() -> None:
    # 4 % stay free at either end, so -1 stands at 4 %, 1 at 96 %, and 0.5 at 4 + 92 * 3/4 = 73 %.
    assert [UNIT.across(value) for value in (-1.0, 0.0, 0.5, 1.0)] == ["4.00%", "50.00%", "73.00%", "96.00%"]


def test_a_number_beyond_the_scale_stands_at_its_end() -> None:
    assert UNIT.across(7.0) == "96.00%"
    assert UNIT.across(-7.0) == "4.00%"


def test_labels_stand_at_round_numbers() -> None:
    # From 0 to 0.516 in at most five steps: 0.103 or more each, so 0.2.
    scale = scale_around([Interval(0.365, 0.217, 0.516)])
    assert (scale.low, scale.digits) == (0.0, 1)
    assert scale.high == pytest.approx(0.6)
    # From -0.25 to 1 in at most five: 0.25 each, which takes two decimals.
    assert scale_around([Interval(1.0, -0.25, 1.0)]).digits == 2


@given(st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=5), st.sampled_from([None, 1, -1]))
def test_a_scale_shows_every_interval_zero_and_the_registered_side(
    rows: list[tuple[float, float, float]], sign: int | None
) -> None:
    scale = scale_around((Interval(*values) for values in rows), sign=sign)
    slack = (scale.high - scale.low) * 1e-6
    assert scale.low - slack <= min(0.0, *(min(values) for values in rows))
    assert scale.high + slack >= max(0.0, *(max(values) for values in rows))
    assert 2 <= len(scale.ticks) <= 8
    if sign:
        assert (scale.high if sign > 0 else -scale.low) >= 0.1 * (scale.high - scale.low)


@given(finite, finite, finite)
def test_swapped_arms_mirror_the_row(estimate: float, low: float, high: float) -> None:
    here = scale_around([Interval(estimate, low, high)], sign=1)
    there = scale_around([Interval(-estimate, -high, -low)], sign=-1)
    assert there.share(-estimate) == pytest.approx(1 - here.share(estimate), abs=1e-6)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), 1e300, "0.3"])
def test_what_cannot_be_drawn_is_said_and_not_drawn(value: object) -> None:
    interval = Interval(value, value, value)  # type: ignore[arg-type]
    assert scale_around([interval]) == scale_around([])
    drawn = row(interval)
    assert "no number" in drawn
    assert 'class="interval"' not in drawn
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_the_registered_side_is_shaded_and_pointed_to() -> None:
    assert '<rect class="side" x="50.00%" width="50.00%"' in row(Interval(0.1), sign=1)
    assert '<rect class="side" width="50.00%"' in row(Interval(0.1), sign=-1)
    assert "side" not in row(Interval(0.1), sign=None)
    assert "scale(-1 1)" in forest_axis(UNIT, title="t", described="d", sign=-1)
    assert "arrow" not in forest_axis(UNIT, title="t", described="d")


def test_a_margin_stands_where_it_was_registered() -> None:
    assert '<line class="margin" x1="73.00%" x2="73.00%"' in row(Interval(0.1), margin=0.5)


@pytest.mark.parametrize(
    ("direction", "first", "sign"),
    [
        ("conv > ped", "conv", 1),
        ("ped > conv", "conv", -1),
        ("positive", "conv", 1),
        ("negative", "conv", -1),
        ("mine > base", "mine", 1),
        ("base > mine", "mine", -1),
        ("candidates > reference", "conv", None),
        ("P1 supported and P2 supported", "conv", None),
        (None, "conv", None),
    ],
)
def test_a_direction_registers_a_sign(direction: str | None, first: str, sign: int | None) -> None:
    assert registered_sign(direction, first=first) == sign


def test_no_two_outcomes_share_a_shape() -> None:
    assert len(set(MARKS.values())) == len(MARKS)
    for name in MARKS:
        assert MARKS[name] in row(Interval(0.1), mark=name)
        assert MARKS[name] in icon(name)


def test_titles_are_text() -> None:
    drawn = row(Interval(0.1), title="<script>\u202e", described="</desc>&\x00")
    assert r"<title>&lt;script&gt;\u202e</title><desc>&lt;/desc&gt;&amp;\x00</desc>" in drawn


# Slopes.


def lines(drawing: str, kind: str) -> list[tuple[float, float]]:
    found = re.findall(rf'<line class="{kind}" x1="62" x2="148" y1="([\d.]+)" y2="([\d.]+)"/>', drawing)
    return [(float(left), float(right)) for left, right in found]


def test_a_slope_joins_a_pair_and_the_heavy_one_their_means() -> None:
    # The axis runs from 140 (low) up to 12 (high), 128 high: 0.25 stands at 140 - 32 = 108, 0.75 at 44, 0.5 at 76.
    drawing = draw_panel([(0.25, 0.75), (0.75, 0.25)], Scale(0.0, 1.0, (0.0, 1.0), 0), title="t")
    assert lines(drawing, "pair") == [(108.0, 44.0), (44.0, 108.0)]
    assert lines(drawing, "mean") == [(76.0, 76.0)]
    assert "2 replicates; mean 0.500 under conv, 0.500 under ped; conv is the higher one in 1" in drawing


def test_the_slopes_of_a_corpus_are_its_sessions() -> None:
    measures = demo_measures()
    figures = corpus_slopes(measures)
    assert [(figure.measure, figure.judge) for figure in figures] == [
        ("leakage", None),
        ("independence", None),
        ("helpfulness", "opus"),
        ("helpfulness", "sol"),
        ("pedagogy", "opus"),
        ("pedagogy", "sol"),
    ]
    for figure in figures:
        assert [panel.base for panel in figure.panels] == ["sonnet", "gpt", "gemini"]
        assert all(panel.said == "10 pairs" for panel in figure.panels)
    leakage = figures[0].panels[0].drawing
    conv = fmean(session.leakage or 0.0 for session in measures.cell("sonnet", "conv").sessions.values())
    assert leakage
    assert len(lines(leakage, "pair")) == 10
    assert f"mean {conv:.3f} under conv" in leakage


def test_a_pair_without_a_value_is_left_out_and_counted(tmp_path: Path) -> None:
    conv = [0.5] * 8 + [None, 0.5]
    ped = [0.25] * 9 + [None]
    leakage, independence, *_ = corpus_slopes(measures_of(a_table_corpus(tmp_path, conv, ped)))
    (panel,) = leakage.panels
    assert panel.said == "8 pairs, 2 without a value in both arms"
    assert panel.drawing
    assert len(lines(panel.drawing, "pair")) == 8
    (empty,) = independence.panels
    assert (empty.drawing, empty.said) == (None, "no replicate has a value in both arms")


def test_what_no_claim_could_be_decided_on_is_not_drawn(tmp_path: Path) -> None:
    leakage, *_ = corpus_slopes(measures_of(a_table_corpus(tmp_path, [0.5] * 9, [0.25] * 10)))
    (panel,) = leakage.panels
    assert (panel.drawing, panel.said) == (None, "sonnet/conv lacks replicate 9 of 10 registered")
