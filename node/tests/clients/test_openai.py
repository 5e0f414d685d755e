"""The official OpenAI client, unchanged but for its base URL, against each kind of provider."""

import asyncio
import base64
import json
import struct

import openai
import pytest
from pydantic import BaseModel

from conftest import DIRECT, KEY, PNG, URL, Kind, async_openai, gateway_only
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"


def kinds(*names):
    return kinds_of(*names, native="openai")


every_kind = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere", "mock")
remote_kinds = kinds("openai", "anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere")


def ask(text=TEXT):
    return [{"role": "user", "content": text}]


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": f"The {name}", "parameters": schema}}


WEATHER = tool("weather", city={"type": "string"})
CLOCK = tool("clock", zone={"type": "string"})
NOW = tool("now")


class Person(BaseModel):
    name: str
    age: int


# Chat


@every_kind
def test_chat(openai_client, kind):
    answer = openai_client.chat.completions.create(model=kind.model(), messages=ask())
    assert answer.object == "chat.completion" and answer.id and answer.created > 0
    (choice,) = answer.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", TEXT, "stop")
    assert not choice.message.tool_calls
    usage = answer.usage
    assert usage.prompt_tokens > 0 and usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


@remote_kinds
def test_system_and_developer_roles(openai_client, kind, upstream):
    for role in ("system", "developer"):
        messages = [{"role": role, "content": "Be brief."}, *ask()]
        answer = openai_client.chat.completions.create(model=kind.model(), messages=messages)
        assert answer.choices[0].message.content == TEXT
        sent = upstream.last()["json"]
        if kind.vendor == "gemini":
            assert sent["systemInstruction"] == {"parts": [{"text": "Be brief."}]} and len(sent["contents"]) == 1
        elif kind.name in ("anthropic", "bedrock"):
            assert "Be brief." in json.dumps(sent["system"]) and len(sent["messages"]) == 1


# Responses has no stop sequences, and no limit so low.
@kinds("openai", "anthropic", "cohere")
def test_stop_and_length(openai_client, kind):
    stopped = openai_client.chat.completions.create(model=kind.model(), messages=ask("one END two"), stop=["END"])
    assert (stopped.choices[0].message.content, stopped.choices[0].finish_reason) == ("one ", "stop")
    cut = openai_client.chat.completions.create(model=kind.model(), messages=ask("one two three"), max_tokens=1)
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("one ", "length")


@kinds("openai", "responses")
def test_refusal(openai_client, kind):
    message = openai_client.chat.completions.create(model=kind.model("refusal"), messages=ask()).choices[0].message
    assert message.refusal and message.content is None


@remote_kinds
def test_gzip(openai_client, kind):
    answer = openai_client.chat.completions.create(model=kind.model("gzip"), messages=ask())
    assert answer.choices[0].message.content == TEXT and answer.usage.total_tokens > 0


@every_kind
def test_large_prompt(openai_client, kind):
    text = 'a "quoted" \\ line\n世界 🎉 \u2028' * 4000
    answer = openai_client.chat.completions.create(model=kind.model(), messages=ask(text), max_tokens=100_000)
    assert answer.choices[0].message.content == text


@gateway_only
@every_kind
def test_prefixed_base_url(kind):
    with openai.OpenAI(base_url=f"{URL}/openai/v1", api_key=KEY, max_retries=0) as client:
        answer = client.chat.completions.create(model=kind.model(), messages=ask())
        assert answer.choices[0].message.content == TEXT
        assert "fallback" in {model.id for model in client.models.list()}


def test_async_chat():
    async def run():
        async with async_openai() as client:
            model = Kind("openai").model()
            asks = (client.chat.completions.create(model=model, messages=ask(f"text {n}")) for n in range(20))
            return [answer.choices[0].message.content for answer in await asyncio.gather(*asks)]

    assert asyncio.run(run()) == [f"text {n}" for n in range(20)]


# Streams


def read(stream):
    """Text, finish reasons, usages and the number of chunks with text of a stream."""
    text, finished, usages, pieces = "", [], [], 0
    for chunk in stream:
        assert chunk.object == "chat.completion.chunk"
        if chunk.usage:
            usages.append(chunk.usage)
            assert chunk.choices == []
        for choice in chunk.choices:
            if choice.delta and choice.delta.content:
                text, pieces = text + choice.delta.content, pieces + 1
            if choice.finish_reason:
                finished.append(choice.finish_reason)
    return text, finished, usages, pieces


@every_kind
def test_stream(openai_client, kind):
    stream = openai_client.chat.completions.create(model=kind.model(), messages=ask(), stream=True)
    text, finished, usages, pieces = read(stream)
    assert (text, finished, usages) == (TEXT, ["stop"], [])
    assert pieces > 1


@every_kind
def test_stream_with_usage(openai_client, kind):
    stream = openai_client.chat.completions.create(
        model=kind.model(), messages=ask(), stream=True, stream_options={"include_usage": True}
    )
    text, finished, (usage,), _ = read(stream)
    assert (text, finished) == (TEXT, ["stop"])
    assert usage.prompt_tokens > 0 and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


@every_kind
def test_stream_helper(openai_client, kind):
    with openai_client.chat.completions.stream(model=kind.model(), messages=ask()) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == TEXT == final.choices[0].message.content
    assert final.choices[0].finish_reason == "stop"


@remote_kinds
@pytest.mark.parametrize("form", ["crlf", "cr", "nospace", "comment", "dribble", "gzip"])
def test_stream_forms(openai_client, kind, form):
    stream = openai_client.chat.completions.create(
        model=kind.model(form), messages=ask("short 世界"), stream=True, stream_options={"include_usage": True}
    )
    text, finished, usages, _ = read(stream)
    assert (text, finished, len(usages)) == ("short 世界", ["stop"], 1)


@gateway_only
@kinds("openai")
@pytest.mark.parametrize("oddity", ["last_chunk_without_delta", "usage_placeholder", "usage_always"])
def test_stream_oddities_of_vendors(openai_client, kind, oddity):
    model = kind.model(oddity)
    for asked in (False, True):
        options = {"stream_options": {"include_usage": True}} if asked else {}
        stream = openai_client.chat.completions.create(model=model, messages=ask(), stream=True, **options)
        text, usages, choices_with_usage = "", 0, 0
        for chunk in stream:
            usages += bool(chunk.usage)
            choices_with_usage += len(chunk.choices) if chunk.usage else 0
            for choice in chunk.choices:
                text += (choice.delta and choice.delta.content) or ""
        assert text == TEXT
        assert usages == (1 if asked else 0)


def test_async_stream():
    async def run():
        async with async_openai() as client:
            stream = await client.chat.completions.create(model=Kind("openai").model(), messages=ask(), stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    assert asyncio.run(run()) == TEXT


# Tools


def results(message, *texts):
    calls = message.tool_calls
    assert len(calls) == len(texts)
    answers = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in zip(calls, texts)]
    return [message.model_dump(exclude_none=True, exclude={"parsed"}), *answers]


@remote_kinds
def test_tools_over_two_turns(openai_client, kind):
    messages, tools = ask("call two tools with text"), [WEATHER, CLOCK]
    first = openai_client.chat.completions.create(model=kind.model(), messages=messages, tools=tools)
    choice = first.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "call two tools with text")
    calls = choice.message.tool_calls
    assert [call.function.name for call in calls] == ["weather", "clock"]
    assert len({call.id for call in calls}) == 2
    assert [json.loads(call.function.arguments) for call in calls] == [
        {"city": "call two tools with text"},
        {"zone": "call two tools with text"},
    ]
    messages += results(choice.message, "21 degrees", "noon")
    second = openai_client.chat.completions.create(model=kind.model(), messages=messages, tools=tools)
    assert second.choices[0].message.content == "The tool said: 21 degrees and noon"
    assert second.choices[0].finish_reason == "stop"


@remote_kinds
@pytest.mark.parametrize("streamed", [False, True])
def test_tool_without_arguments(openai_client, kind, streamed):
    messages, tools = ask("call empty tool"), [NOW]
    if streamed:
        with openai_client.chat.completions.stream(model=kind.model(), messages=messages, tools=tools) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        first = openai_client.chat.completions.create(model=kind.model(), messages=messages, tools=tools)
        message = first.choices[0].message
    assert message.tool_calls[0].function.arguments == "{}"
    turn = results(message, "noon")
    for call in turn[0]["tool_calls"]:
        call["function"].pop("parsed_arguments", None)
        call.pop("index", None)
    second = openai_client.chat.completions.create(model=kind.model(), messages=messages + turn, tools=tools)
    assert second.choices[0].message.content == "The tool said: noon"


@remote_kinds
def test_tool_arguments_are_streamed(openai_client, kind):
    city = "call two tools for a city with a long name"
    stream = openai_client.chat.completions.create(
        model=kind.model(), messages=ask(city), tools=[WEATHER, CLOCK], stream=True
    )
    calls, finished, pieces = {}, [], 0
    for chunk in stream:
        for choice in chunk.choices:
            finished += [choice.finish_reason] if choice.finish_reason else []
            for delta in choice.delta.tool_calls or []:
                call = calls.setdefault(delta.index, {"id": delta.id, "name": delta.function.name, "arguments": ""})
                assert delta.id in (None, call["id"])
                call["arguments"] += delta.function.arguments or ""
                pieces += bool(delta.function.arguments)
    assert sorted(calls) == [0, 1] and finished == ["tool_calls"]
    # Gemini tells them whole.
    assert pieces > 4 or kind.vendor == "gemini"
    assert [call["name"] for call in calls.values()] == ["weather", "clock"]
    assert [json.loads(call["arguments"]) for call in calls.values()] == [{"city": city}, {"zone": city}]
    assert len({call["id"] for call in calls.values()}) == 2


@remote_kinds
def test_tool_arguments_through_the_helper(openai_client, kind):
    with openai_client.chat.completions.stream(
        model=kind.model(), messages=ask("call two tools"), tools=[WEATHER, CLOCK]
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    assert [event.name for event in done] == ["weather", "clock"]
    arguments = [call.function.arguments for call in final.choices[0].message.tool_calls]
    assert [json.loads(text) for text in arguments] == [{"city": "call two tools"}, {"zone": "call two tools"}]


@gateway_only
@kinds("mock")
def test_tools_of_the_built_in_mock(openai_client, kind):
    messages, tools = ask("hello"), [WEATHER]
    first = openai_client.chat.completions.create(model=kind.model(), messages=messages, tools=tools)
    assert first.choices[0].finish_reason == "tool_calls"
    messages += results(first.choices[0].message, "21 degrees")
    second = openai_client.chat.completions.create(model=kind.model(), messages=messages, tools=tools)
    assert "21 degrees" in second.choices[0].message.content


@remote_kinds
def test_tool_choice(openai_client, kind):
    named = {"type": "function", "function": {"name": "clock"}}
    for choice, expected in ((named, ["clock"]), ("required", ["weather"]), ("none", [])):
        answer = openai_client.chat.completions.create(
            model=kind.model(), messages=ask("hello"), tools=[WEATHER, CLOCK], tool_choice=choice
        )
        assert [call.function.name for call in answer.choices[0].message.tool_calls or []] == expected
    if kind.name == "cohere":
        return  # It cannot be told to call one tool only.
    single = openai_client.chat.completions.with_raw_response.create(
        model=kind.model(), messages=ask("call two tools"), tools=[WEATHER, CLOCK], parallel_tool_calls=False
    )
    if kind.vendor == "gemini":
        assert "parallel_tool_calls" in single.headers["x-trestle-dropped"]
    else:
        assert len(single.parse().choices[0].message.tool_calls) == 1


# What else goes in and comes out


@remote_kinds
def test_images(openai_client, kind):
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]
    answer = openai_client.chat.completions.create(model=kind.model(), messages=ask(parts))
    assert answer.choices[0].message.content == "look (saw 1 images)"


@remote_kinds
def test_parse(openai_client, kind):
    answer = openai_client.chat.completions.parse(
        model=kind.model(), messages=ask("Ada"), response_format=Person
    )
    parsed = answer.choices[0].message.parsed
    assert isinstance(parsed, Person) and parsed.name == "Ada"


@remote_kinds
def test_parse_streamed(openai_client, kind):
    with openai_client.chat.completions.stream(
        model=kind.model(), messages=ask("Ada"), response_format=Person
    ) as stream:
        assert stream.get_final_completion().choices[0].message.parsed.name == "Ada"


@kinds("openai")
def test_reasoning_content(openai_client, kind):
    answer = openai_client.chat.completions.create(model=kind.model("reasoning"), messages=ask())
    assert answer.choices[0].message.model_extra["reasoning_content"] == "Let me think."
    assert answer.choices[0].message.content == TEXT


@gateway_only
@kinds("anthropic", "gemini", "gemini-3", "bedrock", "responses", "cohere")
@pytest.mark.parametrize("history", ["kept", "lost"])
@pytest.mark.parametrize("streamed", [False, True])
def test_signed_thinking_over_two_turns(openai_client, kind, history, streamed):
    messages = ask("call tool")
    asked = {"model": kind.model(), "tools": [WEATHER], "reasoning_effort": "low"}
    if streamed:
        with openai_client.chat.completions.stream(messages=messages, **asked) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = openai_client.chat.completions.create(messages=messages, **asked).choices[0].message
    assert message.model_extra["reasoning_content"] == "The user wrote: call tool"
    call = message.tool_calls[0]
    said = {"role": "assistant", "tool_calls": [
        {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}
    ]}
    if history == "kept" and kind.name != "cohere":
        # As Google and LiteLLM name them; the upstream checks that each signature fits its call or thought.
        # Cohere signs nothing.
        if kind.vendor == "gemini":
            said["tool_calls"][0]["extra_content"] = call.model_extra["extra_content"]
        else:
            said["thinking_blocks"] = message.model_extra["thinking_blocks"]
    messages += [said, {"role": "tool", "tool_call_id": call.id, "content": "noon"}]
    second = openai_client.chat.completions.create(messages=messages, **asked).choices[0].message
    assert second.content == "The tool said: noon"


def test_embeddings(openai_client):
    model = "text-embedding-3-small" if DIRECT else "openai/text-embedding-3-small"
    answer = openai_client.embeddings.create(model=model, input=["a", "b"], dimensions=8)
    assert [item.index for item in answer.data] == [0, 1]
    assert all(len(item.embedding) == 8 for item in answer.data) and answer.usage.total_tokens > 0
    raw = openai_client.embeddings.create(model=model, input="a", dimensions=8, encoding_format="base64")
    numbers = struct.unpack("<8f", base64.b64decode(raw.data[0].embedding))
    assert list(numbers) == pytest.approx(answer.data[0].embedding)


@gateway_only
def test_embeddings_of_gemini(openai_client, upstream):
    answer = openai_client.embeddings.create(model="gemini/gemini-embedding-001", input="a", dimensions=8)
    assert len(answer.data[0].embedding) == 8
    assert upstream.last()["path"] == "/v1beta/models/gemini-embedding-001:batchEmbedContents"


def test_legacy_completions(openai_client):
    model = Kind("openai").model()
    answer = openai_client.completions.create(model=model, prompt="once upon a time", max_tokens=100)
    assert answer.choices[0].text == "once upon a time"
    stream = openai_client.completions.create(model=model, prompt="once upon a time", stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream if chunk.choices) == "once upon a time"


def test_models(openai_client):
    models = {model.id for model in openai_client.models.list()}
    assert ("gpt-4o-mini" if DIRECT else "fallback") in models
