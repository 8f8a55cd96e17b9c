"""schemathesis against the running server: no 5xx, every answer fits the description.

A few examples per operation in `make test`, many in `make nightly` (T1_LOAD=1).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serving import Served, csv_of, waves

EXAMPLES = "40" if os.environ.get("T1_LOAD") else "3"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SCRIPT = Path(sys.executable).with_name("schemathesis")

# real ids, so that more than 404 is answered; what deletes them is asked at the end, with any id
CONFIG = """
[parameters]
"path.id" = "{job}"
[[operations]]
include-path-regex = "/v1/files/"
parameters = {{ "path.id" = "{file}" }}
[[operations]]
include-path-regex = "/v1/models/"
parameters = {{ "path.id" = "{model}" }}
[[operations]]
include-method = "DELETE"
parameters = {{ "path.id" = "00000000000000000000000000000000" }}
"""


def test_no_server_error_and_every_answer_fits_the_description(tmp_path):
    if not SCRIPT.exists():
        pytest.skip("schemathesis is not installed")
    server = Served(tmp_path / "jobs", "--workers", "1")
    job = server.wait(server.job(csv_of(waves(40)), method="linear", budget="fast", keep_model=True)["id"])
    file = server.upload(csv_of(waves(40))).json()["id"]
    (tmp_path / "st.toml").write_text(CONFIG.format(job=job["id"], file=file, model=job["model"]))
    command = [SCRIPT, "--config-file", tmp_path / "st.toml", "run", f"{server.url}/v1/openapi.json"]
    command += ["--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", "1", "--phases", "fuzzing"]
    ran = subprocess.run([*command, "--request-timeout", "300"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-6000:]
    assert "✅" in ran.stdout and server.http.get("/health").status_code == 200
    server.stop()
