"""The cached synth: made anew when its sources change, never for a change of the functions' code."""

import json
from pathlib import Path

import pytest

from a2a_serverless.local.assembly import SynthError, assembly

APP = """
import json, os, pathlib, sys
out = pathlib.Path(os.environ["CDK_OUTDIR"])
out.mkdir(parents=True)
said = {"Resources": {}, "Version": VERSION, "Arguments": sys.argv[1:], "Home": str(pathlib.Path.home())}
(out / "Toy.template.json").write_text(json.dumps(said))
sources = {"path": "asset.1", "packaging": "zip"}
(out / "Toy.assets.json").write_text(json.dumps({"files": {"code": {"source": sources, "destinations": {}}}}))
(out / "asset.1").mkdir()
(out / "manifest.json").write_text("{}")
print("credentials:", [name for name in os.environ if name.startswith("AWS_")], file=sys.stderr)
"""

CODE = """
import pathlib, shutil
def stage(target, *, runtime_requirements, agent_source=None):
    shutil.copytree(pathlib.Path(__file__).parent.parent / "functions", target / "functions")
    return target
"""


class Clone:
    """A clone with a CDK app that needs no CDK."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said: list[str] = []
        for folder in ("cdk", "functions", "shared/a2a_serverless/aws"):
            (root / folder).mkdir(parents=True)
        self.write("cdk.json", "{}")
        self.write("cdk/__init__.py", "")
        self.write("cdk/code.py", CODE)
        self.write("cdk/context.py", "class Refusal(Exception): pass\n")
        self.write("cdk/app.py", "VERSION = 1\n" + APP)
        self.write("functions/agent.py", "first = True\n")

    def write(self, path: str, text: str) -> None:
        """Change a file."""
        (self.root / path).write_text(text)

    def assembly(self, **context: str) -> Path:
        """The assembly as a start would get it."""
        return assembly(self.root, self.root / "out", context=context, progress=self.said.append)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone of its own."""
    return Clone(tmp_path)


def template(folder: Path) -> dict[str, object]:
    """The template of an assembly."""
    found: dict[str, object] = json.loads((folder / "Toy.template.json").read_text())
    return found


def test_the_first_start_synthesizes_and_says_that_it_takes_time(clone: Clone) -> None:
    made = clone.assembly()

    assert template(made)["Version"] == 1
    assert [line.split(":")[0] for line in clone.said] == ["synthesizing the stack"]


def test_what_a_synth_keeps_in_its_home_stays_inside_the_clone(clone: Clone) -> None:
    made = clone.assembly()

    assert Path(str(template(made)["Home"])).is_relative_to(clone.root / ".local")


def test_changed_code_is_staged_without_another_synth(clone: Clone) -> None:
    clone.assembly()
    clone.write("functions/agent.py", "second = True\n")

    made = clone.assembly()

    assert (made / "asset.1" / "functions" / "agent.py").read_text() == "second = True\n"
    assert len(clone.said) == 1


@pytest.mark.parametrize(
    "changed", ["cdk/app.py", "cdk.json", "cdk/more.json", "shared/a2a_serverless/aws/settings.py"]
)
def test_a_change_of_what_the_template_is_made_from_synthesizes_anew(clone: Clone, changed: str) -> None:
    clone.assembly()
    clone.write(changed, f"VERSION = 2\n{APP}" if changed.endswith("app.py") else "# changed\n")

    made = clone.assembly()

    assert len(clone.said) == 2
    assert template(made)["Version"] == (2 if changed.endswith("app.py") else 1)


def test_another_context_is_another_assembly_and_both_are_kept(clone: Clone) -> None:
    for stage in ("a", "b", "a"):
        made = clone.assembly(stage=stage)
        assert template(made)["Arguments"] == ["-c", f"stage={stage}"]

    assert len(clone.said) == 2


def test_a_local_run_is_of_the_local_stage_whatever_cdk_json_is_kept_for(clone: Clone) -> None:
    made = clone.assembly()

    assert template(made)["Arguments"] == ["-c", "stage=local"]


def test_only_the_assemblies_that_were_used_last_are_kept(clone: Clone) -> None:
    for stage in "abcdefgh":
        clone.assembly(stage=stage)

    assert len(list((clone.root / ".local" / "assemblies").iterdir())) == 5


def test_a_refusal_of_the_app_is_passed_on_in_its_words(clone: Clone) -> None:
    clone.write("cdk/app.py", "import sys\nsys.stderr.write('refused: no issuer\\n')\nsys.exit(1)\n")

    with pytest.raises(SynthError, match=r"^no issuer$"):
        clone.assembly()


def test_an_app_that_breaks_is_shown_with_its_last_words(clone: Clone) -> None:
    clone.write("cdk/app.py", "raise ValueError('broken')\n")

    with pytest.raises(SynthError, match=r"the CDK app failed:\n(.|\n)*ValueError: broken"):
        clone.assembly()
