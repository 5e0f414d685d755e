"""Which members custom resources of others may have here, as their definitions say; nothing else is in the manifests."""

TEXT, NUMBER, FLAG, ANY, MAP = "text", "number", "flag", "any", "map"
ISSUER = {"!name": TEXT, "kind": TEXT, "group": TEXT}
RELABELING = {"action": TEXT, "targetLabel": TEXT, "replacement": TEXT, "sourceLabels": [TEXT], "regex": TEXT, "separator": TEXT, "modulus": NUMBER}
SCRAPE = {
    "!port": TEXT,
    "path": TEXT,
    "interval": TEXT,
    "scrapeTimeout": TEXT,
    "relabelings": [RELABELING],
    "metricRelabelings": [RELABELING],
}
MONITOR = {"!selector": {"matchLabels": MAP}, "namespaceSelector": {"matchNames": [TEXT]}}
RULE = {"alert": TEXT, "record": TEXT, "!expr": TEXT, "for": TEXT, "keep_firing_for": TEXT, "labels": MAP, "annotations": MAP}
GROUP = {"!name": TEXT, "interval": TEXT, "limit": NUMBER, "!rules": [RULE], "query_offset": TEXT, "labels": MAP}
MATCH = {"path": {"type": TEXT, "value": TEXT}, "headers": ANY, "queryParams": ANY, "method": TEXT}
SPECIFICATIONS = {
    ("cert-manager.io/v1", "Certificate"): {
        "!secretName": TEXT,
        "!issuerRef": ISSUER,
        "isCA": FLAG,
        "commonName": TEXT,
        "dnsNames": [TEXT],
        "duration": TEXT,
        "renewBefore": TEXT,
        "usages": [TEXT],
        "privateKey": {"algorithm": TEXT, "size": NUMBER, "rotationPolicy": TEXT},
    },
    ("cert-manager.io/v1", "Issuer"): {"selfSigned": {}, "ca": {"!secretName": TEXT}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {**MONITOR, "!endpoints": [SCRAPE]},
    ("monitoring.coreos.com/v1", "PodMonitor"): {**MONITOR, "!podMetricsEndpoints": [SCRAPE]},
    ("monitoring.coreos.com/v1", "PrometheusRule"): {"!groups": [GROUP]},
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): {
        "!parentRefs": [{"!name": TEXT, "namespace": TEXT, "sectionName": TEXT, "port": NUMBER, "kind": TEXT, "group": TEXT}],
        "hostnames": [TEXT],
        "!rules": [
            {
                "matches": [MATCH],
                "filters": ANY,
                "timeouts": {"request": TEXT, "backendRequest": TEXT},
                "!backendRefs": [{"!name": TEXT, "!port": NUMBER, "weight": NUMBER}],
            }
        ],
    },
}
TYPES = {TEXT: str, NUMBER: int, FLAG: bool, MAP: dict, ANY: object}


def problems(manifest):
    """What is wrong with a custom resource, each with its path."""
    shape = SPECIFICATIONS.get((manifest["apiVersion"], manifest["kind"]))
    if shape is None:
        return [f"{manifest['apiVersion']} {manifest['kind']} is not known"]
    strange = set(manifest) - {"apiVersion", "kind", "metadata", "spec"}
    return [f"{name} is not known" for name in strange] + list(differences(shape, manifest.get("spec"), "spec"))


def differences(shape, value, path):
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        for number, item in enumerate(value):
            yield from differences(shape[0], item, f"{path}.{number}")
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{path} is no map"
            return
        members = {name.removeprefix("!"): of for name, of in shape.items()}
        for name in shape:
            if name.startswith("!") and name[1:] not in value:
                yield f"{path}.{name[1:]} is missing"
        for name, item in value.items():
            if name in members:
                yield from differences(members[name], item, f"{path}.{name}")
            else:
                yield f"{path}.{name} is not known"
    elif not isinstance(value, TYPES[shape]) or isinstance(value, bool) and shape != FLAG:
        yield f"{path} is not {shape}"
    elif shape == MAP and not all(isinstance(text, str) for text in value.values()):
        yield f"{path} has a value that is not text"
