"""The table model and its three writers."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.reporting.tables import (
    ABSENT,
    SIMULATED,
    Cell,
    Column,
    Table,
    absent,
    number,
    p_cell,
    text,
    whole,
)
from pytest_tutoreval.reporting.tables_writing import (
    csv_text,
    escape_latex,
    escape_markdown,
    latex_text,
    markdown_text,
    write_tables,
)

HOSTILE = 'a|b & 50% of $x_1^2$ #{~} \\input{secret} <b>*`[--]``"\n\r\n=1+1\x1b[31m\u202e'

LATEX_TOKENS = re.compile(
    r"\\textbackslash\{\}|\\[{}$&#%_]|\\text[a-z]+\{\}|\\symbol\{34\}|\{[\[\]*]\}|[-',?!]\{\}|\$-\$|\$\\[A-Za-z]+\$"
)


def a_table(*rows: tuple[Cell, ...], simulated: bool = False) -> Table:
    columns = (Column("what", "What"), Column("value", "Value", "right", exact=True), Column("n", None))
    return Table("9", "A title", columns, rows, ("A note.",), simulated)


def read(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(table), newline="")))


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="table 9: a row of 1 cells under 3 columns"):
        a_table((text("lonely"),))


def test_an_exact_number_survives_the_csv() -> None:
    (row,) = read(a_table((text("pi"), number(1 / 3), whole(7))))
    assert float(row["value_exact"]) == 1 / 3
    assert (row["value"], row["n"], row["table"], row["data"]) == ("+0.333", "7", "Table 9", "not simulated")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_words_survive_the_csv(words: str) -> None:
    (row,) = read(a_table((text(words), number(1.0), whole(7))))
    assert row["what"] == words


@pytest.mark.parametrize("cell", [number(None), p_cell(None), whole(None), absent("not defined")])
def test_a_missing_number_is_a_dash_with_its_reason(cell: Cell) -> None:
    assert cell == Cell(ABSENT, None, "not defined")


def test_a_dash_has_its_reason_in_every_form() -> None:
    table = a_table((text("x"), absent("no replicate 3"), whole(7)), (text("y"), absent("no replicate 3"), whole(7)))
    assert read(table)[0]["notes"] == "value: no replicate 3"
    assert read(table)[0]["value_exact"] == ""
    for written, mark in (
        (markdown_text(table), "| x | — (a) |"),
        (latex_text(table), r"x & ---\textsuperscript{a} \\"),
    ):
        assert mark in written
        assert written.count("no replicate 3") == 1


def test_notes_beyond_the_alphabet_have_two_letters() -> None:
    table = a_table(*((text("x"), absent(f"reason {at}"), whole(1)) for at in range(28)))
    assert list(table.marks().values())[24:] == ["y", "z", "aa", "ab"]


@pytest.mark.parametrize("written", [csv_text, markdown_text, latex_text])
def test_simulated_data_are_called_simulated(written: object) -> None:
    assert callable(written)
    row = (text("x"), number(1.0), whole(7))
    assert "SIMULATED" in written(a_table(row, simulated=True))
    assert "SIMULATED" not in written(a_table(row))
    assert a_table(row, simulated=True).caption == f"Table 9. {SIMULATED}. A title"


def test_hostile_words_stay_inside_their_markdown_cell() -> None:
    table = a_table((text(HOSTILE), number(1.0), whole(7)))
    line = next(line for line in markdown_text(table).splitlines() if "input" in line)
    assert len(re.findall(r"(?<!\\)\|", line)) == 3
    assert r"\<b\>\*\`\[--\]" in line
    assert escape_markdown("a_b") == r"a\_b"


def test_hostile_words_are_no_latex_commands() -> None:
    escaped = escape_latex(HOSTILE)
    assert r"50\% of \$x\_1\textasciicircum{}2\$ \#\{\textasciitilde{}\} \textbackslash{}input\{secret\}" in escaped
    assert "\n" not in escaped
    assert "\x1b" not in escaped
    assert "\N{REPLACEMENT CHARACTER}" in escaped


@given(st.text(max_size=60))
def test_no_words_at_all_are_latex_commands(words: str) -> None:
    rest = LATEX_TOKENS.sub("", escape_latex(words))
    assert not set(rest) & set('\\{}$&#%_~^<>|"`[]*\n\r')
    assert "--" not in rest.replace("---", "")


def test_words_with_hyphens_and_commas_stay_readable_in_latex() -> None:
    assert escape_latex("next-turn, 'quoted'?") == "next-turn, 'quoted'?"
    assert escape_latex("a--b") == "a-{}-b"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (number(-0.094), "$-$0.094"),
        (number(0.115), "$+$0.115"),
        (p_cell(5.64e-12), r"$5.6\times10^{-12}$"),
        (p_cell(0.0039), ".0039"),
    ],
)
def test_numbers_in_latex(cell: Cell, shown: str) -> None:
    assert f"x & {shown} \\\\" in latex_text(a_table((text("x"), cell, whole(7))))


def test_latex_needs_no_package_and_keeps_the_studys_number() -> None:
    written = latex_text(a_table((text("x"), number(1.0), whole(7))))
    assert r"\renewcommand{\thetable}{9}" in written
    assert "rule" not in written
    assert written.count("{") == written.count("}")


def test_each_table_is_written_three_times_and_the_same_each_time(tmp_path: Path) -> None:
    table = a_table((text(HOSTILE), number(1.0), whole(7)))
    first = {path.name: path.read_bytes() for path in write_tables([table], tmp_path / "one")}
    again = {path.name: path.read_bytes() for path in write_tables([table], tmp_path / "two")}
    assert first == again
    assert list(first) == ["table9.csv", "table9.md", "table9.tex"]
