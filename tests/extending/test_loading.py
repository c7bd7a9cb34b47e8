"""Packages found and registered: every registry with what they bring, as it was before afterwards; errors name them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from pytest_tutoreval import hookimpl
from pytest_tutoreval.claims import registered_claims
from pytest_tutoreval.errors import ExtensionError
from pytest_tutoreval.extending import carries_hooks, load_extensions, loaded_extensions
from pytest_tutoreval.frozen import load_instrument, registered_conditions
from pytest_tutoreval.gating import GUARDED_MEASURES
from pytest_tutoreval.measures import SessionMeasure, known_measures
from pytest_tutoreval.policies import known_conditions, policy_of
from pytest_tutoreval.providers.routes import FORMATS, IN_PROCESS
from pytest_tutoreval.reporting import RENDERERS
from tests.extending.packages import PARROT, a_package, the_parrot


def everything_registered() -> list[list[object]]:
    return [
        [*FORMATS],
        [*IN_PROCESS],
        [*registered_conditions()],
        [*known_measures()],
        [*GUARDED_MEASURES],
        [*registered_claims()],
        [renderer.name for renderer in RENDERERS],
        [*loaded_extensions()],
    ]


@contextmanager
def nothing_is_left() -> Iterator[None]:
    before = everything_registered()
    yield
    assert everything_registered() == before


def refused(*plugins: object) -> str:
    """Return why loading is refused; nothing is registered by what was refused."""
    with nothing_is_left(), pytest.raises(ExtensionError) as caught, load_extensions(plugins):
        pass
    return str(caught.value)


def a_plugin(**hooks: object) -> ModuleType:
    """A plugin of pytest's, made here, with these functions."""
    plugin = ModuleType("made_here")
    vars(plugin).update(hooks)
    return plugin


# what there is


def test_a_package_registers_one_of_each_and_is_on_record(site: Path) -> None:
    the_parrot(site)
    with nothing_is_left(), load_extensions() as (parrot,):
        assert "parrot" in IN_PROCESS
        assert "parrot" not in FORMATS
        assert "terse" in known_conditions(load_instrument())
        assert policy_of(load_instrument(), "terse") is not None
        assert known_measures()[-1] == "tokens_a_turn"
        assert GUARDED_MEASURES["tokens_a_turn"].unit == "tokens a tutor turn"
        assert registered_claims()["T1"].role == "descriptive"
        assert [renderer.name for renderer in RENDERERS] == ["claims.csv", "summary.md"], "the summary comes last"
        digest = load_instrument().policy_sha256("terse")
        assert str(parrot) == (
            f"{PARROT} registers provider parrot, policy terse (sha256 {str(digest)[:12]}), "
            "measure tokens_a_turn (in tokens a tutor turn), claim T1, renderer claims.csv"
        )
        assert loaded_extensions() == (parrot,)


def test_without_packages_nothing_is_loaded() -> None:
    with load_extensions([a_plugin(pytest_configure=lambda: None)]) as loaded:
        assert loaded == ()


def test_packages_are_loaded_by_name_whatever_order_they_are_found_in(site: Path) -> None:
    for name in ("zeta", "alpha", "mid"):
        a_package(site, "@hookimpl\ndef tutoreval_claims(): return []\n", name=name)
    with load_extensions() as loaded:
        assert [extension.name for extension in loaded] == ["alpha", "mid", "zeta"]
        assert str(loaded[0]) == "alpha 1.0 registers nothing"


def test_what_is_loaded_already_is_not_loaded_twice(site: Path) -> None:
    the_parrot(site)
    with load_extensions() as (parrot,):
        a_package(site, "@hookimpl\ndef tutoreval_claims(): return []\n", name="later")
        with load_extensions() as both:
            assert [extension.name for extension in both] == ["tutoreval-parrot", "later"]
        assert loaded_extensions() == (parrot,)
        assert "parrot" in IN_PROCESS


def test_a_claim_may_be_about_another_packages_measure(site: Path) -> None:
    folder = site / "claims"
    folder.mkdir()
    claim = (
        'id = "A1"\ntitle = "t"\nform = "paired_contrast"\nmeasure = "length"\ndirection = "ped > conv"\n'
        'kind = "live_test"\njudge_bound = false\nrole = "descriptive"\nstatus = "s"\nevidence_visible = "none"\n'
    )
    (folder / "A1.toml").write_text(claim)
    a_package(
        site,
        "from pathlib import Path\n@hookimpl\ndef tutoreval_claims(): return [Path(__file__).parent / 'claims']\n",
        name="alpha",
    )
    with nothing_is_left():
        with pytest.raises(ExtensionError, match=r"alpha 1\.0: .*A1\.toml: measure = 'length' is not a known measure"):
            load_extensions().__enter__()
        a_package(
            site,
            "from pytest_tutoreval.measures import SessionMeasure\n@hookimpl\ndef tutoreval_measures():\n"
            "    yield SessionMeasure('length', 'turns', lambda session, turns: len(turns))\n",
            name="zeta",
        )
        with load_extensions():
            assert "A1" in registered_claims()


@hookimpl
def tutoreval_measures() -> list[SessionMeasure]:
    return [SessionMeasure("own_turns", "turns", lambda session, turns: len(turns))]


class Plugin:
    @hookimpl
    def tutoreval_claims(self) -> list[Path]:
        return []

    @property
    def broken(self) -> None:
        raise AssertionError("looked at")


def test_plugins_of_pytests_that_carry_hooks_are_told_from_others() -> None:
    assert carries_hooks(a_plugin(tutoreval_measures=tutoreval_measures))
    assert carries_hooks(a_plugin(misspelled=hookimpl(lambda: [])))
    assert carries_hooks(Plugin())
    assert carries_hooks(Plugin)
    assert not carries_hooks(a_plugin(measures=lambda: [], mark=pytest.mark))


def test_a_plugin_of_pytests_is_on_record_by_its_source() -> None:
    plugin = a_plugin(tutoreval_measures=tutoreval_measures, __file__=__file__)
    with nothing_is_left(), load_extensions([plugin, Plugin()]) as (module, instance):
        assert "own_turns" in known_measures()
        assert (module.name, instance.name) == ("made_here", __name__)
        assert module.version == instance.version
        assert len(module.version.removeprefix("sha256 ")) == 12


# what is refused


def test_two_packages_cannot_have_one_name(site: Path) -> None:
    the_parrot(site)
    other = a_package(site, "@hookimpl\ndef tutoreval_providers(): return {'parrot': print}\n", name="zeta")
    assert refused() == (f"{other}: provider 'parrot' is registered already by {PARROT}; choose another name")


HOOK = "@hookimpl\ndef tutoreval_{}(): return {}\n"
MEASURE = "from pytest_tutoreval.measures import SessionMeasure as M\n"
RENDERER = "from pytest_tutoreval.reporting import Renderer as R\n"
TURN = "def turn(situation):\n    yield\n"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("import nowhere\n", "loading {module} raised ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(2)\n", "loading {module} raised SystemExit: 2"),
        (
            "import pytest\npytest.skip('not today', allow_module_level=True)\n",
            "loading {module} raised Skipped: not today",
        ),
        ("", "<module '{module}' * has no hook; mark its functions with @pytest_tutoreval.hookimpl*"),
        (HOOK.format("measure", "[]"), "unknown hook 'tutoreval_measure' in plugin * Known hooks*"),
        (
            "def tutoreval_claims(): return []\n",
            "tutoreval_claims() is not marked as a hook; put @pytest_tutoreval.hook*",
        ),
        ("@hookimpl\ndef tutoreval_claims(config): return []\n", "* hookimpl definition: tutoreval_claims(config) *"),
        ("@hookimpl\ndef tutoreval_claims(): 1 / 0\n", "tutoreval_claims() raised ZeroDivisionError: division by zero"),
        (
            "@hookimpl\ndef tutoreval_claims():\n    yield 1 / 0\n",
            "tutoreval_claims() raised ZeroDivisionError: division by zero",
        ),
        (
            "@hookimpl\ndef tutoreval_claims(): pass\n",
            "tutoreval_claims() returned None; what registers nothing returns an empty list",
        ),
        (HOOK.format("providers", "[]"), "tutoreval_providers() returned a list; expected a mapping by name"),
        (HOOK.format("policies", "[]"), "tutoreval_policies() returned a list; expected a mapping by name"),
        (HOOK.format("measures", "{}"), "tutoreval_measures() returned a dict; expected a list"),
        (HOOK.format("claims", "'claims'"), "tutoreval_claims() returned a str; expected a list"),
        (HOOK.format("renderers", "1"), "tutoreval_renderers() returned a int; expected a list"),
        # providers
        (
            HOOK.format("providers", "{'openai': print}"),
            "provider 'openai' is registered already by pytest-tutoreval; choose another name",
        ),
        (
            HOOK.format("providers", "{'python': print}"),
            "provider 'python' is registered already by pytest-tutoreval; *",
        ),
        (HOOK.format("providers", "{'a b': print}"), "provider 'a b' is no name; expected a letter or digit, then *"),
        (HOOK.format("providers", "{1: print}"), "provider 1 is no name; *"),
        (HOOK.format("providers", "{'x': 'y'}"), "provider 'x' is neither a WireFormat (settings, build, read_back, *"),
        (
            "from pytest_tutoreval.providers.openai_chat import OpenAIChat\n"
            + HOOK.format("providers", "{'x': OpenAIChat}"),
            "provider 'x' is the class OpenAIChat; give a wire format made of it",
        ),
        (
            "from pytest_tutoreval.providers.openai_chat import OpenAIChat\n"
            + HOOK.format("providers", "{'x': OpenAIChat()}"),
            "provider 'x' is a wire format named 'openai'; give both one name",
        ),
        # policies
        (TURN + HOOK.format("policies", "{'ped': turn}"), "policy 'ped' is registered already by pytest-tutoreval; *"),
        (
            TURN + HOOK.format("policies", "{'cold': turn}"),
            "policy 'cold' is registered already by pytest-tutoreval; *",
        ),
        (TURN + HOOK.format("policies", "{'a/b': turn}"), "policy 'a/b' is no name; *"),
        (
            HOOK.format("policies", "{'mine': print}"),
            "policy 'mine': <built-in function print> is no generator function.*",
        ),
        (
            "exec('def turn(situation):\\n    yield')\n" + HOOK.format("policies", "{'mine': turn}"),
            "policy 'mine': <function turn * has no source file that can be read, so nobody could tell whether it *",
        ),
        # measures
        (
            MEASURE + HOOK.format("measures", "[M('leakage', 'x', len)]"),
            "measure 'leakage' is registered already by pyt*",
        ),
        (
            MEASURE + HOOK.format("measures", "[M('cost_per_session', 'x', len)]"),
            "guarded measure 'cost_per_session' is registered already by pytest-tutoreval; choose another name",
        ),
        (
            MEASURE + HOOK.format("measures", "[M('mine', 'x', len), M('mine', 'x', len)]"),
            "measure 'mine' is registered already by {who}; choose another name",
        ),
        (MEASURE + HOOK.format("measures", "[M('a b', 'x', len)]"), "measure 'a b' is no name; *"),
        (
            MEASURE + HOOK.format("measures", "[M('mine', ' ', len)]"),
            "measure 'mine' needs a unit in words and a function*",
        ),
        (
            MEASURE + HOOK.format("measures", "[M('mine', 'x', 1)]"),
            "measure 'mine' needs a unit in words and a function*",
        ),
        (HOOK.format("measures", "[len]"), "measure <built-in function len> is no SessionMeasure(name, unit, value)"),
        # claims
        (HOOK.format("claims", "['claims']"), "claims 'claims' is no folder; give the Path of one with claim files"),
        (
            "from pathlib import Path\n" + HOOK.format("claims", "[Path(__file__).parent / 'nowhere']"),
            "claims '*/nowhere' is no folder; give the Path of one with claim files",
        ),
        (
            "from pathlib import Path\n" + HOOK.format("claims", "[Path(__file__).parent]"),
            "* holds no claim file; expected CLAIM.toml",
        ),
        (
            "from pytest_tutoreval.resources import data_folder\n"
            + HOOK.format("claims", "[data_folder('instrument') / 'claims']"),
            "claim 'P1' is registered already by pytest-tutoreval; choose another name",
        ),
        # renderers
        (
            RENDERER + HOOK.format("renderers", "[R('x', ('summary.md',), print)]"),
            "output 'summary.md' is registered alrea*",
        ),
        (
            RENDERER + HOOK.format("renderers", "[R('x', ('transcripts',), print)]"),
            "output 'transcripts' is registered al*",
        ),
        (
            RENDERER + HOOK.format("renderers", "[R('x', ('verdicts.json',), print)]"),
            "output 'verdicts.json' is registere*",
        ),
        (RENDERER + HOOK.format("renderers", "[R('x', ('a/b',), print)]"), "output 'a/b' is no name; *"),
        (
            RENDERER + HOOK.format("renderers", "[R('x', ('.tutoreval-x',), print)]"),
            "output '.tutoreval-x' is no name; *",
        ),
        (
            RENDERER + HOOK.format("renderers", "[R('x', 'x.csv', print)]"),
            "renderer 'x' owns 'x.csv'; expected a tuple of *",
        ),
        (
            RENDERER + HOOK.format("renderers", "[R('x', ('x',), None)]"),
            "renderer * is no Renderer(name, owns, render)",
        ),
        (
            RENDERER + HOOK.format("renderers", "[R('x', ('x',), print), R('y', ('x',), print)]"),
            "output 'x' is registered already by {who}; choose another name",
        ),
    ],
)
def test_what_a_package_may_not_do_is_an_error_that_names_it(site: Path, body: str, why: str) -> None:
    from fnmatch import fnmatchcase

    who = a_package(site, body)
    said = refused()
    expected = f"{who}: {why.format(who=who, module=who.partition(' ')[0].replace('-', '_'))}"
    assert fnmatchcase(said, expected.replace("[", "[[]")), f"\n{said}\nis not\n{expected}"


def test_a_plugin_of_pytests_is_named_by_its_folder_and_file(tmp_path: Path) -> None:
    file = tmp_path / "checks" / "conftest.py"
    plugin = a_plugin(tutoreval_measures=hookimpl(lambda: 1), __file__=str(file))
    assert refused(plugin) == (
        "checks/conftest.py of unknown source: tutoreval_measures() returned a int; expected a list"
    )


def test_what_a_package_brought_before_it_failed_is_taken_out(site: Path) -> None:
    the_parrot(site)
    a_package(site, MEASURE + HOOK.format("measures", "[M('mine', 'x', len), M('leakage', 'x', len)]"), name="zeta")
    assert refused().startswith("zeta 1.0: measure 'leakage' is registered already")
