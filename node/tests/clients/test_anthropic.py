"""The official Anthropic client, unchanged but for its base URL, against each kind of provider."""

import asyncio
import json

import anthropic
import pytest
from pydantic import BaseModel

from conftest import DIRECT, KEY, PNG, URL, Kind, async_anthropic, gateway_only
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"


def kinds(*names):
    return kinds_of(*names, native="anthropic")


every_kind = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere", "mock")
remote_kinds = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere")


def ask(text=TEXT):
    return [{"role": "user", "content": text}]


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"The {name}", "input_schema": schema}


WEATHER = tool("weather", city={"type": "string"})
CLOCK = tool("clock", zone={"type": "string"})
NOW = tool("now")


class Person(BaseModel):
    name: str
    age: int


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


# Messages


@every_kind
def test_message(anthropic_client, kind):
    answer = anthropic_client.messages.create(model=kind.model(), max_tokens=1000, messages=ask())
    assert (answer.type, answer.role) == ("message", "assistant") and answer.id
    (block,) = answer.content
    assert (block.type, block.text) == ("text", TEXT)
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0


@remote_kinds
def test_system_with_cache_marks(anthropic_client, kind, upstream):
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    answer = anthropic_client.messages.create(model=kind.model(), max_tokens=1000, system=system, messages=ask())
    assert text_of(answer) == TEXT
    sent = upstream.last()["json"]
    if kind.name == "anthropic":
        assert sent["system"] == system
    elif kind.name == "bedrock":
        assert sent["system"] == [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]
    elif kind.vendor == "gemini":
        assert sent["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    else:
        first = {"role": "system", "content": sent["instructions"]} if kind.name == "responses" else sent["messages"][0]
        assert first["role"] in ("system", "developer")
        assert "Be brief." in json.dumps(first) and "cache_control" not in json.dumps(sent)


# Responses has no stop sequences, and no limit so low.
@kinds("openai", "anthropic", "cohere")
def test_stop_and_length(anthropic_client, kind):
    create = anthropic_client.messages.create
    stopped = create(model=kind.model(), max_tokens=1000, messages=ask("one END two"), stop_sequences=["END"])
    assert text_of(stopped) == "one "
    if kind.name in ("anthropic", "bedrock"):
        assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "END")
    else:
        assert stopped.stop_reason in ("end_turn", "stop_sequence")
    cut = create(model=kind.model(), max_tokens=1, messages=ask("one two three"))
    assert (text_of(cut), cut.stop_reason) == ("one ", "max_tokens")


@remote_kinds
def test_refusal(anthropic_client, kind):
    answer = anthropic_client.messages.create(model=kind.model("refusal"), max_tokens=1000, messages=ask())
    assert text_of(answer) == "I'm sorry, I cannot help with that." and answer.stop_reason in ("refusal", "end_turn")


@remote_kinds
def test_gzip(anthropic_client, kind):
    answer = anthropic_client.messages.create(model=kind.model("gzip"), max_tokens=1000, messages=ask())
    assert text_of(answer) == TEXT and answer.usage.output_tokens > 0


@remote_kinds
def test_cached_tokens_stand_beside_input(anthropic_client, kind):
    plain = anthropic_client.messages.create(model=kind.model(), max_tokens=1000, messages=ask()).usage
    cached = anthropic_client.messages.create(model=kind.model("cached=3"), max_tokens=1000, messages=ask()).usage
    assert cached.cache_read_input_tokens == 3
    assert cached.input_tokens + 3 == plain.input_tokens


@every_kind
def test_large_prompt(anthropic_client, kind):
    text = 'a "quoted" \\ line\n世界 🎉 \u2028' * 4000
    answer = anthropic_client.messages.create(model=kind.model(), max_tokens=100_000, messages=ask(text), timeout=30)
    assert text_of(answer) == text


@gateway_only
@every_kind
def test_prefixed_base_url_and_bearer_token(kind):
    with anthropic.Anthropic(base_url=f"{URL}/anthropic", auth_token=KEY, max_retries=0) as client:
        answer = client.messages.create(model=kind.model(), max_tokens=1000, messages=ask())
        assert text_of(answer) == TEXT


def test_async_message():
    async def run():
        async with async_anthropic() as client:
            model = Kind("anthropic").model()
            asks = (client.messages.create(model=model, max_tokens=99, messages=ask(f"text {n}")) for n in range(20))
            return [text_of(answer) for answer in await asyncio.gather(*asks)]

    assert asyncio.run(run()) == [f"text {n}" for n in range(20)]


# Streams


@every_kind
def test_stream_events(anthropic_client, kind):
    stream = anthropic_client.messages.create(model=kind.model(), max_tokens=1000, messages=ask(), stream=True)
    events = list(stream)
    types = [event.type for event in events]
    assert types[:2] == ["message_start", "content_block_start"]
    assert types[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert types.count("message_start") == types.count("message_stop") == 1
    deltas = [event.delta.text for event in events if event.type == "content_block_delta"]
    assert "".join(deltas) == TEXT and len(deltas) > 1
    assert events[-2].delta.stop_reason == "end_turn" and events[-2].usage.output_tokens > 0
    assert events[0].message.content == [] and events[0].message.role == "assistant"


@every_kind
def test_stream_helper(anthropic_client, kind):
    with anthropic_client.messages.stream(model=kind.model(), max_tokens=1000, messages=ask()) as stream:
        assert "".join(stream.text_stream) == TEXT
        final = stream.get_final_message()
    assert text_of(final) == TEXT and final.stop_reason == "end_turn"
    assert final.usage.input_tokens > 0 and final.usage.output_tokens > 0


@remote_kinds
@pytest.mark.parametrize("form", ["crlf", "cr", "nospace", "comment", "dribble", "gzip"])
def test_stream_forms(anthropic_client, kind, form):
    with anthropic_client.messages.stream(
        model=kind.model(form), max_tokens=1000, messages=ask("short 世界")
    ) as stream:
        assert stream.get_final_text() == "short 世界"


def test_async_stream():
    async def run():
        async with async_anthropic() as client:
            model = Kind("anthropic").model()
            async with client.messages.stream(model=model, max_tokens=1000, messages=ask()) as stream:
                return "".join([text async for text in stream.text_stream])

    assert asyncio.run(run()) == TEXT


# Tools


def turn(message, *texts):
    """The assistant's message as it came, and the results of its tools in one message."""
    uses = [block for block in message.content if block.type == "tool_use"]
    assert len(uses) == len(texts)
    results = [
        {"type": "tool_result", "tool_use_id": use.id, "content": text} for use, text in zip(uses, texts)
    ]
    return [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_over_two_turns(anthropic_client, kind, streamed):
    messages = ask("call two tools with text")
    asked = {"model": kind.model(), "max_tokens": 1000, "tools": [WEATHER, CLOCK]}
    if streamed:
        with anthropic_client.messages.stream(messages=messages, **asked) as stream:
            pieces = [event.partial_json for event in stream if event.type == "input_json"]
            first = stream.get_final_message()
        # Gemini tells them whole.
        assert len([piece for piece in pieces if piece]) > (1 if kind.vendor == "gemini" else 4)
    else:
        first = anthropic_client.messages.create(messages=messages, **asked)
    assert first.stop_reason == "tool_use"
    assert [block.type for block in first.content] == ["text", "tool_use", "tool_use"]
    assert text_of(first) == "call two tools with text"
    uses = first.content[1:]
    assert [(use.name, use.input) for use in uses] == [
        ("weather", {"city": "call two tools with text"}),
        ("clock", {"zone": "call two tools with text"}),
    ]
    assert uses[0].id != uses[1].id
    messages += turn(first, "21 degrees", "noon")
    second = anthropic_client.messages.create(messages=messages, **asked)
    assert (text_of(second), second.stop_reason) == ("The tool said: 21 degrees and noon", "end_turn")


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tool_without_arguments(anthropic_client, kind, streamed):
    messages, asked = ask("call empty tool"), {"model": kind.model(), "max_tokens": 1000, "tools": [NOW]}
    if streamed:
        with anthropic_client.messages.stream(messages=messages, **asked) as stream:
            first = stream.get_final_message()
    else:
        first = anthropic_client.messages.create(messages=messages, **asked)
    assert [(block.type, block.input) for block in first.content] == [("tool_use", {})]
    second = anthropic_client.messages.create(messages=messages + turn(first, "noon"), **asked)
    assert text_of(second) == "The tool said: noon"


@gateway_only
@kinds("mock")
def test_tools_of_the_built_in_mock(anthropic_client, kind):
    messages, asked = ask("hello"), {"model": kind.model(), "max_tokens": 1000, "tools": [WEATHER]}
    first = anthropic_client.messages.create(messages=messages, **asked)
    assert first.stop_reason == "tool_use" and first.content[0].input == {}
    second = anthropic_client.messages.create(messages=messages + turn(first, "21 degrees"), **asked)
    assert "21 degrees" in text_of(second)


@remote_kinds
def test_tool_choice(anthropic_client, kind):
    asked = {"model": kind.model(), "max_tokens": 1000, "tools": [WEATHER, CLOCK]}
    expected = {"tool": ["clock"], "any": ["weather"], "none": []}
    for name, tools in expected.items():
        choice = {"type": name, "name": "clock"} if name == "tool" else {"type": name}
        answer = anthropic_client.messages.create(messages=ask("hello"), tool_choice=choice, **asked)
        assert [block.name for block in answer.content if block.type == "tool_use"] == tools
    if kind.name == "cohere":
        return  # It cannot be told to call one tool only.
    single = {"type": "auto", "disable_parallel_tool_use": True}
    raw = anthropic_client.messages.with_raw_response.create(
        messages=ask("call two tools"), tool_choice=single, **asked
    )
    if kind.vendor == "gemini":
        assert "tool_choice.disable_parallel_tool_use" in raw.headers["x-trestle-dropped"]
    else:
        assert len(raw.parse().content) == 1


@remote_kinds
def test_tool_result_with_image(anthropic_client, kind):
    messages, asked = ask("call tool"), {"model": kind.model(), "max_tokens": 1000, "tools": [WEATHER]}
    first = anthropic_client.messages.create(messages=messages, **asked)
    messages += turn(first, [{"type": "text", "text": "a map"}, image()])
    second = anthropic_client.messages.create(messages=messages, **asked)
    assert "(saw 1 images)" in text_of(second)


# What else goes in and comes out


def image():
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


@remote_kinds
def test_images(anthropic_client, kind):
    parts = [{"type": "text", "text": "look"}, image()]
    answer = anthropic_client.messages.create(model=kind.model(), max_tokens=1000, messages=ask(parts))
    assert text_of(answer) == "look (saw 1 images)"


@remote_kinds
def test_parse(anthropic_client, kind):
    answer = anthropic_client.messages.parse(
        model=kind.model(), max_tokens=1000, messages=ask("Ada"), output_format=Person
    )
    assert isinstance(answer.parsed_output, Person) and answer.parsed_output.name == "Ada"


THINKING = {"type": "enabled", "budget_tokens": 1024}


@kinds("anthropic", "bedrock", "responses")
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_over_two_turns(anthropic_client, kind, streamed):
    messages = ask("call tool redacted")
    asked = {"model": kind.model(), "max_tokens": 4000, "tools": [WEATHER], "thinking": THINKING}
    if streamed:
        with anthropic_client.messages.stream(messages=messages, **asked) as stream:
            first = stream.get_final_message()
    else:
        first = anthropic_client.messages.create(messages=messages, **asked)
    assert [block.type for block in first.content] == ["thinking", "redacted_thinking", "tool_use"]
    assert first.content[0].thinking == "The user wrote: call tool redacted" and first.content[0].signature
    # The upstream checks that each signature fits its thought.
    second = anthropic_client.messages.create(messages=messages + turn(first, "noon"), **asked)
    assert text_of(second) == "The tool said: noon"
    thought = first.content[0].model_copy(update={"thinking": "another thought"})
    forged = first.model_copy(update={"content": [thought, *first.content[1:]]})
    with pytest.raises(anthropic.BadRequestError):
        anthropic_client.messages.create(messages=messages + turn(forged, "noon"), **asked)


@gateway_only
@kinds("openai", "gemini", "gemini-3", "bedrock", "responses", "cohere")
def test_thinking_of_another_vendor_does_not_break_the_turn(anthropic_client, kind):
    messages = ask("call tool")
    asked = {"max_tokens": 4000, "tools": [WEATHER], "thinking": THINKING}
    first = anthropic_client.messages.create(model=Kind("anthropic").model(), messages=messages, **asked)
    messages += turn(first, "noon")
    second = anthropic_client.messages.create(model=kind.model(), messages=messages, **asked)
    assert text_of(second) == "The tool said: noon"


def test_models(anthropic_client):
    models = {model.id for model in anthropic_client.models.list()}
    assert ("claude-sonnet-4-5" if DIRECT else "fallback") in models


# Errors


@gateway_only
def test_unknown_key():
    with anthropic.Anthropic(base_url=URL, api_key="sk-nobody", max_retries=0) as client:
        with pytest.raises(anthropic.AuthenticationError) as caught:
            client.messages.create(model=Kind("anthropic").model(), max_tokens=9, messages=ask())
    assert "sk-nobody" not in str(caught.value)
    assert caught.value.body["error"]["type"] == "authentication_error"


@gateway_only
@pytest.mark.parametrize("model", ["no-such-model", "nowhere/claude-sonnet-4-5"])
def test_unknown_model(anthropic_client, model):
    with pytest.raises(anthropic.NotFoundError) as caught:
        anthropic_client.messages.create(model=model, max_tokens=9, messages=ask())
    assert model in caught.value.message and caught.value.body["error"]["type"] == "not_found_error"


@every_kind
def test_bad_request(anthropic_client, kind):
    with pytest.raises(anthropic.BadRequestError) as caught:
        anthropic_client.messages.create(
            model=kind.model(), max_tokens=9, messages=[{"role": "user", "content": 7}]
        )
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert "messages" in caught.value.message


@remote_kinds
def test_rate_limit(anthropic_client, kind):
    with pytest.raises(anthropic.RateLimitError) as caught:
        anthropic_client.messages.create(model=kind.limited(60), max_tokens=9, messages=ask())
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 60
    assert caught.value.body["error"]["type"] == "rate_limit_error"


@remote_kinds
@pytest.mark.parametrize("settings", ["status=500", "html_error", "cause=overloaded"])
def test_upstream_failure(anthropic_client, kind, settings):
    with pytest.raises(anthropic.APIStatusError) as caught:
        anthropic_client.messages.create(model=kind.model(settings), max_tokens=9, messages=ask())
    assert caught.value.status_code >= 500 and caught.value.message
    if not (DIRECT and settings == "html_error"):
        assert caught.value.body["type"] == "error"


# Streams that fail


@remote_kinds
def test_error_before_content(anthropic_client, kind):
    with pytest.raises(anthropic.APIStatusError):
        with anthropic_client.messages.stream(
            model=kind.model("error_event"), max_tokens=1000, messages=ask()
        ) as stream:
            stream.until_done()


@remote_kinds
@pytest.mark.parametrize("failure", ["error_event_mid=2", "reset_mid=2", "cut_mid=2", "close_mid=2"])
def test_failure_in_mid_stream_is_an_error(anthropic_client, kind, failure):
    if DIRECT and failure == "close_mid=2":
        pytest.skip("the client itself does not miss the end mark")
    texts, types = [], []
    with anthropic_client.messages.stream(
        model=kind.model(f"tokens=50+gap_ms=1+{failure}"), max_tokens=1000, messages=ask()
    ) as stream:
        # Straight at the mock a broken connection comes up as the transport's own error.
        with pytest.raises(Exception if DIRECT else anthropic.APIError):
            for event in stream:
                types.append(event.type)
                texts += [event.text] if event.type == "text" else []
    assert texts == ["word0 ", "word1 "] and "message_stop" not in types


# Fallbacks


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("group", ["fallback", "fallback-silent", "fallback-in-stream", "fallback-limited"])
def test_fallback(anthropic_client, group, streamed):
    if group == "fallback-in-stream" and not streamed:
        pytest.skip("an error inside of a stream")
    raw = anthropic_client.messages.with_raw_response.create(
        model=group, max_tokens=1000, messages=ask(), stream=streamed
    )
    assert raw.headers["x-trestle-provider"] == "anthropic"
    assert int(raw.headers["x-trestle-attempts"]) == 2
    answer = raw.parse()
    if streamed:
        deltas = [event.delta.text for event in answer if event.type == "content_block_delta"]
        assert "".join(deltas) == TEXT
    else:
        assert text_of(answer) == TEXT


@gateway_only
def test_fallbacks_of_one_request(anthropic_client, upstream):
    raw = anthropic_client.messages.with_raw_response.create(
        model=Kind("anthropic").model("status=500"),
        max_tokens=1000,
        messages=ask(),
        extra_body={"fallbacks": [Kind("openai").model()]},
    )
    assert text_of(raw.parse()) == TEXT and raw.headers["x-trestle-provider"] == "openai"
    assert "fallbacks" not in upstream.last()["json"]


@gateway_only
def test_when_all_fail_every_attempt_is_told(anthropic_client):
    with pytest.raises(anthropic.APIStatusError) as caught:
        anthropic_client.messages.create(model="all-fail", max_tokens=9, messages=ask())
    told = json.dumps(caught.value.body)
    assert caught.value.status_code >= 500 and "broken/gpt-4o-mini" in told and "broken/gpt-4o" in told


# Time


@remote_kinds
def test_client_timeout(anthropic_client, kind):
    with pytest.raises(anthropic.APITimeoutError):
        anthropic_client.with_options(timeout=0.2).messages.create(
            model=kind.model("silent"), max_tokens=9, messages=ask(), stream=True
        )


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
def test_first_token_timeout(anthropic_client, streamed):
    with pytest.raises(anthropic.APIStatusError) as caught:
        anthropic_client.messages.create(
            model="impatient/gpt-4o-mini+silent", max_tokens=9, messages=ask(), stream=streamed
        )
    assert caught.value.status_code == 504


@remote_kinds
def test_closing_a_stream_aborts_the_upstream(anthropic_client, kind, upstream):
    with anthropic_client.messages.stream(
        model=kind.model("tokens=10000+gap_ms=5"), max_tokens=100_000, messages=ask()
    ) as stream:
        next(stream.text_stream)
    upstream.wait_aborted()


@remote_kinds
def test_cancelling_a_task_aborts_the_upstream(kind, upstream):
    async def run():
        async with async_anthropic() as client:
            seen = asyncio.Event()

            async def consume():
                async with client.messages.stream(
                    model=kind.model("tokens=10000+gap_ms=5"), max_tokens=100_000, messages=ask()
                ) as stream:
                    async for _ in stream.text_stream:
                        seen.set()

            task = asyncio.create_task(consume())
            await seen.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    upstream.wait_aborted()


# Headers


@gateway_only
@every_kind
def test_headers_of_the_answer(anthropic_client, kind):
    raw = anthropic_client.messages.with_raw_response.create(model=kind.model(), max_tokens=1000, messages=ask())
    provider, _, model = kind.model().partition("/")
    assert raw.headers["x-trestle-provider"] == provider
    assert raw.headers["x-trestle-model"] == model
    assert raw.headers["x-trestle-attempts"] == "1" and raw.headers["x-request-id"]


@gateway_only
@remote_kinds
def test_what_the_upstream_sees(anthropic_client, kind, upstream):
    anthropic_client.messages.create(
        model=kind.model(), max_tokens=1000, messages=ask(), extra_headers={"cookie": "a=b", "x-other": "c"}
    )
    seen = upstream.last()
    assert KEY not in json.dumps(seen["headers"]) and KEY not in seen["body"]
    assert "sk-upstream" in json.dumps(seen["headers"])
    own = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(kind.vendor, "authorization")
    others = {"cookie", "x-other", "x-api-key", "x-goog-api-key", "authorization"} - {own}
    assert own in seen["headers"] and not others & set(seen["headers"])


@gateway_only
@kinds("anthropic")
def test_same_dialect_keeps_every_member(anthropic_client, kind, upstream):
    wanted = {
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "a \u2028 <tag>", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
        ]}],
        "metadata": {"user_id": "u1"},
        "service_tier": "standard_only",
    }
    anthropic_client.messages.create(model=kind.model(), extra_body={"top_k": 5}, **wanted)
    assert upstream.last()["json"] == {"model": "claude-sonnet-4-5", "top_k": 5, **wanted}


@gateway_only
@kinds("openai")
def test_what_cannot_be_expressed_is_named(anthropic_client, kind):
    raw = anthropic_client.messages.with_raw_response.create(
        model=kind.model(), max_tokens=1000, messages=ask(), extra_body={"top_k": 5}
    )
    assert "top_k" in raw.headers["x-trestle-dropped"]
