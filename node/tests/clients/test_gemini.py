"""The official client of Gemini (google-genai), unchanged but for its base URL, against each kind of provider."""

import asyncio
import base64
import json
import urllib.error
import urllib.request

import httpx2
import pytest
from google.genai import errors, types
from pydantic import BaseModel

from conftest import DEADLINE_SECONDS, DIRECT, KEY, PNG, URL, Kind, gateway_only, gemini
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"


def kinds(*names):
    return kinds_of(*names, native="gemini")


every_kind = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere", "mock")
remote_kinds = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere")


def function(name, **properties):
    schema = {"type": "OBJECT", "properties": properties, "required": list(properties)} if properties else None
    return types.FunctionDeclaration(name=name, description=f"The {name}", parameters=schema)


WEATHER = function("weather", city={"type": "STRING"})
CLOCK = function("clock", zone={"type": "STRING"})
NOW = function("now")
IMAGE = types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")


class Person(BaseModel):
    name: str
    age: int


def tools(*functions):
    # Called by the test, and not by the client itself.
    return {
        "tools": [types.Tool(function_declarations=list(functions))],
        "automatic_function_calling": {"disable": True},
    }


def user(*parts):
    return types.Content(role="user", parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts])


def said(client, streamed, model, contents, **config):
    """The answer; of a stream one with all parts, and the last reason and usage."""
    asked = {"model": model, "contents": contents, "config": types.GenerateContentConfig(**config)}
    if not streamed:
        return client.models.generate_content(**asked)
    chunks = list(client.models.generate_content_stream(**asked))
    parts = [part for chunk in chunks for part in (chunk.candidates[0].content.parts or [])]
    last = chunks[-1]
    last.candidates[0].content = types.Content(role="model", parts=parts)
    return last


def finish(answer):
    return answer.candidates[0].finish_reason.name


# Content


@every_kind
def test_generate(gemini_client, kind):
    answer = gemini_client.models.generate_content(model=kind.model(), contents=TEXT)
    assert (answer.text, finish(answer)) == (TEXT, "STOP")
    assert answer.candidates[0].content.role == "model" and answer.response_id and answer.model_version
    usage = answer.usage_metadata
    assert usage.prompt_token_count > 0 and usage.candidates_token_count > 0
    assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count


@remote_kinds
def test_system_instruction(gemini_client, kind, upstream):
    assert said(gemini_client, False, kind.model(), TEXT, system_instruction="Be brief.").text == TEXT
    assert "Be brief." in upstream.last()["body"]


# Responses has no stop sequences, and no limit so low.
@kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "cohere")
def test_stop_and_length(gemini_client, kind):
    stopped = said(gemini_client, False, kind.model(), "one END two", stop_sequences=["END"])
    assert (stopped.text, finish(stopped)) == ("one ", "STOP")
    cut = said(gemini_client, False, kind.model(), "one two three", max_output_tokens=1)
    assert (cut.text, finish(cut)) == ("one ", "MAX_TOKENS")


@kinds("openai", "anthropic", "gemini", "bedrock")
def test_refusal(gemini_client, kind):
    answer = gemini_client.models.generate_content(model=kind.model("refusal"), contents=TEXT)
    assert answer.candidates[0].content.parts[0].text == "I'm sorry, I cannot help with that."
    assert finish(answer) in ("SAFETY", "STOP")


@remote_kinds
def test_cached_tokens_are_part_of_the_prompt(gemini_client, kind):
    plain = gemini_client.models.generate_content(model=kind.model(), contents=TEXT).usage_metadata
    cached = gemini_client.models.generate_content(model=kind.model("cached=3"), contents=TEXT).usage_metadata
    assert cached.cached_content_token_count == 3
    assert cached.prompt_token_count == plain.prompt_token_count


@every_kind
def test_large_prompt(gemini_client, kind):
    text = 'a "quoted" \\ line\n世界 🎉 \u2028' * 4000
    assert said(gemini_client, False, kind.model(), text, max_output_tokens=100_000).text == text


@gateway_only
@every_kind
def test_prefixed_base_url(kind):
    with gemini(f"{URL}/genai") as client:
        assert client.models.generate_content(model=kind.model(), contents=TEXT).text == TEXT


def test_async():
    async def run():
        client, model = gemini(URL).aio, Kind("gemini").model()
        asks = (client.models.generate_content(model=model, contents=f"text {n}") for n in range(20))
        answers = [answer.text for answer in await asyncio.gather(*asks)]
        stream = await client.models.generate_content_stream(model=model, contents=TEXT)
        streamed = "".join([chunk.text or "" async for chunk in stream])
        await client.aclose()
        return answers, streamed

    assert asyncio.run(run()) == ([f"text {n}" for n in range(20)], TEXT)


# Streams


@every_kind
def test_stream(gemini_client, kind):
    chunks = list(gemini_client.models.generate_content_stream(model=kind.model(), contents=TEXT))
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert "".join(texts) == TEXT and len(texts) > 1
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks if chunk.candidates]
    assert [reason.name for reason in reasons if reason] == ["STOP"] and reasons[-1]
    usage = chunks[-1].usage_metadata
    assert usage.prompt_token_count > 0 and usage.candidates_token_count > 0
    assert len({chunk.response_id for chunk in chunks}) == 1


@remote_kinds
@pytest.mark.parametrize("form", ["crlf", "cr", "nospace", "comment", "dribble", "gzip"])
def test_stream_forms(gemini_client, kind, form):
    if kind.vendor == "gemini" and form in ("nospace", "comment"):
        pytest.skip("what the vendor never sends, its client does not read")
    assert said(gemini_client, True, kind.model(form), "short 世界").text == "short 世界"


def post(path, body, **headers):
    request = urllib.request.Request(f"{URL}{path}", json.dumps(body).encode(), headers, method="POST")
    request.add_header("content-type", "application/json")
    return urllib.request.urlopen(request, timeout=DEADLINE_SECONDS)


@every_kind
def test_stream_as_an_array_with_the_key_in_the_query(kind):
    body = {"contents": [{"parts": [{"text": TEXT}]}]}
    with post(f"/v1beta/models/{kind.model()}:streamGenerateContent?key={KEY}", body) as answer:
        assert answer.headers["content-type"].startswith("application/json")
        chunks = json.load(answer)
    parts = [part for chunk in chunks for part in chunk["candidates"][0].get("content", {}).get("parts", [])]
    assert "".join(part["text"] for part in parts) == TEXT
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"


@remote_kinds
def test_an_array_that_fails_is_still_an_array(kind):
    body = {"contents": [{"parts": [{"text": TEXT}]}]}
    model = kind.model("tokens=50+error_event_mid=2")
    headers = {"x-goog-api-key": KEY}
    with post(f"/v1beta/models/{model}:streamGenerateContent", body, **headers) as answer:
        chunks = json.load(answer)
    assert [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks[:2]] == ["word0 ", "word1 "]
    assert len(chunks) == 3 and chunks[2]["error"]["message"]


# Tools


def results(answer, *responses):
    """The model's turn as it came, and the responses of its functions in one content."""
    calls = [part.function_call for part in answer.candidates[0].content.parts if part.function_call]
    assert len(calls) == len(responses)
    parts = [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"result": response}))
        for call, response in zip(calls, responses)
    ]
    return [answer.candidates[0].content, types.Content(role="user", parts=parts)]


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_over_two_turns(gemini_client, kind, streamed):
    contents, asked = [user("call two tools with text")], tools(WEATHER, CLOCK)
    first = said(gemini_client, streamed, kind.model(), contents, **asked)
    assert finish(first) == "STOP"
    text = "".join(part.text or "" for part in first.candidates[0].content.parts)
    assert text == "call two tools with text"
    calls = first.function_calls
    assert [(call.name, call.args) for call in calls] == [
        ("weather", {"city": "call two tools with text"}),
        ("clock", {"zone": "call two tools with text"}),
    ]
    # The upstream checks that what Gemini 3 has signed comes back.
    contents += results(first, "21 degrees", "noon")
    second = said(gemini_client, streamed, kind.model(), contents, **asked)
    assert second.text == "The tool said: 21 degrees and noon"


@gateway_only
@remote_kinds
def test_calls_without_ids(gemini_client, kind):
    # As clients of older models write their history.
    contents, asked = [user("call two tools")], tools(WEATHER, CLOCK)
    first = said(gemini_client, False, kind.model(), contents, **asked)
    turns = results(first, "21 degrees", "noon")
    for part in turns[0].parts + turns[1].parts:
        for named in (part.function_call, part.function_response):
            if named:
                named.id = None
    second = said(gemini_client, False, kind.model(), contents + turns, **asked)
    assert second.text == "The tool said: 21 degrees and noon"


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tool_without_arguments(gemini_client, kind, streamed):
    contents, asked = [user("call empty tool")], tools(NOW)
    first = said(gemini_client, streamed, kind.model(), contents, **asked)
    assert [call.args for call in first.function_calls] == [{}]
    second = said(gemini_client, streamed, kind.model(), contents + results(first, "noon"), **asked)
    assert second.text == "The tool said: noon"


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_chat_that_calls_python(gemini_client, kind, streamed):
    asked = []

    def weather(city: str) -> str:
        """The weather of a city."""
        asked.append(city)
        return "21 degrees"

    chat = gemini_client.chats.create(model=kind.model(), config=types.GenerateContentConfig(tools=[weather]))
    for text, expected in (("call tool", "The tool said: 21 degrees"), ("hello", "hello")):
        if streamed:
            answer = "".join(chunk.text or "" for chunk in chat.send_message_stream(text))
        else:
            answer = chat.send_message(text).text
        assert answer == expected
    assert asked == ["call tool"]


@gateway_only
@kinds("mock")
def test_tools_of_the_built_in_mock(gemini_client, kind):
    contents, asked = [user("hello")], tools(WEATHER)
    first = said(gemini_client, False, kind.model(), contents, **asked)
    second = said(gemini_client, False, kind.model(), contents + results(first, "21 degrees"), **asked)
    assert "21 degrees" in second.text


@remote_kinds
def test_tool_choice(gemini_client, kind):
    for choice, expected in (
        ({"mode": "ANY", "allowed_function_names": ["clock"]}, ["clock"]),
        ({"mode": "ANY"}, ["weather"]),
        ({"mode": "NONE"}, []),
    ):
        answer = said(
            gemini_client, False, kind.model(), "hello",
            tool_config={"function_calling_config": choice}, **tools(WEATHER, CLOCK),
        )
        assert [call.name for call in answer.function_calls or []] == expected


@kinds("openai", "anthropic", "bedrock", "gemini-3")
def test_function_response_with_image(gemini_client, kind):
    contents, asked = [user("call tool")], tools(WEATHER)
    first = said(gemini_client, False, kind.model(), contents, **asked)
    turns = results(first, "a map")
    blob = types.FunctionResponseBlob(mime_type="image/png", data=base64.b64decode(PNG))
    turns[1].parts[0].function_response.parts = [types.FunctionResponsePart(inline_data=blob)]
    second = said(gemini_client, False, kind.model(), contents + turns, **asked)
    assert "(saw 1 images)" in second.text


# What else goes in and comes out


@remote_kinds
def test_images(gemini_client, kind):
    assert said(gemini_client, False, kind.model(), [user("look", IMAGE)]).text == "look (saw 1 images)"


# Cohere takes plain text only.
@kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses")
def test_documents(gemini_client, kind, upstream):
    pdf = types.Part.from_bytes(data=b"%PDF-1.7 report", mime_type="application/pdf")
    assert said(gemini_client, False, kind.model(), [user("read", pdf)]).text.startswith("read")
    assert base64.b64encode(b"%PDF-1.7 report").decode() in upstream.last()["body"]


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", ["model", "json_schema"])
def test_json_schema(gemini_client, kind, streamed, form):
    schema = {"response_schema": Person} if form == "model" else {"response_json_schema": Person.model_json_schema()}
    answer = said(
        gemini_client, streamed, kind.model(), "Ada", response_mime_type="application/json", **schema
    )
    assert json.loads(answer.text) == {"name": "Ada", "age": 1}
    if form == "model" and not streamed:
        assert answer.parsed == Person(name="Ada", age=1)


@remote_kinds
def test_json_without_schema(gemini_client, kind):
    answer = said(gemini_client, False, kind.model(), "Ada, as JSON", response_mime_type="application/json")
    assert answer.text


@kinds("anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere")
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_over_two_turns(gemini_client, kind, streamed):
    contents = [user("call tool")]
    asked = {
        "thinking_config": types.ThinkingConfig(include_thoughts=True, thinking_budget=2000),
        "max_output_tokens": 8000, **tools(WEATHER),
    }
    first = said(gemini_client, streamed, kind.model(), contents, **asked)
    thoughts = "".join(part.text or "" for part in first.candidates[0].content.parts if part.thought)
    assert thoughts == "The user wrote: call tool"
    assert first.usage_metadata.thoughts_token_count or kind.name in ("anthropic", "bedrock", "cohere")
    # The upstream checks that each signature fits its thought, or its call.
    second = said(gemini_client, streamed, kind.model(), contents + results(first, "noon"), **asked)
    assert second.text == "The tool said: noon"


def test_count_tokens(gemini_client):
    assert gemini_client.models.count_tokens(model=Kind("gemini").model(), contents=TEXT).total_tokens > 0


def test_embed_content(gemini_client):
    model = "gemini-embedding-001" if DIRECT else "gemini/gemini-embedding-001"
    config = types.EmbedContentConfig(output_dimensionality=8, task_type="RETRIEVAL_QUERY")
    several = gemini_client.models.embed_content(model=model, contents=["a", "b"], config=config).embeddings
    one = gemini_client.models.embed_content(model=model, contents="a", config=config).embeddings
    assert [len(embedding.values) for embedding in several] == [8, 8]
    assert one[0].values == several[0].values != several[1].values


def test_models(gemini_client):
    models = {model.name for model in gemini_client.models.list()}
    assert ("models/gemini-2.5-flash" if DIRECT else "models/fallback") in models


# Errors


@gateway_only
def test_unknown_key():
    with gemini(URL, key="sk-nobody") as client, pytest.raises(errors.ClientError) as caught:
        client.models.generate_content(model=Kind("gemini").model(), contents=TEXT)
    assert (caught.value.code, caught.value.status) == (401, "UNAUTHENTICATED")
    assert "sk-nobody" not in str(caught.value)


@gateway_only
@pytest.mark.parametrize("model", ["no-such-model", "nowhere/gemini-2.5-flash"])
def test_unknown_model(gemini_client, model):
    with pytest.raises(errors.ClientError) as caught:
        gemini_client.models.generate_content(model=model, contents=TEXT)
    assert (caught.value.code, caught.value.status) == (404, "NOT_FOUND") and model in caught.value.message


@every_kind
def test_bad_request(kind):
    with pytest.raises(urllib.error.HTTPError) as caught:
        body = {"contents": [{"role": "king", "parts": [{"text": "x"}]}]}
        post(f"/v1beta/models/{kind.model()}:generateContent", body, **{"x-goog-api-key": KEY})
    told = json.load(caught.value)["error"]
    assert (caught.value.code, told["code"], told["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert "role" in told["message"]


@kinds("gemini")
def test_bad_request_of_the_upstream(gemini_client, kind):
    with pytest.raises(errors.ClientError) as caught:
        said(gemini_client, False, kind.model(), TEXT, temperature=5)
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert "temperature" in caught.value.message


@remote_kinds
def test_rate_limit(gemini_client, kind):
    with pytest.raises(errors.ClientError) as caught:
        gemini_client.models.generate_content(model=kind.limited(60), contents=TEXT)
    assert (caught.value.code, caught.value.status) == (429, "RESOURCE_EXHAUSTED")
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 60


@remote_kinds
@pytest.mark.parametrize("settings", ["status=500", "html_error", "cause=overloaded"])
def test_upstream_failure(gemini_client, kind, settings):
    with pytest.raises(errors.ServerError) as caught:
        gemini_client.models.generate_content(model=kind.model(settings), contents=TEXT)
    assert caught.value.code >= 500 and caught.value.message
    if not (DIRECT and settings == "html_error"):
        assert caught.value.status in ("INTERNAL", "UNAVAILABLE")


@remote_kinds
def test_causes_keep_their_status(gemini_client, kind):
    statuses = {"context_length": "INVALID_ARGUMENT", "content_policy": "INVALID_ARGUMENT", "model_not_found": "NOT_FOUND"}
    for cause, status in statuses.items():
        with pytest.raises(errors.ClientError) as caught:
            gemini_client.models.generate_content(model=kind.model(f"cause={cause}"), contents=TEXT)
        assert caught.value.status == status, cause


# Streams that fail


@remote_kinds
def test_error_before_content(gemini_client, kind):
    with pytest.raises(errors.APIError):
        list(gemini_client.models.generate_content_stream(model=kind.model("error_event"), contents=TEXT))


@remote_kinds
@pytest.mark.parametrize("failure", ["error_event_mid=2", "reset_mid=2", "cut_mid=2", "close_mid=2"])
def test_failure_in_mid_stream_is_an_error(gemini_client, kind, failure):
    if DIRECT and failure == "close_mid=2":
        pytest.skip("the client itself does not miss the end")
    stream = gemini_client.models.generate_content_stream(
        model=kind.model(f"tokens=50+gap_ms=1+{failure}"), contents=TEXT
    )
    texts, finished = [], []
    # Straight at the mock a broken connection comes up as the transport's own error.
    with pytest.raises(Exception if DIRECT else errors.APIError):
        for chunk in stream:
            texts += [chunk.text] if chunk.text else []
            finished += [candidate.finish_reason for candidate in chunk.candidates if candidate.finish_reason]
    assert texts == ["word0 ", "word1 "] and finished == []


# Fallbacks


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("group", ["fallback", "fallback-silent", "fallback-in-stream", "fallback-limited"])
def test_fallback(gemini_client, group, streamed):
    if group == "fallback-in-stream" and not streamed:
        pytest.skip("an error inside of a stream")
    answer = said(gemini_client, streamed, group, TEXT)
    headers = answer.sdk_http_response.headers
    assert (headers["x-trestle-provider"], headers["x-trestle-attempts"]) == ("anthropic", "2")
    assert "".join(part.text or "" for part in answer.candidates[0].content.parts) == TEXT


@gateway_only
def test_when_all_fail_every_attempt_is_told(gemini_client):
    with pytest.raises(errors.ServerError) as caught:
        gemini_client.models.generate_content(model="all-fail", contents=TEXT)
    told = json.dumps(caught.value.details)
    assert "broken/gpt-4o-mini" in told and "broken/gpt-4o" in told


# Time


@remote_kinds
def test_client_timeout(kind):
    with gemini(URL, seconds=0.2) as client, pytest.raises(httpx2.TimeoutException):
        list(client.models.generate_content_stream(model=kind.model("silent"), contents=TEXT))


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
def test_first_token_timeout(gemini_client, streamed):
    with pytest.raises(errors.ServerError) as caught:
        said(gemini_client, streamed, "impatient/gpt-4o-mini+silent", TEXT)
    assert (caught.value.code, caught.value.status) == (504, "DEADLINE_EXCEEDED")


@remote_kinds
def test_closing_a_stream_aborts_the_upstream(gemini_client, kind, upstream):
    config = types.GenerateContentConfig(max_output_tokens=100_000)
    stream = gemini_client.models.generate_content_stream(
        model=kind.model("tokens=10000+gap_ms=5"), contents=TEXT, config=config
    )
    next(stream)
    stream.close()
    upstream.wait_aborted()


# Headers


@gateway_only
@every_kind
def test_headers_of_the_answer(gemini_client, kind):
    answer = gemini_client.models.generate_content(model=kind.model(), contents=TEXT)
    provider, _, model = kind.model().partition("/")
    headers = answer.sdk_http_response.headers
    assert (headers["x-trestle-provider"], headers["x-trestle-model"]) == (provider, model)
    assert headers["x-trestle-attempts"] == "1" and headers["x-request-id"]


@gateway_only
@remote_kinds
def test_what_the_upstream_sees(gemini_client, kind, upstream):
    gemini_client.models.generate_content(model=kind.model(), contents=TEXT)
    seen = upstream.last()
    assert KEY not in json.dumps(seen["headers"]) and KEY not in seen["body"] and KEY not in seen["path"]
    assert "sk-upstream" in json.dumps(seen["headers"])
    own = "x-goog-api-key"
    assert (own in seen["headers"]) == (kind.vendor == "gemini") and "x-goog-api-client" not in seen["headers"]


@gateway_only
@kinds("gemini")
def test_same_dialect_keeps_every_member(kind, upstream):
    wanted = {
        "contents": [{"role": "user", "parts": [{"text": "1e5 \u2028 <tag>"}]}],
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "generationConfig": {"temperature": 0.5, "topK": 5, "seed": 7},
        "labels": {"team": "a"},
    }
    post(f"/v1beta/models/{kind.model()}:generateContent?key={KEY}", wanted).close()
    seen = upstream.last()
    assert seen["json"] == wanted and seen["path"] == "/v1beta/models/gemini-2.5-flash:generateContent"


@gateway_only
@kinds("openai", "anthropic", "bedrock")
def test_what_cannot_be_expressed_is_named(gemini_client, kind):
    safety = [types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")]
    answer = said(gemini_client, False, kind.model(), TEXT, safety_settings=safety)
    assert "safetySettings" in answer.sdk_http_response.headers["x-trestle-dropped"]
