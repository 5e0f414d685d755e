"""A Kubernetes API in memory: as much of it as Helm needs to install, upgrade, roll back, test and uninstall a release.

It refuses what a real one refuses and this chart could do wrong: a change of an immutable secret, or of what a StatefulSet cannot
change. Jobs and pods of hooks end at once, well or badly. No controller runs.
"""

import base64
import copy
import http.server
import json
import re
import threading
import urllib.parse

import yaml

KINDS = {
    ("", "v1"): ["ConfigMap", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount"],
    ("apps", "v1"): ["StatefulSet"],
    ("batch", "v1"): ["CronJob", "Job"],
    ("networking.k8s.io", "v1"): ["Ingress", "NetworkPolicy"],
    ("policy", "v1"): ["PodDisruptionBudget"],
    ("monitoring.coreos.com", "v1"): ["PodMonitor", "PrometheusRule", "ServiceMonitor"],
}
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
# What may change in the specification of a StatefulSet.
CHANGEABLE = {"replicas", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds", "revisionHistoryLimit"}
OBJECT = re.compile(r"(api/v1|apis/[^/]+/[^/]+)/namespaces/([^/]+)/([^/]+)(?:/([^/]+))?")


def plural(kind):
    return kind.lower()[:-1] + "ies" if kind.endswith("y") else kind.lower() + ("es" if kind.endswith("s") else "s")


def group_path(group, version):
    return f"apis/{group}/{version}" if group else f"api/{version}"


class KubernetesApi:
    """One cluster, for one test. `log` holds what was changed, in its order: (verb, kind, name)."""

    def __init__(self, version="1.34.0"):
        self.version = version
        self.objects = {}
        self.log = []
        # Names of jobs and pods that end badly.
        self.failing = set()
        self.changed = threading.Condition()
        self.events = []
        self.closed = False
        handler = type("Handler", (_Handler,), {"api": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def kubeconfig(self, namespace):
        return yaml.safe_dump({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{self.server.server_address[1]}"}}],
            "users": [{"name": "a"}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": namespace}}],
            "current-context": "a",
        })

    def get(self, kind, name):
        """The object of this kind and name, or None."""
        found = [of for of in self.objects.values() if of["kind"] == kind and of["metadata"]["name"] == name]
        return found[0] if found else None

    def list(self, prefix):
        """The objects of a kind, and how many changes there were until now: the revision."""
        with self.changed:
            return [of for key, of in self.objects.items() if key[:3] == prefix], len(self.events)

    def put(self, key, given):
        """Stores an object and returns what is wrong with it, or None."""
        before = self.objects.get(key)
        made = copy.deepcopy(given)
        for name, text in made.pop("stringData", {}).items() if made["kind"] == "Secret" else ():
            made.setdefault("data", {})[name] = base64.b64encode(text.encode()).decode()
        wrong = refusal(before, made)
        if wrong:
            return wrong
        with self.changed:
            revision = len(self.events) + 1
            made["metadata"].update(namespace=key[1], resourceVersion=str(revision), uid=f"uid-{key[2]}-{key[3]}")
            made["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            made["status"] = self.status(made)
            self.objects[key] = made
            self.log.append(("change" if before else "create", made["kind"], key[3]))
            self.events.append((key, {"type": "MODIFIED" if before else "ADDED", "object": copy.deepcopy(made)}))
            self.changed.notify_all()
        return None

    def delete(self, key):
        with self.changed:
            gone = self.objects.pop(key)
            self.log.append(("delete", gone["kind"], key[3]))
            self.events.append((key, {"type": "DELETED", "object": gone}))
            self.changed.notify_all()
        return gone

    def status(self, made):
        bad = made["metadata"]["name"] in self.failing
        if made["kind"] == "Job":
            return {
                "startTime": "2026-01-01T00:00:00Z",
                "failed" if bad else "succeeded": 1,
                "conditions": [{"type": "Failed" if bad else "Complete", "status": "True", "reason": "x", "message": "it failed"}],
            }
        if made["kind"] == "Pod":
            return {"phase": "Failed" if bad else "Succeeded"}
        return {}


def refusal(before, made):
    """What a real API would say to this change."""
    if before and before.get("immutable") and (before.get("data") != made.get("data") or not made.get("immutable")):
        return f'Secret "{made["metadata"]["name"]}" is invalid: data: field is immutable when `immutable` is set'
    if before and made["kind"] == "StatefulSet":
        names = set(before["spec"]) | set(made["spec"])
        changed = [name for name in names - CHANGEABLE if before["spec"].get(name) != made["spec"].get(name)]
        if changed:
            return f"StatefulSet is invalid: spec: updates to {sorted(changed)} are forbidden"
    return None


def merged(into, change):
    for name, value in change.items():
        if value is None:
            into.pop(name, None)
        elif isinstance(value, dict) and isinstance(into.get(name), dict):
            merged(into[name], value)
        else:
            into[name] = value
    return into


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise an answer in two packets waits 40 ms for its second one.
    disable_nagle_algorithm = True
    api = None

    def log_message(self, *_):
        pass

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, reason, message):
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status, "message": message}, status)

    def discovery(self, path):
        groups = [(group, version) for group, version in KINDS if group]
        named = [(group, {"groupVersion": f"{group}/{version}", "version": version}) for group, version in groups]
        fixed = {
            "version": {"major": "1", "minor": self.api.version.split(".")[1], "gitVersion": f"v{self.api.version}"},
            "api": {"kind": "APIVersions", "versions": ["v1"]},
            "apis": {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [{"name": group, "versions": [of], "preferredVersion": of} for group, of in named],
            },
            "openapi/v3": {"paths": {group_path(*of): {"serverRelativeURL": f"/openapi/v3/{group_path(*of)}"} for of in KINDS}},
        }
        if path in fixed:
            return fixed[path]
        for (group, version), kinds in KINDS.items():
            if path == group_path(group, version):
                resources = [
                    {"name": plural(kind), "kind": kind, "singularName": kind.lower(), "namespaced": True, "verbs": VERBS} for kind in kinds
                ]
                return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}".strip("/"), "resources": resources}
            if path == f"openapi/v3/{group_path(group, version)}":
                return self.openapi(group, version, kinds)
        return None

    @staticmethod
    def openapi(group, version, kinds):
        paths = {
            f"/{kind}": {
                "patch": {
                    "parameters": [{"name": "fieldValidation", "in": "query"}],
                    "responses": {},
                    "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
                }
            }
            for kind in kinds
        }
        return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "1"}, "components": {"schemas": {}}, "paths": paths}

    def watch(self, prefix, query):
        """What there is of a kind, where that is asked for, then its events, until the cluster is closed or the client leaves."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        field = (query.get("fieldSelector") or [""])[0].removeprefix("metadata.name=")
        if "sendInitialEvents" in query:
            items, at = self.api.list(prefix)
            self.send_event(*({"type": "ADDED", "object": of} for of in items if not field or of["metadata"]["name"] == field))
            end = {"resourceVersion": str(at), "annotations": {"k8s.io/initial-events-end": "true"}}
            kind = {"apiVersion": prefix[0].removeprefix("apis/").removeprefix("api/"), "kind": self.kind(prefix)}
            self.send_event({"type": "BOOKMARK", "object": {**kind, "metadata": end}})
        else:
            at = int((query.get("resourceVersion") or ["0"])[0] or 0)
        while True:
            with self.api.changed:
                while at >= len(self.api.events) and not self.api.closed:
                    self.api.changed.wait()
                fresh, at = self.api.events[at:], len(self.api.events)
                if self.api.closed:
                    return
            self.send_event(*(event for key, event in fresh if key[:3] == prefix and (not field or key[3] == field)))

    def send_event(self, *events):
        for event in events:
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    @staticmethod
    def kind(prefix):
        kinds = {(group_path(*of), plural(kind)): kind for of, kinds in KINDS.items() for kind in kinds}
        return kinds[prefix[0], prefix[2]]

    def handle_request(self):
        url = urllib.parse.urlparse(self.path)
        path, query = url.path.strip("/"), urllib.parse.parse_qs(url.query)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = self.discovery(path)
        if found is not None:
            return self.answer(found)
        match = OBJECT.fullmatch(path)
        if not match:
            return self.refuse(404, "NotFound", path)
        key = match.groups()
        if self.command == "GET" and "watch" in query:
            return self.watch(key[:3], query)
        if self.command == "GET" and key[3] is None:
            items, at = self.api.list(key[:3])
            return self.answer({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": str(at)}, "items": items})
        return self.change(key, yaml.safe_load(body) if body else None)

    def change(self, key, given):
        there = self.api.objects.get(key)
        applies = "apply" in (self.headers.get("Content-Type") or "")
        if self.command == "POST":
            key = (*key[:3], given["metadata"]["name"])
            if key in self.api.objects:
                return self.refuse(409, "AlreadyExists", key[3])
        elif there is None and not applies:
            return self.refuse(404, "NotFound", key[3])
        elif self.command == "GET":
            return self.answer(there)
        elif self.command == "DELETE":
            return self.answer(self.api.delete(key))
        elif self.command == "PATCH" and not applies:
            given = merged(copy.deepcopy(there), given)
        wrong = self.api.put(key, given)
        return self.refuse(422, "Invalid", wrong) if wrong else self.answer(self.api.objects[key])

    def handle_any(self):
        try:
            self.handle_request()
        except (BrokenPipeError, ConnectionResetError):
            # The client has seen enough.
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any
