"""What values do: refused where they are misspelt or contradict each other, computed where nothing is said."""

import json
import re

import pytest
import yaml
from conftest import CHART, SETS

SCHEMA = json.loads((CHART / "values.schema.json").read_text())

MISSPELT = [
    {"replica": 5},
    {"image": {"tags": "x"}},
    {"node": {"drainMs": 5}},
    {"node": {"ledger": {"maxBytes": 5}}},
    {"mesh": {"tls": {"certManager": {"enable": True}}}},
    {"mesh": {"tls": {"certManager": {"issuerRef": {"nam": "x"}}}}},
    {"secrets": {"keys": {"token": "x"}}},
    {"ingress": {"hosts": [{"hosts": "a"}]}},
    {"ingress": {"hosts": [{"host": "a", "paths": [{"path": "/", "type": "Exact"}]}]}},
    {"providerKeys": {"env": {"A": {"secret": "x", "key": "y"}}}},
    {"backup": {"upload": {"images": "x"}}},
    {"tests": {"request": {"keySecret": {"nme": "x"}}}},
    {"podDisruptionBudget": {"minimum": 2}},
    {"resources": {"request": {}}},
]


@pytest.mark.parametrize("values", MISSPELT, ids=json.dumps)
def test_misspelt_names_are_refused(refused, values):
    assert re.search(r"additional properties '\w+' not allowed|missing propert", refused(values))


WRONG = [
    ({"replicas": "three"}, "/replicas"),
    ({"image": {"digest": "sha256:abc"}}, "/image/digest"),
    ({"service": {"type": "ExternalName"}}, "/service/type"),
    ({"traces": {"sample": 1.5}}, "/traces/sample"),
    ({"persistence": {"accessModes": ["ReadWriteMany"]}}, "/persistence/accessModes"),
    ({"antiAffinity": "hard"}, "/antiAffinity"),
    ({"podDisruptionBudget": {"minAvailable": "50%"}}, "/podDisruptionBudget/minAvailable"),
    ({"providerKeys": {"env": {"NOT-A-NAME": {"name": "a", "key": "b"}}}}, "invalid propertyName 'NOT-A-NAME'"),
]


@pytest.mark.parametrize(("values", "path"), WRONG, ids=lambda of: of if isinstance(of, str) else "")
def test_wrong_kinds_are_refused_with_their_path(refused, values, path):
    assert path in refused(values)


CONTRADICTIONS = [
    ({"replicas": 0}, "replicas: is 0, a cluster has 1 to 32 nodes"),
    ({"replicas": 33}, "replicas: is 33, a cluster has 1 to 32 nodes"),
    ({"persistence": {"enabled": False}}, "persistence.enabled: must be true: the disk of a node holds its vote"),
    ({"persistence": {"size": "1.5Gi"}}, "persistence.size: `1.5Gi` must be a whole number"),
    ({"persistence": {"size": "10Mi"}}, "node.ledger.bytesMax: is 7864320, at least 16777216"),
    ({"node": {"ledger": {"bytesMax": 20 << 30}}}, "leave no room on a disk of 20Gi"),
    ({"ingress": {"enabled": True}}, "ingress.hosts: at least one host is needed"),
    ({"ingress": {"enabled": True, "hosts": [{"paths": []}]}}, "ingress.hosts: each needs a `host`"),
    ({"httpRoute": {"enabled": True}}, "httpRoute.parentRefs: at least one gateway is needed"),
    ({"tls": {"enabled": True}}, "tls.enabled: needs a certificate"),
    ({"tls": {"existingSecret": "x"}}, "tls: a certificate is given, and not served"),
    ({"tls": {"enabled": True, "existingSecret": "x", "certManager": {"enabled": True}}}, "tls: set one of"),
    ({"tls": {"enabled": True, "certManager": {"enabled": True}}}, "tls.certManager.issuerRef: needs the name"),
    ({"mesh": {"tls": {"existingSecret": "x", "certManager": {"enabled": True}}}}, "mesh.tls: set one of"),
    ({"secrets": {"keys": {"keyEncryptionKeyPrevious": "x"}}}, "needs secrets.existingSecret"),
    ({"document": {"content": {"providers": {}}, "existingConfigMap": "x"}}, "document: set one of"),
    ({"document": {"watch": True}}, "document.watch: is for a document that is the only source"),
    ({"service": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}}, "service.loadBalancerSourceRanges: is for service.type LoadBalancer"),
    ({"service": {"loadBalancerClass": "x"}}, "service.loadBalancerClass: is for service.type LoadBalancer"),
    ({"service": {"nodePort": 30080}}, "service: nodePort and externalTrafficPolicy"),
    ({"podDisruptionBudget": {"minAvailable": 2, "maxUnavailable": 1}}, "podDisruptionBudget: set one of"),
    ({"podDisruptionBudget": {"minAvailable": 3}}, "is 3 of 3 nodes: no machine could ever be drained"),
    ({"podDisruptionBudget": {"minAvailable": 1}}, "lets 2 of 3 nodes go at once; more than 1 would take the majority"),
    ({"replicas": 9, "podDisruptionBudget": {"maxUnavailable": 4}}, "lets 4 of 9 nodes go at once; more than 3"),
    ({"terminationGracePeriodSeconds": 900}, "terminationGracePeriodSeconds: is 900, at least 920 are needed"),
    ({"traces": {"sample": 0.5}}, "traces.sample: is of no use without otlp.endpoint"),
    ({"otlp": {"ca": "/a"}}, "otlp: headers, ca and resource are of no use without otlp.endpoint"),
    ({"metrics": {"pushIntervalMs": 0}}, "metrics.pushIntervalMs: is of no use without otlp.endpoint"),
    ({"otlp": {"ca": "/a", "endpoint": "http://a:4317"}}, "otlp.ca: is for an otlp.endpoint with https"),
    ({"extraEnv": [{"name": "TRESTLE_SEEDS", "value": "x"}]}, "extraEnv: TRESTLE_SEEDS is set by the chart already"),
    ({"extraEnv": [{"name": "POD_IP", "value": "x"}]}, "extraEnv: POD_IP is set by the chart already"),
    ({"providerKeys": {"env": {"TRESTLE_X": {"name": "a", "key": "b"}}}}, "names with TRESTLE_ are settings of the node"),
    ({"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}, "enable one, otherwise each series is there twice"),
    ({"backup": {"enabled": True, "persistence": {"enabled": False}}}, "backup: needs a place"),
    ({"tests": {"request": {"model": "chat"}}}, "tests.request.keySecret: needs the secret"),
    ({"tests": {"request": {"keySecret": {"name": "a", "key": "b"}}}}, "tests.request.model: needs the name of a model"),
    (
        {"tls": {"enabled": True, "existingSecret": "x"}, "tests": {"request": {"model": "m", "keySecret": {"name": "a", "key": "b"}}}},
        "tests.request.url: is needed",
    ),
    ({"serviceAccount": {"create": False}, "identity": {"aws": {"roleArn": "x"}}}, "identity: is written to the service account"),
    ({"identity": {"azure": {"tenantId": "x"}}}, "identity.azure.tenantId: needs identity.azure.clientId"),
]


@pytest.mark.parametrize(("values", "text"), CONTRADICTIONS, ids=lambda of: of if isinstance(of, str) else "")
def test_contradictions_are_refused_with_a_reason(refused, values, text):
    assert text in refused(values)


def test_every_reason_is_tested(refused):
    templates = "".join(path.read_text() for path in (CHART / "templates").glob("*.tpl"))
    reasons = re.findall(r'fail (?:\(printf )?"([^"]+)"', templates)
    assert len(reasons) == templates.count("fail ") > 30
    said = "\n".join(refused(values) for values, _ in CONTRADICTIONS)
    for reason in reasons:
        assert re.search(re.sub("%[ds]", ".+", re.escape(reason)), said), f"no test sees: {reason}"


@pytest.mark.parametrize(("replicas", "least"), [(1, None), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (7, 6), (8, 7), (9, 8)])
def test_nodes_go_one_after_another(render, replicas, least):
    budget = render({"replicas": replicas}).of("PodDisruptionBudget")
    assert (budget and budget["spec"]["minAvailable"]) == least
    if budget:
        assert "maxUnavailable" not in budget["spec"]
        assert budget["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"] == "node"


@pytest.mark.parametrize("name", SETS)
def test_clients_reach_the_port_of_clients_alone(render, name):
    manifests = render(SETS[name])
    services = {of["metadata"]["name"].removeprefix("demo-trestle"): of["spec"] for of in manifests.all if of["kind"] == "Service"}
    ports = {name: {port["targetPort"] for port in of["ports"]} for name, of in services.items()}
    assert ports == {"": {"http"}, "-headless": {"gossip", "grpc"}, "-admin": {"admin"}}
    assert services["-headless"]["clusterIP"] == "None" and services["-headless"]["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in services[""] and "publishNotReadyAddresses" not in services["-admin"]
    assert services["-admin"]["type"] == "ClusterIP" and services["-headless"]["type"] == "ClusterIP"
    for way in ("Ingress", "HTTPRoute"):
        found = manifests.of(way)
        if found:
            assert set(re.findall(r"demo-trestle[-\w]*", json.dumps(found["spec"]))) == {"demo-trestle"}


@pytest.mark.parametrize("name", SETS)
def test_every_name_that_is_used_is_there_or_of_the_operator(render, name):
    """Services select pods of nodes, and what is mounted or asked is made here or named in the values."""
    manifests = render(SETS[name])
    given = json.dumps(SETS[name])
    made = {(of["kind"], of["metadata"]["name"]) for of in manifests.all}
    made |= {("Secret", of["spec"]["secretName"]) for of in manifests.all if of["kind"] == "Certificate"}
    text = json.dumps(manifests.all)
    used = {("Secret", of) for of in re.findall(r'"secretName": "([^"]+)"', text)}
    used |= {("Secret", of) for of in re.findall(r'"secretKeyRef": {[^}]*"name": "([^"]+)"', text)}
    used |= {("ConfigMap", of) for of in re.findall(r'"configMap": {"name": "([^"]+)"', text)}
    used |= {("PersistentVolumeClaim", of) for of in re.findall(r'"claimName": "([^"]+)"', text)}
    used |= {("ServiceAccount", of) for of in re.findall(r'"serviceAccountName": "([^"]+)"', text)}
    assert {of for of in used - made if f'"{of[1]}"' not in given} == set()
    labels = manifests.pod()["metadata"]["labels"]
    for service in (of for of in manifests.all if of["kind"] == "Service"):
        assert service["spec"]["selector"].items() <= labels.items()
        assert service["spec"]["selector"]["app.kubernetes.io/component"] == "node"
    for job in (of for of in manifests.all if of["kind"] in ("Job", "Pod")):
        pod = job["metadata"] if job["kind"] == "Pod" else job["spec"]["template"]["metadata"]
        assert pod["labels"]["app.kubernetes.io/component"] != "node", "services and the budget would count it"


def test_mesh_and_gossip_are_for_nodes_of_the_release(render):
    policy = render({"networkPolicy": {"clients": [{"podSelector": {}}], "admin": [{"namespaceSelector": {}}]}}).of("NetworkPolicy")["spec"]
    rules = {tuple(port["port"] for port in rule["ports"]): rule.get("from") for rule in policy["ingress"]}
    nodes = {"app.kubernetes.io/name": "trestle", "app.kubernetes.io/instance": "demo", "app.kubernetes.io/component": "node"}
    assert rules[(10101, 10102)] == [{"podSelector": {"matchLabels": nodes}}]
    assert rules[(8080,)] == [{"podSelector": {}}]
    release = {name: of for name, of in nodes.items() if not name.endswith("component")}
    assert rules[(8081,)] == [{"podSelector": {"matchLabels": release}}, {"namespaceSelector": {}}]
    assert policy["policyTypes"] == ["Ingress"] and policy["podSelector"]["matchLabels"] == nodes
    assert "from" not in [rule for rule in render().of("NetworkPolicy")["spec"]["ingress"] if rule["ports"][0]["port"] == 8080][0]
    assert render({"networkPolicy": {"enabled": False}}).of("NetworkPolicy") is None


def test_a_number_of_nodes_does_not_roll_the_pods(render):
    few, many = render(), render({"replicas": 5})
    assert few.pod() == many.pod()
    assert few.of("ConfigMap", "-node")["data"] == {"node.toml": "bootstrap_expect = 3\n"}
    assert many.of("ConfigMap", "-node")["data"] == {"node.toml": "bootstrap_expect = 5\n"}


def test_the_grace_is_above_the_drain(render):
    for drain, sleep in [(900, 5), (30, 0), (3600, 60)]:
        pod = render({"node": {"drainSeconds": drain, "preStopSeconds": sleep}})
        assert pod.pod()["spec"]["terminationGracePeriodSeconds"] == drain + sleep + 30
        assert pod.environment()["TRESTLE_DRAIN_MS"] == str(drain * 1000)
        assert ("lifecycle" in pod.container()) == (sleep > 0)


def test_the_ledger_fits_on_the_disk(render):
    assert render().environment()["TRESTLE_LEDGER_BYTES_MAX"] == str(15 << 30)
    assert render({"persistence": {"size": "100G"}}).environment()["TRESTLE_LEDGER_BYTES_MAX"] == str(75 * 10**9)
    assert render({"node": {"ledger": {"bytesMax": 17179869184}}}).environment()["TRESTLE_LEDGER_BYTES_MAX"] == "17179869184"


def test_telemetry(render):
    environment = render({
        "otlp": {"endpoint": "http://a:4317", "resource": {"b": "x,y", "a": "100%"}, "headers": {"authorization": "env:TOKEN"}},
        "traces": {"sample": 0, "errors": False, "include": ["route", "relay"]},
        "metrics": {"pushIntervalMs": 5000000, "keysMax": 0},
    }).environment()
    told = {name: of for name, of in environment.items() if name.startswith(("TRESTLE_OTLP", "TRESTLE_TRACES", "TRESTLE_METRICS"))}
    assert told == {
        "TRESTLE_OTLP_ENDPOINT": "http://a:4317",
        "TRESTLE_OTLP_PROTOCOL": "grpc",
        "TRESTLE_OTLP_HEADERS": "authorization=env:TOKEN",
        "TRESTLE_OTLP_RESOURCE": "a=100%25,b=x%2Cy",
        "TRESTLE_TRACES_SAMPLE": "0",
        "TRESTLE_TRACES_ERRORS": "false",
        "TRESTLE_TRACES_INCLUDE": "route,relay",
        "TRESTLE_METRICS_PUSH_INTERVAL_MS": "5000000",
        "TRESTLE_METRICS_KEYS_MAX": "0",
    }
    assert not [name for name in render().environment() if name.startswith(("TRESTLE_OTLP", "TRESTLE_TRACES", "TRESTLE_METRICS"))]


def test_probes_ask_the_admin_listener(render):
    container = render().container()
    paths = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {of["port"] for of in paths.values()} == {"admin"}
    assert [of["path"] for of in paths.values()] == ["/healthz", "/healthz", "/readyz"]
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 600


def test_images(render):
    image = lambda values: render(values).container()["image"]
    digest = "sha256:" + "0" * 64
    assert image({}) == "trestle:0.1.0"
    assert image({"image": {"registry": "a.example", "tag": "x"}}) == "a.example/trestle:x"
    assert image({"image": {"registry": "a.example", "digest": digest}, "global": {"imageRegistry": "b"}}) == f"b/trestle@{digest}"
    pod = render({"global": {"imagePullSecrets": ["a"]}, "image": {"pullSecrets": ["b", "a"]}}).pod()
    assert pod["spec"]["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


def test_the_document_rolls_the_pods_only_where_they_read_it(render):
    def checksum(**document):
        return render({"document": document}).pod()["metadata"].get("annotations", {}).get("checksum/document")

    one, two = {"models": {}}, {"teams": {}}
    assert checksum(content=one) is None
    assert checksum(content=one, authoritative=True, watch=True) is None
    assert checksum(content=one, authoritative=True) != checksum(content=two, authoritative=True)
    environment = render({"document": {"authoritative": True, "watch": True}}).environment()
    assert environment["TRESTLE_AUTHORITATIVE"] == environment["TRESTLE_WATCH"] == "true"


def test_identities_of_clouds(render):
    account = lambda name: render(SETS[name]).of("ServiceAccount")["metadata"]["annotations"]
    assert account("eks") == {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/trestle"}
    assert account("gke") == {"iam.gke.io/gcp-service-account": "trestle@example-project.iam.gserviceaccount.com"}
    assert set(account("aks")) == {"azure.workload.identity/client-id", "azure.workload.identity/tenant-id"}
    assert render(SETS["aks"]).pod()["metadata"]["labels"]["azure.workload.identity/use"] == "true"


def test_advice_on_the_number_of_nodes(render):
    notes = lambda **values: render(values).notes
    assert "survives no loss" in notes(replicas=1)
    assert "4 is an even number. 3 nodes vote, and 1 of them may be lost: as many as with 3 nodes" in notes(replicas=4)
    assert "even number" not in notes(replicas=3)
    assert "2 of those who vote may be lost at once" in notes(replicas=5)
    assert "Seven nodes vote at most" in notes(replicas=9)


def test_warnings(render):
    notes = lambda **values: " ".join(render(values).notes.split())
    assert "WARNING" not in notes()
    long = {"settings": {"timeouts": {"total_ms": 1800000}}}
    assert "requests may take 1800 s by the document, but only 900 s" in notes(document={"content": long})
    assert "name Prometheus in networkPolicy.admin" in notes(podMonitor={"enabled": True})
    assert "changes of the values have no effect" in notes()
    assert "changes of the values have no effect" not in notes(document={"authoritative": True})


def test_values_are_all_in_the_schema_and_the_other_way_round():
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(values, schema, path):
        members = schema.get("properties")
        if members is None or schema.get("additionalProperties", True) is not False and path != "global":
            return
        # Kubernetes' own, of which we say a part.
        if values and path not in ("resources", "jobResources"):
            assert set(values) == set(members), path
        for name, of in values.items():
            if isinstance(of, dict):
                compare(of, members[name], name)

    compare(values, SCHEMA, "values")


def closed(schema, path=""):
    """Paths of maps that are ours and take any name."""
    if schema.get("type") == "object" and "properties" in schema and schema.get("additionalProperties") is not False:
        yield path
    for name, of in schema.get("properties", {}).items():
        yield from closed(of, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from closed(schema["items"], f"{path}[]")


def test_the_schema_is_closed():
    # A parent chart puts what it likes into `global`.
    assert list(closed(SCHEMA)) == [".global"]
