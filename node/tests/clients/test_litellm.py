"""LiteLLM as a client: it takes the gateway for an OpenAI, against each kind of provider."""

import asyncio
import json
import os

# Else it fetches its table of prices when it is loaded.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
import pytest

from conftest import DIRECT, KEY, URL, Kind, gateway_only
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"

litellm.telemetry = False
litellm.suppress_debug_info = True


def kinds(*names):
    return kinds_of(*names, native="openai")


every_kind = kinds("openai", "anthropic", "gemini", "bedrock", "responses", "cohere", "mock")
remote_kinds = kinds("openai", "anthropic", "gemini", "bedrock", "responses", "cohere")
streams = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])

AT = {"api_base": f"{URL}/v1" if DIRECT else f"{URL}/litellm", "api_key": KEY, "num_retries": 0, "timeout": 30}


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": f"The {name}", "parameters": schema}}


WEATHER = tool("weather", city={"type": "string"})
CLOCK = tool("clock", zone={"type": "string"})


def ask(text=TEXT):
    return [{"role": "user", "content": text}]


def complete(streamed, kind, messages, settings="", **more):
    """The whole answer, also of a stream."""
    asked = {"model": f"openai/{kind.model(settings)}", "messages": messages, **AT, **more}
    if not streamed:
        return litellm.completion(**asked)
    pieces = list(litellm.completion(stream=True, stream_options={"include_usage": True}, **asked))
    return litellm.stream_chunk_builder(pieces, messages=messages)


@every_kind
@streams
def test_answer(kind, streamed):
    answer = complete(streamed, kind, ask())
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (TEXT, "stop")
    usage = answer.usage
    assert usage.prompt_tokens > 0 and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


@remote_kinds
@streams
def test_tools_over_two_turns(kind, streamed):
    messages, tools = ask("call two tools with text"), [WEATHER, CLOCK]
    first = complete(streamed, kind, messages, tools=tools)
    message = first.choices[0].message
    assert first.choices[0].finish_reason == "tool_calls" and message.content == "call two tools with text"
    assert [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls] == [
        ("weather", {"city": "call two tools with text"}),
        ("clock", {"zone": "call two tools with text"}),
    ]
    messages.append(message.model_dump(exclude_none=True))
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": text}
        for call, text in zip(message.tool_calls, ("21 degrees", "noon"))
    ]
    second = complete(streamed, kind, messages, tools=tools)
    assert second.choices[0].message.content == "The tool said: 21 degrees and noon"


@gateway_only
@kinds("anthropic", "responses", "cohere")
@streams
def test_reasoning_over_two_turns(kind, streamed):
    messages, more = ask("call tool"), {"tools": [WEATHER], "reasoning_effort": "low", "allowed_openai_params": ["reasoning_effort"]}
    message = complete(streamed, kind, messages, **more).choices[0].message
    assert message.reasoning_content == "The user wrote: call tool"
    (call,) = message.tool_calls
    messages.append(message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "noon"})
    second = complete(streamed, kind, messages, **more)
    assert second.choices[0].message.content == "The tool said: noon"


@remote_kinds
def test_json_schema(kind):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema}}
    answer = complete(False, kind, ask("Ada"), response_format=form)
    assert json.loads(answer.choices[0].message.content) == {"name": "Ada"}


@remote_kinds
@streams
def test_responses(kind, streamed):
    answer = litellm.responses(model=f"openai/{kind.model()}", input=TEXT, stream=streamed, **AT)
    if streamed:
        deltas = [event.delta for event in answer if event.type == "response.output_text.delta"]
        assert "".join(deltas) == TEXT and len(deltas) > 1
    else:
        assert answer.output[0].content[0].text == TEXT and answer.usage.total_tokens > 0


def test_async():
    async def run():
        asked = {"model": f"openai/{Kind('openai').model()}", **AT}
        answers = await asyncio.gather(*(litellm.acompletion(messages=ask(f"text {n}"), **asked) for n in range(5)))
        return [answer.choices[0].message.content for answer in answers]

    assert asyncio.run(run()) == [f"text {n}" for n in range(5)]


def test_embedding():
    name = "text-embedding-3-small" if DIRECT else "openai/text-embedding-3-small"
    answer = litellm.embedding(model=f"openai/{name}", input=["a", "b"], dimensions=8, **AT)
    assert [len(item["embedding"]) for item in answer.data] == [8, 8]


@remote_kinds
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ("status=500", (litellm.InternalServerError, litellm.BadGatewayError)),
        # It knows some vendors' words only for what is too long, else takes it for a bad request.
        ("cause=context_length", litellm.BadRequestError),
        ("cause=model_not_found", litellm.NotFoundError),
    ],
)
def test_errors(kind, settings, error):
    with pytest.raises(error):
        complete(False, kind, ask(), settings)


@remote_kinds
def test_rate_limit(kind):
    with pytest.raises(litellm.RateLimitError):
        litellm.completion(model=f"openai/{kind.limited(60)}", messages=ask(), **AT)


@gateway_only
@streams
def test_fallback(streamed):
    answer = litellm.completion(model="openai/fallback", messages=ask(), stream=streamed, **AT)
    if streamed:
        assert "".join(piece.choices[0].delta.content or "" for piece in answer) == TEXT
    else:
        assert answer.choices[0].message.content == TEXT
