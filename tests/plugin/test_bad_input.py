"""Bad input, end to end: a clear message, nothing lost, an exit that is not 0."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import ConstraintViolated, InstrumentError, TamperedInstrument
from pytest_tutoreval.frozen import read_instrument, write_manifest
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus
from tests.plugin.runs import ROOT, document, make_suite, reasons, run, verdicts
from tests.store.corpora import Row, a_table_corpus, demo_copy, edit_lines, edited, fingerprint, reseal, stamp

Lines = list[dict[str, Any]]
CONV0 = "sessions/sonnet/conv/r0.jsonl"
RATED0 = "ratings/opus/helpfulness/sonnet/conv/r0.jsonl"


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    make_suite(pytester)
    return pytester


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """One base of the demo, unsealed: each fault then gets its own diagnosis."""
    return demo_copy(tmp_path / "copy")


# the frozen instrument


@pytest.mark.parametrize("name", ["prompts/convtutor.txt", "forms.csv", "problems.csv", "rubrics/helpfulness.txt"])
def test_a_tampered_file_of_the_instrument_is_named_with_both_digests(tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(data_folder("instrument"), tmp_path / "instrument")
    (copy / name).write_bytes((copy / name).read_bytes() + b" ")
    with pytest.raises(TamperedInstrument, match=rf"{name}: sha256 is \w{{64}}, the manifest says \w{{64}}\. Restore"):
        read_instrument(copy)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(lambda copy: (copy / "forms.csv").unlink(), "forms.csv: sha256 is absent", id="missing"),
        pytest.param(lambda copy: (copy / "new.txt").write_text("x"), "the manifest says not listed", id="unlisted"),
        pytest.param(lambda copy: (copy / "MANIFEST.sha256").unlink(), "the manifest is missing", id="no-manifest"),
    ],
)
def test_a_file_too_few_or_too_many_is_tampering(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    copy = shutil.copytree(data_folder("instrument"), tmp_path / "instrument")
    damage(copy)
    with pytest.raises(TamperedInstrument, match=message):
        read_instrument(copy)


def test_a_changed_instrument_with_a_new_manifest_still_meets_its_constraints(tmp_path: Path) -> None:
    copy = shutil.copytree(data_folder("instrument"), tmp_path / "instrument")
    problems = (copy / "problems.csv").read_text(encoding="utf-8")
    (copy / "problems.csv").write_text(problems.replace("interfere-1,", "interfere-2,", 1), encoding="utf-8")
    write_manifest(copy)
    with pytest.raises(ConstraintViolated, match="interfere-2: stands 2 times"):
        read_instrument(copy)
    (copy / "study.toml").write_text("name = ", encoding="utf-8")
    write_manifest(copy)
    with pytest.raises(InstrumentError, match="not a readable instrument"):
        read_instrument(copy)


@pytest.mark.parametrize("arguments", [[], ["--base", "gpt"], ["-n2"]], ids=["plain", "with-base", "two-workers"])
def test_no_claim_is_decided_under_a_tampered_instrument(suite: pytest.Pytester, arguments: list[str]) -> None:
    shutil.copytree(ROOT / "instrument", suite.path / "there" / "instrument")
    (suite.path / "there" / "fixtures").symlink_to(ROOT / "fixtures")
    prompt = suite.path / "there" / "instrument" / "prompts" / "convtutor.txt"
    prompt.write_bytes(prompt.read_bytes().replace(b"t", b"T", 1))
    suite.makeconftest(
        f"""
        from pathlib import Path
        import pytest_tutoreval.resources

        pytest_tutoreval.resources._PACKAGE = Path({str(suite.path / "there")!r})
        """
    )
    result = run(suite, *arguments, fresh=True)
    assert result.ret not in (0, 5)
    said = result.stdout.str() + result.stderr.str()
    assert "convtutor.txt: sha256 is " in said
    assert "Restore the file, or register the change as a dated amendment" in said
    assert not (suite.path / "reports").exists()


# sessions


def damaged(place: str, edit: Callable[[Lines], Lines]) -> Callable[[Path], object]:
    return lambda corpus: edit_lines(corpus / place, edit)


def data(place: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda corpus: (corpus / place).write_bytes(change((corpus / place).read_bytes()))


def field(number: int, **fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:number], lines[number] | fields, *lines[number + 1 :]]


def tear(content: bytes) -> bytes:
    """Cut the last call in the middle, as a writer that was stopped leaves it."""
    return content[: content.rindex(b'{"seq"') + 40]


@pytest.mark.parametrize(
    ("damage", "claim", "reason"),
    [
        pytest.param(
            lambda corpus: shutil.rmtree(corpus / "sessions/sonnet/conv"), "P1", "no sessions in cell sonnet/conv"
        ),
        pytest.param(
            lambda corpus: (corpus / "sessions/sonnet/ped/r3.jsonl").unlink(),
            "P1",
            "sonnet/ped lacks replicate 3 of 10 registered",
            id="a-replicate-missing-one-arm",
        ),
        pytest.param(
            data(CONV0, tear), "P1", "*the session is not finished: its last line was torn and dropped*", id="torn"
        ),
        pytest.param(
            damaged(CONV0, lambda lines: [*lines[:6], *lines[5:]]),
            "P1",
            "sonnet/conv/r0: *r0.jsonl: line 7: call 5 stands twice, call 6 was due; restore the file",
            id="a-duplicated-call",
        ),
        pytest.param(
            damaged(CONV0, lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]]),
            "P1",
            "*r0.jsonl: line 6: call 6 is out of order, call 5 was due*",
            id="out-of-order",
        ),
        pytest.param(
            damaged(CONV0, field(4, surprise=1)), "P1", "*line 5: surprise: Extra inputs are not*", id="unknown-field"
        ),
        pytest.param(
            data(CONV0, lambda content: content.replace(b'"text":"', b'"text":"\xff', 1)),
            "P1",
            "*r0.jsonl: line 2 is not UTF-8 *",
            id="invalid-utf-8",
        ),
        pytest.param(
            data(CONV0, lambda content: content.replace(b"\n", b"\r\n")),
            "P1",
            "*r0.jsonl: line 1 ends in CRLF, expected LF*",
            id="crlf",
        ),
        pytest.param(
            damaged(CONV0, field(0, instrument="0" * 64)),
            "P1",
            "*r0.jsonl: made under instrument 000000000000, this one is *never mixed*",
            id="another-instrument-in-the-session",
        ),
        pytest.param(
            damaged(CONV0, field(0, seed=7)), "P1", "*session sonnet/conv/r0: seed 7, registered 0", id="seed"
        ),
        pytest.param(
            lambda corpus: shutil.copy(corpus / CONV0, corpus / "sessions/sonnet/conv/r00.jsonl"),
            "P1",
            "*r00.jsonl: not a session file's name *",
            id="identical-keys-by-name",
        ),
        pytest.param(
            lambda corpus: shutil.copy(corpus / CONV0, corpus / "sessions/sonnet/conv/r1.jsonl"),
            "P1",
            "*r1.jsonl: holds session sonnet/conv/r0, which belongs in *one key, one file",
            id="identical-keys-by-header",
        ),
        pytest.param(
            lambda corpus: shutil.copy(corpus / CONV0, corpus / "sessions/sonnet/conv/r10.jsonl"),
            "P1",
            "*r10: *r10.jsonl: holds session sonnet/conv/r0*",
            id="an-eleventh",
        ),
        pytest.param(
            damaged(RATED0, field(1, overall=6)),
            "P2",
            "*r0.jsonl: line 2: overall: Input should be less than or equal to 5*",
            id="a-rating-outside-1-5",
        ),
        pytest.param(
            damaged(RATED0, lambda lines: lines[:-1]),
            "P2",
            "turn conv/r0/*: 2 of 3 repetitions on record (helpfulness, opus)",
            id="a-repetition-missing",
        ),
        pytest.param(
            data(RATED0, lambda content: content[:-20]),
            "P2",
            "turn conv/r0/*: 2 of 3 repetitions on record (helpfulness, opus)",
            id="a-torn-rating",
        ),
        pytest.param(
            damaged(RATED0, field(2, repetition=0)),
            "P2",
            "*line 3: train-1 turn 0 repetition 0 stands twice",
            id="a-rating-twice",
        ),
        pytest.param(
            damaged(RATED0, field(0, instrument="0" * 64)),
            "P2",
            "*made under instrument 000000000000*",
            id="another-instrument-in-the-ratings",
        ),
        pytest.param(
            damaged(RATED0, field(1, dialogue="0" * 64)),
            "P2",
            "turn conv/r0/*: *rated on another dialogue than the session holds; rate it anew*",
            id="another-dialogue",
        ),
        pytest.param(
            lambda corpus: (corpus / RATED0).unlink(),
            "P2",
            "session sonnet/conv/r0: no helpfulness ratings by opus",
            id="no-ratings",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest_tutoreval.store.TornLineWarning")
def test_damaged_sessions_and_ratings_are_errors_with_their_reason(
    suite: pytest.Pytester, demo: Path, damage: Callable[[Path], object], claim: str, reason: str
) -> None:
    damage(demo)
    before = fingerprint(demo)
    result = run(suite, "--corpus", demo, "--judge", "opus,sol", "-m", "P1 or P2")
    assert result.ret == 1
    assert fingerprint(demo) == before, "nothing in the corpus is repaired, moved or lost"
    written = document(suite)
    judge = "opus" if claim == "P2" else None
    pytest.LineMatcher([reasons(written)[claim, "sonnet", judge]]).fnmatch_lines([reason])
    result.stdout.fnmatch_lines([f"  {claim} sonnet{' opus' if judge else ''}: {reason}"])
    if claim == "P2":
        assert verdicts(written).keys() == {("P1", "sonnet", None), ("P2", "sonnet", "sol")}
    else:
        assert written["claims"] == []
    assert written["run"]["complete"] is True


def test_a_torn_last_line_is_dropped_with_a_warning(suite: pytest.Pytester, demo: Path) -> None:
    path = demo / RATED0
    path.write_bytes(path.read_bytes()[:-20])
    result = run(suite, "--corpus", demo, "-m", "P2 and judge(name='opus')")
    result.stdout.fnmatch_lines(
        ["*TornLineWarning: *r0.jsonl: the last line has no line end (*bytes); it was dropped*"]
    )


def test_a_sealed_file_that_changed_is_an_error_with_both_digests(suite: pytest.Pytester, tmp_path: Path) -> None:
    corpus = demo_copy(tmp_path / "copy", sealed=True)
    edit_lines(corpus / RATED0, field(1, overall=1))
    result = run(suite, "--corpus", corpus, "-m", "P2")
    assert result.ret == 1
    written = document(suite)
    pytest.LineMatcher([reasons(written)["P2", "sonnet", "opus"]]).fnmatch_lines(
        ["*r0.jsonl: sha256 is *, sealed as *: changed since; restore the file"]
    )
    assert ("P2", "sonnet", "sol") in verdicts(written)


def test_a_corpus_under_another_instrument_is_refused_before_anything_runs(suite: pytest.Pytester, demo: Path) -> None:
    stamp(demo, open_corpus(demo).manifest, instrument="0" * 64)
    result = run(suite, "--corpus", demo)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *corpus.toml: made under instrument 000000000000, this one is *never mixed*"])
    assert not (suite.path / "reports").exists()


def test_a_base_or_judge_the_manifest_names_and_the_folder_lacks_is_an_error(
    suite: pytest.Pytester, demo: Path
) -> None:
    stamp(demo, open_corpus(demo).manifest, bases=["sonnet", "ghost"], judges=["opus", "ghost"])
    result = run(suite, "--corpus", demo, "-m", "P1 or P2")
    assert result.ret == 1
    written = document(suite)
    found = reasons(written)
    assert found["P1", "ghost", None].startswith("no sessions in cell ghost/conv; no sessions in cell ghost/ped")
    assert "no helpfulness ratings by ghost" in found["P2", "sonnet", "ghost"]
    assert verdicts(written).keys() == {("P1", "sonnet", None), ("P2", "sonnet", "opus")}


# ratings that cannot be used


def unusable(*, turn: int | None) -> Callable[[Lines], Lines]:
    def edit(lines: Lines) -> Lines:
        first = (lines[1]["problem"], lines[1]["turn"])
        hits = [line for line in lines[1:] if turn is None or (line["problem"], line["turn"]) == first]
        for line in hits:
            line.pop("overall", None)
            line["raw"] = "I would rather not say."
        return lines

    return edit


def test_a_turn_without_a_usable_rating_is_dropped_and_counted(suite: pytest.Pytester, demo: Path) -> None:
    edit_lines(demo / RATED0, unusable(turn=0))
    result = run(suite, "--corpus", demo, "--judge", "opus", "-m", "P2 or J2")
    assert result.ret == 0
    p2, j2 = document(suite)["claims"]
    assert (p2["n"], p2["n_dropped"]) == (10, 0), "the session's mean rests on its other turns"
    assert any(note.startswith("conv: 1 turns without a usable rating (dropped)") for note in p2["notes"])
    helpful, independent = j2["components"]
    assert (helpful["n_dropped"], independent["n_dropped"]) == (1, 0)
    assert helpful["n"] == independent["n"] - 1


def test_a_session_without_a_usable_rating_is_dropped_as_a_pair_and_counted(suite: pytest.Pytester, demo: Path) -> None:
    edit_lines(demo / RATED0, unusable(turn=None))
    result = run(suite, "--corpus", demo, "--judge", "opus", "-m", "P2")
    assert result.ret == 0
    (p2,) = document(suite)["claims"]
    assert (p2["n"], p2["n_dropped"]) == (9, 1)
    assert "helpfulness undefined in conv/r0: pair dropped" in p2["notes"]
    result.stdout.fnmatch_lines(["  P2 sonnet opus: helpfulness undefined in conv/r0: pair dropped"])


# tables


def test_an_undefined_pair_is_dropped_counted_and_the_rest_decides(suite: pytest.Pytester, tmp_path: Path) -> None:
    corpus = a_table_corpus(tmp_path / "c", [None, *[0.5 + i / 64 for i in range(9)]], [0.25] * 10)
    result = run(suite, "--corpus", corpus, "-m", "P1")
    assert result.ret == 0
    (p1,) = document(suite)["claims"]
    assert (p1["verdict"], p1["n"], p1["n_dropped"]) == ("supported", 9, 1)
    result.stdout.fnmatch_lines(["  P1 sonnet: leakage undefined in conv/r0: pair dropped"])


def test_fewer_than_six_pairs_decide_nothing(suite: pytest.Pytester, tmp_path: Path) -> None:
    corpus = a_table_corpus(tmp_path / "c", [*[None] * 5, *[0.5] * 5], [0.25] * 10)
    result = run(suite, "--corpus", corpus, "-m", "P1")
    assert result.ret == 1
    assert reasons(document(suite))["P1", "sonnet", None] == (
        "leakage is defined in 5 of 10 pairs, at least 6 are needed: fewer can never reach .05"
    )


def of_sonnet(**cells: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row | cells if row["base"] == "sonnet" else row for row in rows]


def separated(rows: list[Row]) -> list[Row]:
    return [
        row | {"next_turn_independence": str(row["leaky"] == "False")} if row["base"] == "sonnet" else row
        for row in rows
    ]


def one_problem(rows: list[Row]) -> list[Row]:
    def renamed(row: Row) -> Row:
        number = 10 * int(row["problem"].removeprefix("train-")) + int(row["turn"])
        return row | {"problem": "train-1", "turn": str(number)}

    return [renamed(row) if row["base"] == "sonnet" else row for row in rows]


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        pytest.param({"scores": of_sonnet(score="5.0")}, "helpfulness: constant outcome: *", id="constant-outcome"),
        pytest.param({"turns": of_sonnet(leaky="False")}, "helpfulness: constant predictor: *", id="no-leaky-turn"),
        pytest.param({"turns": separated}, "next_turn_independence: separated*", id="perfect-separation"),
        pytest.param({"turns": one_problem, "scores": one_problem}, "helpfulness: single level: *", id="one-problem"),
    ],
)
def test_degenerate_data_are_an_error_by_name_and_other_bases_are_decided(
    suite: pytest.Pytester,
    released: Path,
    tmp_path: Path,
    edits: dict[str, Callable[[list[Row]], list[Row]]],
    reason: str,
) -> None:
    corpus = edited(released, tmp_path / "c", **edits)
    result = run(suite, "--corpus", corpus, "--base", "sonnet,gpt", "--judge", "opus", "-m", "J2")
    assert result.ret == 1
    written = document(suite)
    pytest.LineMatcher([reasons(written)["J2", "sonnet", "opus"]]).fnmatch_lines([reason])
    assert verdicts(written) == {("J2", "gpt", "opus"): "not_supported"}


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_a_non_finite_number_in_a_table_is_excluded_counted_and_never_written(
    suite: pytest.Pytester, released: Path, tmp_path: Path, number: str
) -> None:
    def one_session(rows: list[Row]) -> list[Row]:
        hit = ("gpt", "conv", "5")
        return [row | {"leakage": number} if tuple(row.values())[:3] == hit else row for row in rows]

    def one_turn(rows: list[Row]) -> list[Row]:
        hit = next(row for row in rows if (row["judge"], row["rubric"], row["base"]) == ("opus", "helpfulness", "gpt"))
        return [row | {"score": number} if row is hit else row for row in rows]

    corpus = edited(released, tmp_path / "c", sessions=one_session, scores=one_turn)
    result = run(suite, "--corpus", corpus, "--base", "gpt", "--judge", "opus", "-m", "P1 or J2")
    assert result.ret == 0
    p1, j2 = document(suite)["claims"]
    assert (p1["n"], p1["n_dropped"]) == (9, 1)
    assert f"sessions.csv conv/5: leakage is {number}, excluded" in p1["notes"]
    assert [part["n_dropped"] for part in j2["components"]] == [1, 0]
    text = (suite.path / "reports" / "verdicts.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} in the document"))


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        pytest.param({"sessions": lambda rows: [*rows, rows[0]]}, "*sessions.csv: line 92: session * stands twice"),
        pytest.param({"turns": lambda rows: [*rows, rows[0]]}, "*turns.csv: line 1181: turn * stands twice"),
        pytest.param(
            {"scores": lambda rows: [*rows, rows[0]]}, "*scores.csv: line *: the score of turn * stands twice"
        ),
        pytest.param(
            {"turns": lambda rows: [rows[0] | {"leaky": "maybe"}, *rows[1:]]},
            "*turns.csv: line 2: leaky is 'maybe', expected True, False or empty",
        ),
    ],
    ids=["a-session-twice", "a-turn-twice", "a-score-twice", "an-unreadable-cell"],
)
def test_a_broken_table_is_an_error_with_its_line(
    suite: pytest.Pytester,
    released: Path,
    tmp_path: Path,
    edits: dict[str, Callable[[list[Row]], list[Row]]],
    reason: str,
) -> None:
    corpus = edited(released, tmp_path / "c", **edits)
    result = run(suite, "--corpus", corpus, "-m", "P1", "--base", "sonnet")
    assert result.ret == 1
    pytest.LineMatcher([reasons(document(suite))["P1", "sonnet", None]]).fnmatch_lines([reason])


def test_a_table_that_changed_since_it_was_sealed_is_an_error(
    suite: pytest.Pytester, released: Path, tmp_path: Path
) -> None:
    corpus = edited(released, tmp_path / "c")
    path = corpus / "tables" / "sessions.csv"
    path.write_bytes(path.read_bytes().replace(b"0.36363636363636365", b"0.46363636363636365", 1))
    assert run(suite, "--corpus", corpus, "-m", "P1", "--base", "sonnet").ret == 1
    assert "sessions.csv: sha256 is" in reasons(document(suite))["P1", "sonnet", None]
    reseal(corpus)
    assert run(suite, "--corpus", corpus, "-m", "P1", "--base", "sonnet").ret == 0


def test_a_reference_that_cannot_be_read_is_an_error_not_a_silence(
    suite: pytest.Pytester, released: Path, tmp_path: Path
) -> None:
    corpus = edited(released, tmp_path / "c")
    (corpus / "reference" / "inference.gpt.json").write_text("{")
    reseal(corpus)
    result = run(suite, "--corpus", corpus, "-m", "P1")
    assert result.ret == 1
    assert "reference/inference.gpt.json: not JSON" in reasons(document(suite))["P1", "gpt", None]
    assert len(document(suite)["claims"]) == 2
