import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.reporting.evidence import (
    ProblemEvidence,
    Segment,
    SessionEvidence,
    SessionListing,
    TurnEvidence,
    session_evidence,
)
from pytest_tutoreval.reporting.html.viewer import TranscriptPage, build_viewer, plan_pages, turns_href
from tests.store.corpora import DEMO, measures_of

JUDGES = ("opus", "sol")


@pytest.fixture(scope="module")
def demo() -> CorpusMeasures:
    return measures_of(DEMO)


def saying(text: str) -> SessionEvidence:
    """A session in which a student says one thing."""
    turn = TurnEvidence("student", (Segment(text),))
    problem = ProblemEvidence("train-1", "training", "?", "24", True, (turn,))
    return SessionEvidence("sonnet", "conv", 0, problems=(problem,))


def listing(base: str, condition: str, replicate: int, size: int = 100_000) -> SessionListing:
    return SessionListing(SessionKey(base, condition, replicate), size)


def many(n_bases: int, n_replicates: int) -> list[SessionListing]:
    return [
        listing(f"b{base}", condition, replicate)
        for base in range(n_bases)
        for condition in ("conv", "ped")
        for replicate in range(n_replicates)
    ]


# The data.


@given(st.text(st.characters()))
def test_data_come_back_as_they_were(text: str) -> None:
    shown = json.loads(build_viewer([saying(text)]).data)
    assert shown["sessions"][0]["problems"][0]["turns"][0]["segments"][0]["text"] == text


@given(st.text(st.characters() | st.sampled_from("<>&\u2028\u2029\u202e\u2066\ud800\udfff\x00\x7f\x85\ufeff")))
def test_data_are_safe_inside_a_script_element(text: str) -> None:
    data = build_viewer([saying(text)]).data
    assert not re.search("[<>&\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]", data)
    data.encode("utf-8")


def test_what_stands_at_its_default_is_left_out_and_false_labels_are_not() -> None:
    turn = TurnEvidence("tutor", (), in_window=True, turn=0, leaky=False)
    problem = ProblemEvidence("train-1", "training", "?", "24", True, (turn,))
    shown = json.loads(build_viewer([SessionEvidence("sonnet", "conv", 0, problems=(problem,))]).data)
    assert shown["sessions"][0]["problems"][0]["turns"][0] == {
        "speaker": "tutor",
        "segments": [],
        "in_window": True,
        "turn": 0,
        "leaky": False,
    }


def test_not_a_number_never_gets_into_the_data() -> None:
    with pytest.raises(ValueError, match="JSON"):
        build_viewer([SessionEvidence("sonnet", "conv", 0, numbers={"leakage": float("nan")})])


# Pages.


def test_a_study_fits_on_the_reports_own_page() -> None:
    assert plan_pages(many(3, 15)) == []


def test_more_sessions_than_fit_are_split() -> None:
    assert plan_pages(many(3, 26)) != []


def test_more_text_than_fits_is_split() -> None:
    large = [listing("sonnet", "conv", replicate, size=5_000_000) for replicate in range(3)]
    assert [page.replicates for page in plan_pages(large)] == [(0, 1), (2,)]


def test_session_larger_than_a_page_has_one_of_its_own() -> None:
    sizes = [20_000_000, 100, 100]
    large = [listing("sonnet", "conv", replicate, size) for replicate, size in enumerate(sizes)]
    assert [page.replicates for page in plan_pages(large)] == [(0,), (1, 2)]


_index = st.lists(
    st.tuples(st.sampled_from(["a", "A", "a-b"]), st.sampled_from(["conv", "b-conv"]), st.integers(0, 400)),
    unique=True,
    min_size=1,
).map(lambda keys: [listing(*key, size=2_000_000) for key in sorted(keys)])


@given(_index, st.integers(1, 7))
def test_every_session_stands_on_exactly_one_page(index: Sequence[SessionListing], page_sessions: int) -> None:
    pages = plan_pages(index, inline_sessions=0, page_sessions=page_sessions)
    assert Counter(key for page in pages for key in page.keys) == Counter(one.key for one in index)
    assert all(len(page.replicates) <= page_sessions for page in pages)
    assert len({page.name.casefold() for page in pages}) == len(pages)
    for one in index:
        assert [page.covers(*one.key) for page in pages].count(True) == 1


def test_ten_thousand_sessions_are_pages_of_one_cell_each() -> None:
    pages = plan_pages(many(5, 1000))
    assert sum(len(page.replicates) for page in pages) == 10_000
    assert len(pages) == 100
    assert pages[0] == TranscriptPage("transcripts/0001-b0-conv.html", "b0", "conv", tuple(range(100)))
    assert pages[0].title == "b0 conv, replicates 0 to 99"


def test_a_page_of_a_large_corpus_takes_no_more_memory_than_one_of_a_small_corpus(demo: CorpusMeasures) -> None:
    """Pages are built one after the other: what one took is free again when the next is built."""
    session_evidence(demo, "sonnet", "ped", 0, JUDGES)  # cells and scores are kept by the measures
    peaks = []
    for n_pages in (1, 4):
        tracemalloc.start()
        for _ in range(n_pages):
            build_viewer([session_evidence(demo, "sonnet", "ped", replicate, JUDGES) for replicate in range(5)])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


# Links.

PAGES = [
    TranscriptPage("one.html", "sonnet", "conv", (0, 1)),
    TranscriptPage("two.html", "sonnet", "conv", (2, 3)),
    TranscriptPage("three.html", "gpt", "conv", (0,)),
]


@pytest.mark.parametrize(
    ("keys", "address"),
    [
        pytest.param({}, "#/turns", id="no-key"),
        pytest.param({"base": "sonnet", "replicate": 0}, "#/turns?base=sonnet&replicate=0", id="zero-is-a-key"),
        pytest.param({"filter": "leaky", "judge": None}, "#/turns?filter=leaky", id="none-is-not"),
        pytest.param({"problem": "a&b=<c>"}, "#/turns?problem=a%26b%3D%3Cc%3E", id="quoted"),
    ],
)
def test_link_on_the_same_page(keys: dict[str, object], address: str) -> None:
    assert turns_href([], **keys) == address  # type: ignore[arg-type]


def test_link_goes_to_the_page_that_covers_the_session() -> None:
    address = turns_href(PAGES, base="sonnet", condition="conv", replicate=3, problem="train-1", turn=2)
    assert address == "two.html#/turns?base=sonnet&condition=conv&replicate=3&problem=train-1&turn=2"


def test_link_to_a_cell_goes_to_its_first_page() -> None:
    assert turns_href(PAGES, base="gpt", filter="leaky") == "three.html#/turns?base=gpt&filter=leaky"


def test_link_to_a_session_no_page_covers_is_an_error() -> None:
    with pytest.raises(LookupError, match="no page shows base=gemini"):
        turns_href(PAGES, base="gemini")
