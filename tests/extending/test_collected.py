"""Sessions of a package's provider under a package's policy: collected, stamped, and held to its text."""

from pathlib import Path

import pytest

from pytest_tutoreval.errors import ExtensionError, InstrumentError, ProtocolError
from pytest_tutoreval.extending import load_extensions
from pytest_tutoreval.frozen import extend_instrument, load_instrument, open_study
from pytest_tutoreval.live import Needs
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.policies import Situation, Utterance, policy_of, register_policy
from pytest_tutoreval.providers import ConfigurationError, UnknownProvider
from pytest_tutoreval.providers.agent import ModelReply
from pytest_tutoreval.providers.compatible import CompatibleChat
from pytest_tutoreval.providers.routes import IN_PROCESS, register_provider, wire_format
from pytest_tutoreval.records.session import Route, SessionKey
from pytest_tutoreval.records.study import Sampling
from pytest_tutoreval.records.study_file import StudyFile
from pytest_tutoreval.store import open_corpus
from tests.builders import a_route
from tests.extending.packages import a_package, the_parrot
from tests.live.running import a_study_file, go, short_instrument, tutoreval
from tests.live.test_own_tutors import STUDENT
from tests.loopback.server import LoopbackServer

STUDY = (
    STUDENT
    + """
[[bases]]
id = "bird"
label = "A bird"
provider = "parrot"
model = "grey"
sampling = { max_tokens = 64 }

[protocol]
conditions = ["conv", "terse"]
replicates = 2
"""
)


def write_study(folder: Path) -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def collect(study: Path, corpus: Path, *more: str) -> tuple[int, str]:
    done = tutoreval("collect", "--corpus", corpus, "--base", "bird", "--study", study, *more)
    return done.returncode, done.stdout + done.stderr


def test_a_packages_tutor_is_collected_under_a_packages_policy(tmp_path: Path, site: Path, child_site: Path) -> None:
    module = the_parrot(site)
    study, corpus = write_study(tmp_path), tmp_path / "corpus"
    code, said = collect(study, corpus)
    assert code == 0, said
    with load_extensions():
        instrument = open_study(study).instrument
        assert instrument.study.protocol.condition_order == ("conv", "terse")
        measures = CorpusMeasures(open_corpus(corpus, instrument=instrument.sha256), instrument)
        assert {arm: measures.cell("bird", arm).broken for arm in ("conv", "terse")} == {"conv": {}, "terse": {}}
        sessions = {arm: measures.corpus.session(SessionKey("bird", arm, 1)) for arm in ("conv", "terse")}
        stamp = instrument.policy_sha256("terse")
    assert {arm: session.header.policy for arm, session in sessions.items()} == {"conv": None, "terse": stamp}
    assert len(str(stamp)) == 64
    assert sessions["terse"].header.routes["tutor"].provider == "parrot"
    exchange = [call for call in sessions["terse"].calls if call.role in ("student", "tutor")][:2]
    assert exchange[1].text == f"You said: {exchange[0].text} Why?"
    assert {call.node for call in sessions["terse"].calls if call.role == "tutor"} == {"terse"}

    # The package's next version, with another prompt: its sessions are neither used nor gone on with.
    module.write_text(module.read_text().replace("Ask one short question.", "Say nothing."))
    code, said = collect(study, corpus, "--condition", "terse")
    assert code == 1
    assert "was begun with other settings (policy)" in said
    done = tutoreval("report", "frames", "--corpus", corpus, "--to", tmp_path / "frames", "--study", study)
    assert (
        f"collected under another text of policy terse ({str(stamp)[:12]}, the installed package's is " in done.stderr
    )
    assert "conv" not in done.stderr


def test_without_its_package_a_study_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InstrumentError, match=r"protocol\.conditions: terse is not known \(known: cold, conv, ped, "):
        open_study(write_study(tmp_path))
    with pytest.raises(UnknownProvider, match=r"provider = 'parrot' is not a known provider"):
        wire_format(Route(provider="parrot", model="grey", sampling=Sampling(max_tokens=64)))


def test_a_command_names_a_package_that_cannot_be_loaded(child_site: Path, tmp_path: Path) -> None:
    who = a_package(child_site, "import nowhere_at_all\n")
    done = tutoreval("simulate", "--to", tmp_path / "corpus")
    assert done.returncode == 1
    assert done.stderr.startswith(f"tutoreval: {who}: loading ")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "corpus").exists()


# providers


class Acme(CompatibleChat):
    """A vendor that speaks OpenAI's chat format under a name of its own."""

    name = "acme"


BASE = {"id": "acme", "label": "Acme", "provider": "acme", "model": "acme-1", "sampling": {"max_tokens": 64}}


def test_a_packages_wire_format_collects_over_http(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        more = '[routes.acme]\nbase_url = "{}"\n[[bases]]\n{}\n'.format(
            server.base_urls["compatible"],
            "\n".join(
                [
                    *(f'{key} = "{value}"' for key, value in BASE.items() if key != "sampling"),
                    "sampling = { max_tokens = 64 }",
                ]
            ),
        )
        study = a_study_file(tmp_path / "study", server.base_urls, more=more)
        take_out = register_provider("acme", Acme(), by="tests")
        try:
            outcome = go(server, tmp_path / "corpus", Needs.crossed(bases=["acme"], conditions=["conv"]), study=study)
        finally:
            take_out()
        assert outcome.complete, outcome.lines()
        assert any(entry.body.get("model") == "acme-1" for entry in server.journal)


def test_what_opens_no_client_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    take_out = register_provider("acme", lambda *_, **given: given, by="tests")  # type: ignore[arg-type]
    study = tmp_path / "tutoreval.toml"
    study.write_text(STUDY.replace("parrot", "acme").partition("[protocol]")[0])
    try:
        with (
            LoopbackServer() as server,
            pytest.raises(ConfigurationError, match=r"'acme' opened a dict\. It has to open"),
        ):
            go(server, tmp_path / "corpus", Needs.crossed(bases=["bird"], conditions=["conv"]), study=study)
        assert not server.journal
    finally:
        take_out()
    assert "acme" not in IN_PROCESS


# policies


def silent_turn(situation: Situation):  # type: ignore[no-untyped-def]
    yield situation.request("Say something.", node="silent")
    return "something else"


class Turn:
    def __call__(self, situation: Situation):  # type: ignore[no-untyped-def]
        return (yield situation.request("Say something.", node="turn")).text


def test_a_packages_policy_is_held_to_what_a_corpus_can_record() -> None:
    take_out = register_policy("silent", silent_turn, by="a-package 1.0")
    try:
        policy = policy_of(load_instrument(), "silent")
        assert policy is not None
        situation = Situation(
            load_instrument(),
            "gpt",
            "silent",
            0,
            load_instrument().training[0],
            0,
            (Utterance("student", "hm"),),
            a_route("tutor"),
            None,
        )
        running = policy(situation)
        next(running)
        with pytest.raises(ProtocolError, match=r"^policy silent \(a-package 1\.0\) at gpt/silent/r0/.* another text"):
            running.send(ModelReply("What do you notice?"))
    finally:
        take_out()
    assert load_instrument().policy_sha256("silent") is None


def test_policies_of_one_module_have_digests_of_their_own() -> None:
    undo = [register_policy("silent", silent_turn, by="p"), register_policy("object", Turn(), by="p")]
    digests = {load_instrument().policy_sha256(name) for name in ("silent", "object")}
    for take_out in undo:
        take_out()
    assert len(digests) == 2
    assert None not in digests


def test_a_study_files_own_policy_does_not_replace_a_packages() -> None:
    take_out = register_policy("terse", Turn(), by="p")
    try:
        with pytest.raises(InstrumentError, match="policy terse is registered already; choose another id"):
            extend_instrument(short_instrument(), StudyFile.parse({"policies": [{"id": "terse", "direct": True}]}))
        with pytest.raises(ExtensionError, match="q: policy 'terse' is registered already by p; choose another name"):
            register_policy("terse", Turn(), by="q")
    finally:
        take_out()
