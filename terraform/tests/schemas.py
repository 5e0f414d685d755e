"""Schemas of Terraform providers, out of the typings that npm has of them.

A provider's own binary is large, and its registry is not always within reach. The packages `@cdktf/provider-NAME` hold one
TypeScript declaration for each resource, made from the provider's schema: names, types, what is required, which are blocks.
From these the schema is rebuilt, for the types that our modules name. What is not told there: whether an optional attribute
is also computed (of resources a few that are known to be so, of data sources all), and ephemeral resources, which are taken to be
as the data source of the same name.
"""

import json
import re
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The package for each provider, and the version of the provider that it was made from.
PACKAGES = {
    "aws": ("@cdktf/provider-aws@21.22.1", "6.25.0"),
    "azurerm": ("@cdktf/provider-azurerm@14.23.1", "4.55.0"),
    "google": ("@cdktf/provider-google@16.12.1", "6.50.0"),
    "helm": ("@cdktf/provider-helm@12.1.2", "3.1.1"),
    "kubernetes": ("@cdktf/provider-kubernetes@12.1.1", "2.38.0"),
}
ALSO_COMPUTED = {"id", "tags_all", "region", "project", "namespace"}
PRIMITIVES = {"string": "string", "number": "number", "boolean": "bool", "any": "dynamic", "cdktf.IResolvable": "bool"}
USE = re.compile(r'^\s*(resource|data|ephemeral)\s+"([a-z0-9_]+)"', re.M)
MEMBER = re.compile(
    r"/\*\*(?P<doc>(?:(?!\*/).)*?#(?P<name>\w+) \w+#\w+\}(?:(?!\*/).)*?)\*/\s*readonly \w+(?P<optional>\?)?: (?P<type>.+?);\n(?=    /\*\*|\Z)",
    re.S,
)
GETTER = re.compile(r"^    get (\w+)\(\): (.+?);$", re.M | re.S)


def used(root):
    """The kinds and types of resources that the modules below a folder name."""
    found = set()
    for path in Path(root).rglob("*.tf"):
        found.update(match for match in USE.findall(path.read_text()) if match[1] != "terraform_data")
    return sorted(found)


def folder_of(kind, name):
    """Where a package has a type: (provider, folder)."""
    provider, rest = name.split("_", 1)
    rest = rest.replace("_", "-")
    return provider, rest if kind == "resource" else f"data-{provider}-{rest}"


def build(root, cache):
    """The schemas by provider; made where they are missing from `cache`, or of other packages or types."""
    cache = Path(cache)
    wanted = used(root)
    stamp = json.dumps([PACKAGES, wanted, Path(__file__).read_text()])
    made, stamped = cache / "schemas.json", cache / "made-of.txt"
    if made.exists() and stamped.exists() and stamped.read_text() == stamp:
        return json.loads(made.read_text())
    cache.mkdir(parents=True, exist_ok=True)
    schemas = {}
    with ThreadPoolExecutor(len(PACKAGES)) as pool:
        archives = dict(zip(PACKAGES, pool.map(lambda named: fetch(named[0], cache), PACKAGES.values())))
    for provider, (package, _) in PACKAGES.items():
        kinds = [(kind, name) for kind, name in wanted if folder_of(kind, name)[0] == provider]
        files = unpack(archives[provider], {folder_of(kind, name)[1] for kind, name in kinds} | {"provider"})
        schemas[provider] = {"resource": {}, "data": {}, "ephemeral": {}, "provider": members_of(files["provider"], "Provider")}
        for kind, name in kinds:
            folder = folder_of(kind, name)[1]
            if folder not in files:
                raise LookupError(f"{package} has no {folder}: is {kind} {name} of this version of the provider?")
            members = members_of(files[folder], class_of(files[folder]))
            if kind != "resource":
                members = [member | {"computed": member["computed"] or (member["optional"] and not member["block"])} for member in members]
            schemas[provider][kind][name] = members
    made.write_text(json.dumps(schemas))
    stamped.write_text(stamp)
    return schemas


def fetch(package, cache):
    """The package's archive, by npm."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(cache), package]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cache)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return cache / done.stdout.split()[-1]


def unpack(archive, folders):
    """(declarations, code) of each folder; the archive is removed, since it is large."""
    found = {}
    with tarfile.open(archive) as tar:
        for entry in tar:
            parts = entry.name.split("/")
            if len(parts) < 4 or parts[1] != "lib" or parts[2] not in folders:
                continue
            declarations, code = found.get(parts[2], ("", ""))
            text = tar.extractfile(entry).read().decode()
            if entry.name.endswith(".d.ts"):
                declarations += text
            elif entry.name.endswith(".js"):
                code += text
            found[parts[2]] = (declarations, code)
    archive.unlink()
    return found


def class_of(files):
    """The class that stands for the resource itself."""
    return re.search(r"export declare class (\w+) extends cdktf\.Terraform(?:Resource|DataSource)", files[0])[1]


class Declarations:
    """The interfaces and classes of one folder."""

    def __init__(self, files):
        self.text, self.code = files
        self.interfaces = dict(re.findall(r"^export interface (\w+)[^{]*\{\n(.*?)^\}", self.text, re.M | re.S))
        self.classes = dict(re.findall(r"^export declare class (\w+)[^{]*\{\n(.*?)^\}", self.text, re.M | re.S))

    def is_set(self, holder, name):
        """Whether a list of objects, or of primitives, of a class is a set."""
        body = re.search(rf"^class {holder} .*?(?=^class |\Z)", self.code, re.M | re.S)
        text = body[0] if body else ""
        objects = re.search(rf"\(this, [\"']{name}[\"'], true\)", text)
        return bool(objects or re.search(rf"Fn\.tolist\(this\.get\w+\([\"']{name}[\"']\)", text))

    def config(self, interface, holder):
        """What can be written."""
        found = []
        for match in MEMBER.finditer(self.interfaces.get(interface, "")):
            name = match["name"]
            optional = bool(match["optional"])
            entry = {"name": name, "optional": optional, "required": not optional}
            entry["computed"] = optional and name in ALSO_COMPUTED
            entry["write_only"] = name.endswith("_wo")
            entry |= self.typed(match["type"], holder, name)
            entry["block"] = bool(re.search(rf"\* {name} block\n", match["doc"])) or name == "timeouts"
            found.append(entry)
        return found

    def typed(self, text, holder, name):
        """The type of a member: primitive, collection of them, or objects."""
        alone = re.sub(r"\s+", " ", text).replace(" | cdktf.IResolvable", "").strip()
        as_map = re.fullmatch(r"\{ \[key: string\]: (.+?);? \}", alone)
        collection = "set" if self.is_set(holder, name) else "list"
        if as_map:
            return {"type": ["map", PRIMITIVES.get(as_map[1].split(" | ")[0], "string")]}
        if alone.endswith("[]"):
            element = alone.removesuffix("[]").strip("()")
            if element in PRIMITIVES:
                return {"type": [collection, PRIMITIVES[element]]}
            return {"nested": collection, "fields": self.members(element, f"{element}OutputReference")}
        if alone in self.interfaces:
            return {"nested": "single", "fields": self.members(alone, f"{alone}OutputReference")}
        return {"type": PRIMITIVES.get(alone, "string")}

    def members(self, interface, holder):
        """What can be written, then what can only be read."""
        written = self.config(interface, holder)
        return written + self.computed(holder, written)

    def computed(self, holder, known):
        """What can only be read: getters without a member to write."""
        found = []
        for getter, text in GETTER.findall(self.classes.get(holder, "")):
            name = re.sub(r"([A-Z])", lambda letter: "_" + letter[1].lower(), getter)
            plain = {entry["name"].replace("_", "") for entry in known}
            if name.replace("_", "") in plain or getter.endswith("Input") or getter in ("internalValue", "fqn"):
                continue
            entry = {"name": name, "optional": False, "required": False, "computed": True, "block": False, "write_only": False}
            alone = re.sub(r"\s+", " ", text)
            inner = re.fullmatch(r"(\w+?)(List|OutputReference)", alone)
            if inner and f"{inner[1]}OutputReference" in self.classes:
                entry |= {"nested": "list", "fields": self.computed(f"{inner[1]}OutputReference", [])}
            else:
                entry |= self.typed(text, holder, name)
            found.append(entry)
        return found


def members_of(files, name):
    """The members of a resource, data source or provider."""
    declarations = Declarations(files)
    if name == "Provider":
        name = re.search(r"export declare class (\w+) extends cdktf\.TerraformProvider", files[0])[1]
        return [entry for entry in declarations.config(f"{name}Config", name) if entry["name"] != "alias"]
    return declarations.members(f"{name}Config", name)
