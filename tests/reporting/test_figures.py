"""Figures 1 to 4: what stands in them, that they are valid, and the same every time."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.reporting.figures import FIGURES, write_figures
from pytest_tutoreval.reporting.figures.excerpt import PROBLEM, draw_excerpt
from pytest_tutoreval.reporting.figures.policy_couplings import draw_policy_couplings
from pytest_tutoreval.reporting.figures.rows import Mark, Row, limits, minus, short
from pytest_tutoreval.reporting.figures.style import SIZE, WIDTH, Drawing, printable, styled, text_width, wrap
from pytest_tutoreval.reporting.figures.writing import svg_bytes
from pytest_tutoreval.reporting.tables_source import StudyResults
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus, write_session
from tests.builders import a_session

DEMO = data_folder("fixtures") / "demo"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["figure1", "figure2a", "figure2b", "figure3a", "figure3b", "figure4"]


def measures_of(folder: Path) -> CorpusMeasures:
    return CorpusMeasures(open_corpus(folder), load_instrument())


@pytest.fixture(scope="module")
def study(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_figures(measures_of(released), folder)
    return folder


@pytest.fixture(scope="module")
def demo_measures() -> CorpusMeasures:
    return measures_of(DEMO)


@pytest.fixture(scope="module")
def demo(demo_measures: CorpusMeasures) -> Mapping[str, Drawing]:
    with styled():
        drawings = [draw(StudyResults(demo_measures)) for draw in FIGURES]
    return {drawing.stem: drawing for drawing in drawings}


@pytest.fixture
def style() -> Iterator[None]:
    with styled():
        yield


def texts(svg: bytes) -> list[str]:
    return [" ".join("".join(element.itertext()).split()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def svg_of(drawing: Drawing) -> bytes:
    with styled():
        return svg_bytes(drawing)


def test_every_figure_is_written_as_svg_and_png(study: Path) -> None:
    assert sorted(path.name for path in study.iterdir()) == sorted(f"{n}.{s}" for n in NAMES for s in ("svg", "png"))
    for name in NAMES:
        height, width = imread(study / f"{name}.png").shape[:2]
        assert width == round(WIDTH * 300)
        assert height < 6 * 300


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_valid_and_says_in_words_what_it_shows(study: Path, name: str) -> None:
    data = (study / f"{name}.svg").read_bytes()
    root = ElementTree.fromstring(data)
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text is not None
    assert title.text.startswith(f"Figure {name.removeprefix('figure')}. ")
    assert len(description.text or "") > 80
    assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
    assert b"nan" not in data.lower().replace(b"nance", b"")
    assert b"dc:date" not in data
    assert len(texts(data)) > 5


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        (
            "figure1",
            ["Claude Opus 4.8: helpfulness 5.00, pedagogy 1.00", "Claude Opus 4.8: helpfulness 5.00, pedagogy 5.00"],
        ),
        ("figure2a", ["−0.094", ".160", "+0.115", "−2.364", "1.000"]),
        ("figure2b", ["4.70", "2.58", "4.95", "conv_socratic", "ped_no_cascade"]),
        ("figure3a", ["−0.386", "−0.535", "−0.592", "−0.302", "−0.604"]),
        ("figure3b", ["−0.181", "−0.626", "−0.834", "10"]),
        ("figure4", ["training", "6", "interference", "S", "T", "answer-phase window"]),
    ],
)
def test_a_figure_shows_the_studys_numbers(study: Path, name: str, labels: list[str]) -> None:
    found = texts((study / f"{name}.svg").read_bytes())
    assert [label for label in labels if label not in found] == []


def test_the_excerpt_of_tables_says_that_the_words_are_missing(study: Path) -> None:
    assert "(the words are not in this corpus: tables only)" in texts((study / "figure1.svg").read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_the_same_corpus_gives_the_same_bytes(
    demo_measures: CorpusMeasures, demo: Mapping[str, Drawing], name: str
) -> None:
    with styled():
        again = FIGURES[NAMES.index(name)](StudyResults(demo_measures))
    assert svg_of(again) == svg_of(demo[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_simulated_data_says_so(demo: Mapping[str, Drawing], name: str) -> None:
    assert "SIMULATED DATA, scripted agents took part" in texts(svg_of(demo[name]))
    assert demo[name].caption.startswith("SIMULATED")


@pytest.mark.parametrize("name", NAMES)
def test_no_type_is_smaller_than_seven_points_and_none_leaves_the_page(demo: Mapping[str, Drawing], name: str) -> None:
    from matplotlib.text import Text

    figure = demo[name].figure
    with styled():
        figure.canvas.draw()
        page = figure.bbox
        for found in figure.findobj(Text):
            assert isinstance(found, Text)
            if not found.get_text() or not found.get_visible():
                continue
            assert float(found.get_fontsize()) >= SIZE
            box = found.get_window_extent()
            assert page.x0 <= box.x0, found.get_text()
            assert box.x1 <= page.x1 + 1, found.get_text()
            assert page.y0 - 1 <= box.y0, found.get_text()
            assert box.y1 <= page.y1 + 1, found.get_text()


def test_a_policy_the_corpus_lacks_is_named(demo: Mapping[str, Drawing]) -> None:
    assert "Not in this corpus: conv_socratic" in demo["figure3b"].description


def test_what_is_not_evaluable_has_a_dash_and_its_reason(demo_measures: CorpusMeasures, style: None) -> None:
    corpus = open_corpus(DEMO)
    corpus.manifest = corpus.manifest.model_copy(update={"bases": ("nobody",)})
    results = StudyResults(CorpusMeasures(corpus, load_instrument()))
    for draw in FIGURES[:-1]:
        drawing = draw(results)
        found = " ".join(texts(svg_bytes(drawing)))
        assert "not evaluable: no se" in found
    assert "— (a)" in texts(svg_bytes(draw_policy_couplings(results)))


def excerpt_of(folder: Path, first_turn: str, opening: str = "I am stuck.", *, conditions: str = "conv ped") -> str:
    """Return the text of Figure 1 over sessions whose first problem opens so."""
    for condition in conditions.split():
        session = a_session(condition=condition, said={PROBLEM: [opening, first_turn]})
        write_session(folder, session.header, session.calls, sync=lambda _: None)
    corpus = open_corpus(DEMO)
    corpus.folder = folder
    corpus.manifest = corpus.manifest.model_copy(update={"files": {}, "bases": ("sonnet",)})
    drawing = draw_excerpt(StudyResults(CorpusMeasures(corpus, load_instrument())))
    return " ".join(texts(svg_bytes(drawing)))


def test_a_commitment_in_the_opening_reply_leaves_no_turn_to_show(tmp_path: Path, style: None) -> None:
    assert "the student's opening reply commits" in excerpt_of(tmp_path, "Well done.", "FINAL ANSWER: 24")


def test_an_excerpt_without_its_pair_says_which_session_is_missing(tmp_path: Path, style: None) -> None:
    found = excerpt_of(tmp_path, "Well done.", conditions="conv")
    assert "“Well done.”" in found
    assert "not evaluable: no session sonnet/ped/r0 in the corpus" in found


def test_an_excerpt_of_a_broken_session_says_what_is_broken(tmp_path: Path, style: None) -> None:
    (tmp_path / "sessions" / "sonnet" / "ped").mkdir(parents=True)
    (tmp_path / "sessions" / "sonnet" / "ped" / "r0.jsonl").write_text("no session\n")
    found = excerpt_of(tmp_path, "Well done.", conditions="conv")
    assert found.count("not evaluable: ") == 1
    assert "r0.jsonl" in found


def test_an_excerpt_of_a_cell_that_cannot_be_read_says_so(tmp_path: Path, style: None) -> None:
    (tmp_path / "sessions" / "sonnet" / "ped").mkdir(parents=True)
    (tmp_path / "sessions" / "sonnet" / "ped" / "copy of r0.jsonl").write_text("")
    assert "not a session file's name" in excerpt_of(tmp_path, "Well done.", conditions="conv")


def test_what_a_model_said_is_drawn_as_it_is(tmp_path: Path, style: None) -> None:
    said = "Costs $5 & <b>$x_1$</b> \\frac{1}{2} \x1b[31m\u202e \N{PILE OF POO} " + "long" * 60 + " word" * 200
    found = excerpt_of(tmp_path, said)
    assert "Costs $5 & <b>$x_1$</b> \\frac{1}{2} \N{REPLACEMENT CHARACTER}[31m" in found
    assert "[…]" in found
    assert "helpfulness — (not rated)" in found


def test_lines_are_no_wider_than_they_may_be(style: None) -> None:
    lines = wrap("a few words and one " + "W" * 80, 1.0)
    assert all(text_width(line) <= 1.0 for line in lines)
    assert "".join(lines).replace(" ", "") == "afewwordsandone" + "W" * 80


def test_an_empty_text_has_no_lines(style: None) -> None:
    assert wrap(" \n", 1.0) == []
    assert short("") == ""


def test_a_long_label_is_cut_with_a_sign_of_it(style: None) -> None:
    assert short("a judge with a very long name indeed, and more").endswith("…")


def test_what_has_no_glyph_is_a_visible_sign(style: None) -> None:
    assert printable("Δ\tβ\ud800") == "Δ β\N{REPLACEMENT CHARACTER}"


def test_limits_are_on_the_grid_and_never_of_no_width() -> None:
    mark = Mark(-0.3, -0.61, None, "#000000", "o")
    assert limits([Row("x", (mark,))], 0.0) == (-0.75, 0.0)
    assert limits([], 0.0) == (-0.25, 0.25)


def test_only_a_leading_minus_is_made_a_true_one() -> None:
    assert [minus(shown) for shown in ("-0.094", "1.2e-05", "+0.1")] == ["−0.094", "1.2e-05", "+0.1"]


def test_the_command_without_matplotlib_is_one_line_that_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(app, ["report", "figures", "--corpus", str(DEMO), "--to", str(tmp_path / "figures")])
    assert result.exit_code == 1
    assert result.stderr == (
        "tutoreval: figures: matplotlib is not installed; install it with: pip install 'pytest-tutoreval[figures]'\n"
    )
    assert not (tmp_path / "figures").exists()


def test_the_command_draws_every_figure(released: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["report", "figures", "--corpus", str(released), "--to", str(tmp_path / "figures")]
    )
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / 'figures'}: 12 files, {', '.join(f'{name}.svg' for name in NAMES)}\n"
