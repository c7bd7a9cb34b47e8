"""Packages that bring providers, policies, measures, claims and renderers: found, registered, and on record.

A package names a module of its hooks in the entry-point group `tutoreval`. Under pytest a conftest.py or a plugin of
pytest's that carries such hooks counts as well. What one of them cannot do is an error that names it: a claim that was
decided without what its suite relies on would look like any other.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pluggy

from pytest_tutoreval import hookspecs
from pytest_tutoreval.errors import ExtensionError
from pytest_tutoreval.hookspecs import PROJECT

__all__ = ["Extension", "carries_hooks", "load_extensions", "loaded_extensions"]

_MARK = f"{PROJECT}_impl"


@dataclass(frozen=True, eq=False)
class Extension:
    """A package, or a plugin of pytest's, that registers something.

    Attributes
    ----------
    name, version : the distribution's; of a conftest.py or plugin its file or module, and the digest of its source
    plugin : the module or object with the hooks
    registered : what it brought, in words
    """

    name: str
    version: str
    plugin: Any
    registered: list[str] = field(default_factory=list)

    @property
    def who(self) -> str:
        """Return what errors call it."""
        return f"{self.name} {self.version}"

    def __str__(self) -> str:
        return f"{self.who} registers {', '.join(self.registered) or 'nothing'}"


# Those whose registrations hold at this moment, in the order they were loaded.
_loaded: list[Extension] = []


def loaded_extensions() -> tuple[Extension, ...]:
    """Return whose registrations hold at this moment: results may depend on each, so reports name them."""
    return tuple(_loaded)


@contextmanager
def load_extensions(plugins: Iterable[object] = ()) -> Iterator[tuple[Extension, ...]]:
    """Register what every installed package brings, and take it out again at the end; what is in already stays.

    Parameters
    ----------
    plugins : plugins of pytest's; those that carry no hook of ours are left alone

    Raises
    ------
    ExtensionError
        A package cannot be loaded, has a hook that does not exist, returns something else than it should, or takes a
        name that is taken. Nothing is registered then.
    """
    found = [*map(_installed, _entry_points()), *map(_handed_over, filter(carries_hooks, plugins))]
    new: list[Extension] = []
    for extension in found:
        if not any(extension.plugin is known.plugin for known in (*_loaded, *new)):
            new.append(extension)
    with ExitStack() as registered:
        _register_all(new, registered)
        _loaded.extend(new)
        registered.callback(_forget, new)
        yield loaded_extensions()


def carries_hooks(plugin: object) -> bool:
    """Return whether a plugin of pytest's has a hook of ours, marked or not: only functions are looked at, none run."""
    return any(name in _KINDS or _marked(function) for name, function in _functions(plugin))


def _marked(function: object) -> bool:
    return hasattr(function, _MARK)


def _functions(plugin: object) -> Iterator[tuple[str, object]]:
    places = plugin.__mro__ if isinstance(plugin, type) else (plugin, *type(plugin).__mro__)
    for place in places:
        for name, member in list(getattr(place, "__dict__", {}).items()):
            if isinstance(member, FunctionType | staticmethod | classmethod):
                yield name, member


def _forget(extensions: Iterable[Extension]) -> None:
    for extension in extensions:
        _loaded.remove(extension)


# finding


def _entry_points() -> list[EntryPoint]:
    """Return the entry points in an order that is the same on every machine and worker."""
    return sorted(entry_points(group=PROJECT), key=lambda entry: (entry.dist.name if entry.dist else "", entry.name))


def _installed(entry: EntryPoint) -> Extension:
    name, version = (entry.dist.name, entry.dist.version) if entry.dist else (entry.value, "of unknown source")
    with _named(f"{name} {version}", f"loading {entry.value}"):
        plugin = entry.load()
    return Extension(name, version, plugin)


def _handed_over(plugin: object) -> Extension:
    from pytest_tutoreval.frozen import text_digest

    module = plugin if isinstance(plugin, ModuleType) else inspect.getmodule(type(plugin))
    file = Path(getattr(module, "__file__", None) or "unknown")
    try:
        version = f"sha256 {text_digest(file.read_text(encoding='utf-8'))[:12]}"
    except (OSError, ValueError):
        version = "of unknown source"
    name = f"{file.parent.name}/{file.name}" if file.name == "conftest.py" else getattr(module, "__name__", str(plugin))
    return Extension(name, version, plugin)


# registering


def _register_all(extensions: list[Extension], registered: ExitStack) -> None:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    for extension in extensions:
        _join(manager, extension)
    # Kind by kind: a claim of one package may be about a measure of another.
    for hook, register in _KINDS.items():
        for extension in extensions:
            others = [other.plugin for other in extensions if other is not extension]
            for brought in _answers(manager, hook, extension, others):
                extension.registered.extend(register(brought, extension.who, registered))


def _join(manager: pluggy.PluginManager, extension: Extension) -> None:
    """Add a package to those that are asked, once its hooks are known to exist and to take what they are given."""
    if unmarked := [
        name for name, function in _functions(extension.plugin) if name in _KINDS and not _marked(function)
    ]:
        raise ExtensionError(
            f"{extension.who}: {unmarked[0]}() is not marked as a hook; put @pytest_tutoreval.hookimpl above it"
        )
    try:
        manager.register(extension.plugin, name=f"{extension.who} {id(extension.plugin)}")
        manager.check_pending()
    except pluggy.PluginValidationError as exc:
        raise ExtensionError(
            f"{extension.who}: {' '.join(str(exc).split())}. Known hooks, none with an argument: {', '.join(_KINDS)}."
        ) from exc
    if not manager.get_hookcallers(extension.plugin):
        raise ExtensionError(
            f"{extension.who}: {extension.plugin!r:.200} has no hook; mark its functions with "
            f"@pytest_tutoreval.hookimpl, and name the module that has them as entry point. Known: {', '.join(_KINDS)}."
        )


def _answers(manager: pluggy.PluginManager, hook: str, extension: Extension, others: list[Any]) -> list[Any]:
    """Return what a package's own hooks of a name return."""
    caller = manager.subset_hook_caller(hook, others)
    asked = sum(not (each.wrapper or each.hookwrapper) for each in caller.get_hookimpls())
    with _named(extension.who, f"{hook}()"):
        answers: list[Any] = caller()
    if len(answers) < asked:
        raise ExtensionError(f"{extension.who}: {hook}() returned None; what registers nothing returns an empty list")
    return answers


@contextmanager
def _named(who: str, what: str) -> Iterator[None]:
    """Turn whatever a package's code raises into an error that names the package; a pytest.skip too would hide it."""
    try:
        yield
    except (ExtensionError, KeyboardInterrupt):
        raise
    except BaseException as exc:
        raise ExtensionError(f"{who}: {what} raised {type(exc).__name__}: {exc}") from exc


# Each registers what a package brought, with the way back on the stack, and yields what it was, in words.


def _providers(brought: object, who: str, registered: ExitStack) -> Iterator[str]:
    from pytest_tutoreval.providers.routes import register_provider

    for name, provider in _by_name("tutoreval_providers", brought, who):
        registered.callback(register_provider(name, provider, by=who))
        yield f"provider {name}"


def _policies(brought: object, who: str, registered: ExitStack) -> Iterator[str]:
    from pytest_tutoreval.frozen import PACKAGE_CONDITIONS
    from pytest_tutoreval.policies import register_policy

    for condition, policy in _by_name("tutoreval_policies", brought, who):
        registered.callback(register_policy(condition, policy, by=who))
        yield f"policy {condition} (sha256 {PACKAGE_CONDITIONS[condition][:12]})"


def _measures(brought: object, who: str, registered: ExitStack) -> Iterator[str]:
    from pytest_tutoreval.gating import guard_measure
    from pytest_tutoreval.measures import register_measure

    for measure in _several("tutoreval_measures", brought, who):
        registered.callback(register_measure(measure, by=who))
        registered.callback(guard_measure(measure, by=who))
        yield f"measure {measure.name} (in {measure.unit})"


def _claims(brought: object, who: str, registered: ExitStack) -> Iterator[str]:
    from pytest_tutoreval.claims import register_claims

    for folder in _several("tutoreval_claims", brought, who):
        for name, take_out in register_claims(folder, by=who).items():
            registered.callback(take_out)
            yield f"claim {name}"


def _renderers(brought: object, who: str, registered: ExitStack) -> Iterator[str]:
    from pytest_tutoreval.reporting import register_renderer

    for renderer in _several("tutoreval_renderers", brought, who):
        registered.callback(register_renderer(renderer, by=who))
        yield f"renderer {renderer.name}"


_KINDS: Mapping[str, Callable[[object, str, ExitStack], Iterator[str]]] = {
    "tutoreval_providers": _providers,
    "tutoreval_policies": _policies,
    "tutoreval_measures": _measures,
    "tutoreval_claims": _claims,
    "tutoreval_renderers": _renderers,
}


def _by_name(hook: str, brought: object, who: str) -> list[tuple[str, Any]]:
    if not isinstance(brought, Mapping):
        raise ExtensionError(f"{who}: {hook}() returned a {type(brought).__name__}; expected a mapping by name")
    return list(brought.items())


def _several(hook: str, brought: object, who: str) -> list[Any]:
    if isinstance(brought, str | bytes | Mapping) or not isinstance(brought, Iterable):
        raise ExtensionError(f"{who}: {hook}() returned a {type(brought).__name__}; expected a list")
    with _named(who, f"{hook}()"):
        return list(brought)
