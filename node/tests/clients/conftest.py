"""What the suites share: where the gateway and the mock upstream are, clients, and what the mock received.

The addresses come from the environment. With TRESTLE_TEST_DIRECT the clients talk straight to the mock upstream, each
to its own vendor: that shows that the mock is faithful; tests of the gateway alone are skipped.
"""

import json
import os
import time
import urllib.request
from dataclasses import dataclass

import anthropic
import boto3
import botocore.config
import botocore.session
import botocore.validate
import cohere
import openai
import pytest
from google import genai

import tls

URL = os.environ["TRESTLE_TEST_URL"]
KEY = os.environ["TRESTLE_TEST_KEY"]
MOCK_URL = os.environ["TRESTLE_TEST_MOCK"]
DIRECT = bool(os.environ.get("TRESTLE_TEST_DIRECT"))

# The wait for a state that must come; it is reached in milliseconds unless something is wrong.
DEADLINE_SECONDS = 10.0

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

# An upstream of each dialect, of Gemini both generations, and the mock that is built into the gateway.
MODELS = {
    "openai": "openai/gpt-4o-mini",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "gemini-3": "gemini/gemini-3-pro-preview",
    "bedrock": "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "chat": "chat/gpt-4o-mini",
    # LiteLLM takes a name that begins with `responses/` for a word of its own.
    "responses": "responses-only/gpt-5-mini",
    "cohere": "cohere/command-a-03-2025",
    "mock": "mock/echo",
}


@dataclass(frozen=True)
class Kind:
    """A kind of provider, as named in the document that the Rust side writes."""

    name: str

    def model(self, settings: str = "") -> str:
        """The model to ask for; `settings` make the upstream misbehave, as in `status=500+retry_after=2`."""
        model = MODELS[self.name] + (f"+{settings}" if settings else "")
        return model.partition("/")[2] if DIRECT else model

    def limited(self, seconds: int) -> str:
        """A model whose vendor is out of capacity for us. In the gateway with a key of its own, which is then benched."""
        if DIRECT:
            return self.model(f"status=429+retry_after={seconds}")
        provider, _, model = self.model().partition("/")
        return f"limited-{provider}/{model}"

    @property
    def vendor(self) -> str:
        """Whose API it is."""
        return {"gemini-3": "gemini", "chat": "openai", "responses": "openai"}.get(self.name, self.name)


def kinds(*names: str, native: str):
    """Parametrizes a test over kinds of providers; straight at the mock only the native one is left."""
    left = [name for name in names if not DIRECT or name.startswith(native)]
    return pytest.mark.parametrize("kind", [Kind(name) for name in left], ids=lambda kind: kind.name)


gateway_only = pytest.mark.skipif(DIRECT, reason="a matter of the gateway")


class Upstream:
    """What the mock upstream received."""

    def _read(self) -> dict:
        with urllib.request.urlopen(f"{MOCK_URL}/_mock/requests", timeout=DEADLINE_SECONDS) as answer:
            return json.load(answer)

    def requests(self) -> list[dict]:
        return self._read()["requests"]

    def last(self) -> dict:
        request = self.requests()[-1]
        return {**request, "headers": dict(request["headers"]), "json": json.loads(request["body"] or "null")}

    def clear(self) -> None:
        request = urllib.request.Request(f"{MOCK_URL}/_mock/requests", method="DELETE")
        urllib.request.urlopen(request, timeout=DEADLINE_SECONDS).close()

    def wait(self, condition, what: str):
        """Polls until the journal fulfils the condition."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            journal = self._read()
            if condition(journal):
                return journal
            time.sleep(0.01)
        raise AssertionError(f"the upstream never saw that {what}: in flight {journal['in_flight']}")

    def wait_idle(self):
        return self.wait(lambda journal: journal["in_flight"] == 0, "all calls ended")

    def wait_aborted(self):
        """Waits until the last call was aborted and none is left."""
        gone = lambda journal: journal["in_flight"] == 0 and journal["requests"][-1]["aborted"]
        return self.wait(gone, "the call was aborted")


@pytest.fixture
def upstream():
    found = Upstream()
    found.clear()
    return found


@pytest.fixture(scope="session")
def openai_client():
    with openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0, timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def anthropic_client():
    with anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0, timeout=30) as client:
        yield client


# Amazon's client looks for credentials in files and at the metadata service of the machine: it must find none there,
# and must not ask. The token is read with the first call of a client.
for name in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[name]
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
os.environ["AWS_BEARER_TOKEN_BEDROCK"] = KEY
FRONT = tls.front(URL)


def bedrock(prefix="", seconds=30, validation=True):
    """A client of Bedrock; without validation it sends what the vendor would refuse."""
    retries = {"total_max_attempts": 1}
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=FRONT.url + prefix,
        region_name="us-east-1",
        verify=FRONT.certificate,
        config=botocore.config.Config(retries=retries, read_timeout=seconds, parameter_validation=validation),
    )


def signing_bedrock(secret=None, url=URL):
    """A client of Bedrock that signs its requests with what the gateway gives to the key of the tests."""
    path = f"{URL}/api/keys/tests/aws"
    headers = {"authorization": f"Bearer {os.environ['TRESTLE_TEST_ADMIN']}"}
    request = urllib.request.Request(path, method="POST", headers=headers)
    with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as answer:
        pair = json.load(answer)
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id=pair["access_key_id"],
        aws_secret_access_key=secret or pair["secret_access_key"],
        # Else the bearer token of the environment goes before.
        config=botocore.config.Config(retries={"total_max_attempts": 1}, signature_version="v4"),
    )


@pytest.fixture(scope="session")
def bedrock_client():
    return bedrock()


def gemini(url, key=KEY, seconds=30):
    return genai.Client(api_key=key, http_options=genai.types.HttpOptions(base_url=url, timeout=int(seconds * 1000)))


@pytest.fixture(scope="session")
def gemini_client():
    with gemini(URL) as client:
        yield client


CONVERSE = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


@pytest.fixture(autouse=True)
def what_bedrock_received(request):
    """Holds what the gateway sent to Bedrock against the service's own model."""
    kind = request.node.callspec.params.get("kind") if hasattr(request.node, "callspec") else None
    if DIRECT or kind is None or kind.vendor != "bedrock":
        yield
        return
    seen = request.getfixturevalue("upstream")
    yield
    for received in seen.requests():
        if received["path"].startswith("/model/"):
            body = json.loads(received["body"])
            report = botocore.validate.ParamValidator().validate({"modelId": "m", **body}, CONVERSE.input_shape)
            assert not report.has_errors(), report.generate_report()
@pytest.fixture(scope="session")
def cohere_client():
    return cohere_at(URL)


def cohere_at(url, client=cohere.ClientV2, timeout=30):
    return client(KEY, base_url=url, timeout=timeout, max_retries=0, log_warning_experimental_features=False)


def async_openai():
    return openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0, timeout=30)


def async_anthropic():
    return anthropic.AsyncAnthropic(base_url=URL, api_key=KEY, max_retries=0, timeout=30)
