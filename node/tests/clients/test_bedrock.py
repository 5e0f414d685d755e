"""The official client of Amazon Bedrock (boto3), unchanged but for its endpoint, against each kind of provider."""

import base64
import json

import botocore.exceptions
import pytest

from conftest import DIRECT, KEY, PNG, URL, Kind, bedrock, gateway_only, signing_bedrock
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"


def kinds(*names):
    return kinds_of(*names, native="bedrock")


every_kind = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere", "mock")
remote_kinds = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere")


def ask(*blocks, text=TEXT):
    return [{"role": "user", "content": [{"text": text}, *blocks]}]


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"toolSpec": {"name": name, "description": f"The {name}", "inputSchema": {"json": schema}}}


WEATHER = tool("weather", city={"type": "string"})
CLOCK = tool("clock", zone={"type": "string"})
NOW = tool("now")
IMAGE = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}
CLAUDE_THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def text_of(message):
    return "".join(block.get("text", "") for block in message["content"])


def read(stream):
    """The message, the stop reason, the metadata and the names of the events of a stream."""
    blocks, names, stop, metadata = {}, [], None, None
    for event in stream:
        (name,) = event
        names.append(name)
        body = event[name]
        if name == "contentBlockStart":
            assert body["contentBlockIndex"] == len(blocks)
            blocks[body["contentBlockIndex"]] = {"toolUse": {**body["start"]["toolUse"], "input": ""}}
        elif name == "contentBlockDelta":
            assert body["contentBlockIndex"] in (len(blocks) - 1, len(blocks))
            add(blocks.setdefault(body["contentBlockIndex"], {}), body["delta"])
        elif name == "messageStop":
            stop = body
        elif name == "metadata":
            metadata = body
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return {"role": "assistant", "content": list(blocks.values())}, stop, metadata, names


def add(block, delta):
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        thought = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
        for name, text in delta["reasoningContent"].items():
            thought[name] = thought.get(name, "") + text


def said(client, streamed, **asked):
    """The message and the stop reason, streamed or not."""
    if streamed:
        message, stop, _, _ = read(client.converse_stream(**asked)["stream"])
        return message, stop["stopReason"]
    answer = client.converse(**asked)
    return answer["output"]["message"], answer["stopReason"]


# Messages


@every_kind
def test_converse(bedrock_client, kind):
    answer = bedrock_client.converse(modelId=kind.model(), messages=ask())
    assert answer["output"]["message"] == {"role": "assistant", "content": [{"text": TEXT}]}
    assert answer["stopReason"] == "end_turn"
    usage = answer["usage"]
    assert usage["inputTokens"] > 0 and usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]
    assert answer["metrics"]["latencyMs"] >= 0


@remote_kinds
def test_system(bedrock_client, kind, upstream):
    system = [{"text": "Be brief."}]
    answer = bedrock_client.converse(modelId=kind.model(), system=system, messages=ask())
    assert text_of(answer["output"]["message"]) == TEXT
    assert "Be brief." in upstream.last()["body"]


@kinds("anthropic", "bedrock")
def test_cache_points(bedrock_client, kind, upstream):
    mark = {"cachePoint": {"type": "default"}}
    bedrock_client.converse(modelId=kind.model(), system=[{"text": "Be brief."}, mark], messages=ask(mark))
    sent = upstream.last()["json"]
    if kind.name == "anthropic":
        assert sent["system"][0]["cache_control"] == sent["messages"][0]["content"][0]["cache_control"]
    else:
        assert sent["system"][1] == sent["messages"][0]["content"][1] == mark


# Responses has no stop sequences, and no limit so low.
@kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "cohere")
def test_stop_and_length(bedrock_client, kind):
    asked = {"modelId": kind.model(), "messages": ask(text="one END two")}
    paths = ["/stop_sequence"] if kind.name == "bedrock" else []
    stopped = bedrock_client.converse(
        inferenceConfig={"stopSequences": ["END"]}, additionalModelResponseFieldPaths=paths, **asked
    )
    assert text_of(stopped["output"]["message"]) == "one "
    if kind.name in ("anthropic", "bedrock"):
        assert stopped["stopReason"] == "stop_sequence"
        assert stopped["additionalModelResponseFields"] == {"stop_sequence": "END"}
    cut = bedrock_client.converse(inferenceConfig={"maxTokens": 1}, **asked)
    assert (text_of(cut["output"]["message"]), cut["stopReason"]) == ("one ", "max_tokens")


@kinds("bedrock", "gemini", "anthropic", "openai")
def test_refusal(bedrock_client, kind):
    answer = bedrock_client.converse(modelId=kind.model("refusal"), messages=ask())
    assert text_of(answer["output"]["message"]) == "I'm sorry, I cannot help with that."
    assert answer["stopReason"] in ("content_filtered", "end_turn")


@remote_kinds
def test_cached_tokens_stand_beside_input(bedrock_client, kind):
    plain = bedrock_client.converse(modelId=kind.model(), messages=ask())["usage"]
    cached = bedrock_client.converse(modelId=kind.model("cached=3"), messages=ask())["usage"]
    assert cached["cacheReadInputTokens"] == 3
    assert (cached["inputTokens"] + 3, cached["totalTokens"]) == (plain["inputTokens"], plain["totalTokens"])


@every_kind
def test_large_prompt(bedrock_client, kind):
    text = 'a "quoted" \\ line\n世界 🎉 \u2028' * 4000
    message, _ = said(bedrock_client, False, modelId=kind.model(), messages=ask(text=text),
                      inferenceConfig={"maxTokens": 100_000})
    assert text_of(message) == text


@gateway_only
@every_kind
def test_prefixed_endpoint(kind):
    answer = bedrock("/bedrock").converse(modelId=kind.model(), messages=ask())
    assert text_of(answer["output"]["message"]) == TEXT


# Streams


@every_kind
def test_stream_events(bedrock_client, kind):
    stream = bedrock_client.converse_stream(modelId=kind.model(), messages=ask())["stream"]
    message, stop, metadata, names = read(stream)
    assert message == {"role": "assistant", "content": [{"text": TEXT}]}
    assert names[0] == "messageStart" and names[-3:] == ["contentBlockStop", "messageStop", "metadata"]
    assert names.count("messageStart") == names.count("messageStop") == 1
    assert names.count("contentBlockDelta") > 1
    assert stop["stopReason"] == "end_turn"
    usage = metadata["usage"]
    assert usage["inputTokens"] > 0 and usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]
    assert "latencyMs" in metadata["metrics"]


@remote_kinds
@pytest.mark.parametrize("form", ["crlf", "comment", "dribble"])
def test_stream_forms(bedrock_client, kind, form):
    message, _ = said(bedrock_client, True, modelId=kind.model(form), messages=ask(text="short 世界"))
    assert text_of(message) == "short 世界"


@gateway_only
@remote_kinds
def test_compressed_upstream(bedrock_client, kind):
    for streamed in (False, True):
        message, _ = said(bedrock_client, streamed, modelId=kind.model("gzip"), messages=ask())
        assert text_of(message) == TEXT


@kinds("anthropic", "bedrock")
def test_stop_sequence_of_a_stream(bedrock_client, kind):
    stream = bedrock_client.converse_stream(
        modelId=kind.model(), messages=ask(text="one END two"), inferenceConfig={"stopSequences": ["END"]},
        additionalModelResponseFieldPaths=["/delta/stop_sequence"],
    )["stream"]
    _, stop, _, _ = read(stream)
    assert stop["stopReason"] == "stop_sequence"
    assert "END" in json.dumps(stop["additionalModelResponseFields"])


# Tools


def turn(message, *contents):
    """The assistant's message as it came, and the results of its tools in one message."""
    uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    assert len(uses) == len(contents)
    results = [
        {"toolResult": {"toolUseId": use["toolUseId"], "content": content}} for use, content in zip(uses, contents)
    ]
    return [message, {"role": "user", "content": results}]


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_over_two_turns(bedrock_client, kind, streamed):
    messages = ask(text="call two tools with text")
    asked = {"modelId": kind.model(), "toolConfig": {"tools": [WEATHER, CLOCK]}}
    first, stop = said(bedrock_client, streamed, messages=messages, **asked)
    assert stop == "tool_use" and text_of(first) == "call two tools with text"
    uses = [block["toolUse"] for block in first["content"] if "toolUse" in block]
    assert [(use["name"], use["input"]) for use in uses] == [
        ("weather", {"city": "call two tools with text"}),
        ("clock", {"zone": "call two tools with text"}),
    ]
    assert uses[0]["toolUseId"] != uses[1]["toolUseId"]
    messages += turn(first, [{"text": "21 degrees"}], [{"text": "noon"}])
    second, stop = said(bedrock_client, streamed, messages=messages, **asked)
    assert (text_of(second), stop) == ("The tool said: 21 degrees and noon", "end_turn")


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tool_without_arguments(bedrock_client, kind, streamed):
    messages, asked = ask(text="call empty tool"), {"modelId": kind.model(), "toolConfig": {"tools": [NOW]}}
    first, _ = said(bedrock_client, streamed, messages=messages, **asked)
    assert [block["toolUse"]["input"] for block in first["content"]] == [{}]
    second, _ = said(bedrock_client, streamed, messages=messages + turn(first, [{"text": "noon"}]), **asked)
    assert text_of(second) == "The tool said: noon"


@gateway_only
@kinds("openai", "anthropic", "bedrock")
def test_tool_arguments_are_streamed(bedrock_client, kind):
    stream = bedrock_client.converse_stream(
        modelId=kind.model(), messages=ask(text="call tool for a city with a long name"),
        toolConfig={"tools": [WEATHER]},
    )["stream"]
    deltas = [event["contentBlockDelta"]["delta"] for event in stream if "contentBlockDelta" in event]
    assert len([delta for delta in deltas if delta.get("toolUse", {}).get("input")]) > 4


@gateway_only
@kinds("mock")
def test_tools_of_the_built_in_mock(bedrock_client, kind):
    messages, asked = ask(text="hello"), {"modelId": kind.model(), "toolConfig": {"tools": [WEATHER]}}
    first, stop = said(bedrock_client, False, messages=messages, **asked)
    assert stop == "tool_use"
    second, _ = said(bedrock_client, False, messages=messages + turn(first, [{"text": "21 degrees"}]), **asked)
    assert "21 degrees" in text_of(second)


@remote_kinds
def test_tool_choice(bedrock_client, kind):
    for choice, expected in (({"tool": {"name": "clock"}}, ["clock"]), ({"any": {}}, ["weather"]), ({"auto": {}}, [])):
        message, _ = said(
            bedrock_client, False, modelId=kind.model(), messages=ask(text="hello"),
            toolConfig={"tools": [WEATHER, CLOCK], "toolChoice": choice},
        )
        assert [block["toolUse"]["name"] for block in message["content"] if "toolUse" in block] == expected


@remote_kinds
@pytest.mark.parametrize("content", [[{"text": "a map"}, IMAGE], [{"json": {"temperature": 21}}]], ids=["image", "json"])
def test_content_of_tool_results(bedrock_client, kind, content):
    messages, asked = ask(text="call tool"), {"modelId": kind.model(), "toolConfig": {"tools": [WEATHER]}}
    first, _ = said(bedrock_client, False, messages=messages, **asked)
    second, _ = said(bedrock_client, False, messages=messages + turn(first, content), **asked)
    assert ("(saw 1 images)" if len(content) == 2 else "21") in text_of(second)


# What else goes in and comes out


@remote_kinds
def test_images(bedrock_client, kind):
    message, _ = said(bedrock_client, False, modelId=kind.model(), messages=ask(IMAGE, text="look"))
    assert text_of(message) == "look (saw 1 images)"


# Cohere takes plain text only.
@kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses")
def test_documents(bedrock_client, kind, upstream):
    document = {"document": {"format": "pdf", "name": "A report", "source": {"bytes": b"%PDF-1.7 report"}}}
    message, _ = said(bedrock_client, False, modelId=kind.model(), messages=ask(document, text="read"))
    assert text_of(message).startswith("read")
    assert base64.b64encode(b"%PDF-1.7 report").decode() in upstream.last()["body"]


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_json_schema(bedrock_client, kind, streamed):
    schema = {
        "type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": False,
    }
    text = {"type": "json_schema", "structure": {"jsonSchema": {"name": "person", "schema": json.dumps(schema)}}}
    message, _ = said(
        bedrock_client, streamed, modelId=kind.model(), messages=ask(text="Ada"), outputConfig={"textFormat": text}
    )
    assert json.loads(text_of(message)) == {"name": "Ada", "age": 1}


@kinds("anthropic", "bedrock", "gemini", "gemini-3")
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_over_two_turns(bedrock_client, kind, streamed):
    messages = ask(text="call tool redacted")
    asked = {
        "modelId": kind.model(), "toolConfig": {"tools": [WEATHER]}, "inferenceConfig": {"maxTokens": 4000},
        "additionalModelRequestFields": CLAUDE_THINKING,
    }
    first, _ = said(bedrock_client, streamed, messages=messages, **asked)
    thought = first["content"][0]["reasoningContent"]["reasoningText"]
    assert thought["text"] == "The user wrote: call tool redacted"
    if kind.name in ("anthropic", "bedrock"):
        assert thought["signature"] and first["content"][1]["reasoningContent"]["redactedContent"]
    # The upstream checks that each signature fits its thought, or its call.
    second, _ = said(bedrock_client, streamed, messages=messages + turn(first, [{"text": "noon"}]), **asked)
    assert text_of(second) == "The tool said: noon"


# Errors


@gateway_only
def test_unknown_key(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "sk-nobody")
    stranger = bedrock()
    with pytest.raises(stranger.exceptions.AccessDeniedException) as caught:
        stranger.converse(modelId=Kind("bedrock").model(), messages=ask())
    assert "sk-nobody" not in str(caught.value)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 401


@gateway_only
@pytest.mark.parametrize("model", ["no-such-model", "nowhere/claude"])
def test_unknown_model(bedrock_client, model):
    with pytest.raises(bedrock_client.exceptions.ResourceNotFoundException) as caught:
        bedrock_client.converse(modelId=model, messages=ask())
    assert model in str(caught.value)


@every_kind
def test_bad_request(kind):
    lax = bedrock(validation=False)
    with pytest.raises(lax.exceptions.ValidationException) as caught:
        lax.converse(modelId=kind.model(), messages=[{"role": "king", "content": [{"text": "x"}]}])
    assert "messages" in str(caught.value)


@kinds("bedrock")
def test_bad_request_of_the_upstream(bedrock_client, kind):
    assistant = [{"role": "assistant", "content": [{"text": "x"}]}]
    with pytest.raises(bedrock_client.exceptions.ValidationException) as caught:
        bedrock_client.converse(modelId=kind.model(), messages=assistant)
    assert "must start with a user message" in str(caught.value)


@remote_kinds
def test_rate_limit(bedrock_client, kind):
    with pytest.raises(bedrock_client.exceptions.ThrottlingException) as caught:
        bedrock_client.converse(modelId=kind.limited(60), messages=ask())
    told = caught.value.response["ResponseMetadata"]
    assert told["HTTPStatusCode"] == 429 and 1 <= int(told["HTTPHeaders"]["retry-after"]) <= 60


@remote_kinds
@pytest.mark.parametrize("settings", ["status=500", "html_error", "cause=overloaded"])
def test_upstream_failure(bedrock_client, kind, settings):
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        bedrock_client.converse(modelId=kind.model(settings), messages=ask())
    told = caught.value.response
    assert told["ResponseMetadata"]["HTTPStatusCode"] >= 500
    if not (DIRECT and settings == "html_error"):
        assert told["Error"]["Code"] in ("InternalServerException", "ServiceUnavailableException")
        assert told["Error"]["Message"]


@remote_kinds
def test_causes_become_the_exceptions_of_the_vendor(bedrock_client, kind):
    causes = {"context_length": "ValidationException", "content_policy": "ValidationException",
              "model_not_found": "ResourceNotFoundException"}
    for cause, code in causes.items():
        with pytest.raises(botocore.exceptions.ClientError) as caught:
            bedrock_client.converse(modelId=kind.model(f"cause={cause}"), messages=ask())
        assert caught.value.response["Error"]["Code"] == code, cause
        assert ("too long" in str(caught.value)) == (cause == "context_length")


# Streams that fail


@remote_kinds
def test_error_before_content(bedrock_client, kind):
    # Straight at the vendor it is an exception inside of the stream; the gateway can still tell it by the status.
    with pytest.raises(botocore.exceptions.EventStreamError if DIRECT else botocore.exceptions.ClientError):
        read(bedrock_client.converse_stream(modelId=kind.model("error_event"), messages=ask())["stream"])


@remote_kinds
@pytest.mark.parametrize("failure", ["error_event_mid=2", "reset_mid=2", "cut_mid=2", "close_mid=2"])
def test_failure_in_mid_stream_is_an_error(bedrock_client, kind, failure):
    if DIRECT and failure == "close_mid=2":
        pytest.skip("the client itself does not miss the end")
    stream = bedrock_client.converse_stream(
        modelId=kind.model(f"tokens=50+gap_ms=1+{failure}"), messages=ask()
    )["stream"]
    texts, names = [], []
    # Straight at the mock a broken connection comes up as the transport's own error.
    with pytest.raises(Exception if DIRECT else botocore.exceptions.EventStreamError):
        for event in stream:
            names += event
            texts += [event["contentBlockDelta"]["delta"]["text"]] if "contentBlockDelta" in event else []
    assert texts == ["word0 ", "word1 "] and "messageStop" not in names


# Fallbacks


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("group", ["fallback", "fallback-silent", "fallback-in-stream", "fallback-limited"])
def test_fallback(bedrock_client, group, streamed):
    if group == "fallback-in-stream" and not streamed:
        pytest.skip("an error inside of a stream")
    call = bedrock_client.converse_stream if streamed else bedrock_client.converse
    answer = call(modelId=group, messages=ask())
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    assert (headers["x-trestle-provider"], headers["x-trestle-attempts"]) == ("anthropic", "2")
    message = read(answer["stream"])[0] if streamed else answer["output"]["message"]
    assert text_of(message) == TEXT


@gateway_only
def test_when_all_fail_every_attempt_is_told(bedrock_client):
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        bedrock_client.converse(modelId="all-fail", messages=ask())
    # The client shows no member of the body but the message.
    assert "(after 2 attempts)" in str(caught.value)
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["x-trestle-attempts"] == "2"


# Time


@remote_kinds
def test_client_timeout(kind):
    with pytest.raises(botocore.exceptions.ReadTimeoutError):
        bedrock(seconds=0.2).converse_stream(modelId=kind.model("silent"), messages=ask())


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
def test_first_token_timeout(bedrock_client, streamed):
    with pytest.raises(bedrock_client.exceptions.ModelTimeoutException):
        said(bedrock_client, streamed, modelId="impatient/gpt-4o-mini+silent", messages=ask())


@remote_kinds
def test_closing_a_stream_aborts_the_upstream(bedrock_client, kind, upstream):
    stream = bedrock_client.converse_stream(
        modelId=kind.model("tokens=10000+gap_ms=5"), messages=ask(), inferenceConfig={"maxTokens": 100_000}
    )["stream"]
    next(event for event in stream if "contentBlockDelta" in event)
    stream.close()
    upstream.wait_aborted()


# Headers


@gateway_only
@every_kind
def test_headers_of_the_answer(bedrock_client, kind):
    told = bedrock_client.converse(modelId=kind.model(), messages=ask())["ResponseMetadata"]
    provider, _, model = kind.model().partition("/")
    headers = told["HTTPHeaders"]
    assert (headers["x-trestle-provider"], headers["x-trestle-model"]) == (provider, model)
    assert headers["x-trestle-attempts"] == "1" and told["RequestId"] == headers["x-request-id"]


@gateway_only
@remote_kinds
def test_what_the_upstream_sees(bedrock_client, kind, upstream):
    bedrock_client.converse(modelId=kind.model(), messages=ask())
    seen = upstream.last()
    assert KEY not in json.dumps(seen["headers"]) and KEY not in seen["body"] and KEY not in seen["path"]
    assert "sk-upstream" in json.dumps(seen["headers"])
    assert not [name for name in seen["headers"] if name.startswith(("amz-", "x-amz"))]


@gateway_only
@kinds("bedrock")
def test_same_dialect_keeps_every_member(bedrock_client, kind, upstream):
    wanted = {
        "messages": [{"role": "user", "content": [{"text": "a \u2028 <tag>"}, {"cachePoint": {"type": "default"}}]}],
        "inferenceConfig": {"maxTokens": 1000, "temperature": 0.5},
        "additionalModelRequestFields": {"top_k": 5},
        "guardrailConfig": {"guardrailIdentifier": "abc", "guardrailVersion": "1", "trace": "enabled"},
        "requestMetadata": {"team": "a"},
        "performanceConfig": {"latency": "standard"},
    }
    bedrock_client.converse(modelId=kind.model(), **wanted)
    seen = upstream.last()
    assert seen["json"] == wanted
    assert seen["path"] == "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"


@gateway_only
@kinds("openai", "anthropic", "gemini")
def test_what_cannot_be_expressed_is_named(bedrock_client, kind):
    answer = bedrock_client.converse(
        modelId=kind.model(), messages=ask(), requestMetadata={"team": "a"}, performanceConfig={"latency": "standard"}
    )
    dropped = answer["ResponseMetadata"]["HTTPHeaders"]["x-trestle-dropped"]
    assert "requestMetadata" in dropped and "performanceConfig" in dropped


@gateway_only
def test_a_client_may_sign_its_requests(upstream):
    for url in (URL, f"{URL}/bedrock"):
        client = signing_bedrock(url=url)
        for model in ("mock/echo", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "openai/gpt-4o-mini"):
            for streamed in (False, True):
                assert said(client, streamed, modelId=model, messages=ask())
    sent = {name.lower(): value for name, value in upstream.last()["headers"].items()}
    assert not any(name.startswith("x-amz") for name in sent) and "AWS4" not in sent["authorization"]


@gateway_only
def test_a_wrong_signature_is_refused():
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        signing_bedrock(secret="0" * 64).converse(modelId="mock/echo", messages=ask())
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] in (401, 403)
    assert "the signature does not match" in str(refused.value)
