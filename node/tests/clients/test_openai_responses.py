"""OpenAI Responses by the official client, against each kind of provider."""

import asyncio
import json

import openai
import pytest
from pydantic import BaseModel

from conftest import DIRECT, KEY, PNG, URL, Kind, async_openai, gateway_only
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"


def kinds(*names):
    return kinds_of(*names, native="responses")


remote_kinds = kinds("responses", "openai", "chat", "anthropic", "cohere", "gemini", "gemini-3", "bedrock")
every_kind = kinds("responses", "openai", "chat", "anthropic", "cohere", "gemini", "gemini-3", "bedrock", "mock")
# Those that can be told the form of an answer beside tools, and that call one tool only if asked to.
versatile_kinds = kinds("responses", "openai", "chat", "anthropic", "gemini", "gemini-3", "bedrock")


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "name": name, "description": f"The {name}", "parameters": schema, "strict": True}


WEATHER = tool("weather", city={"type": "string"})
CLOCK = tool("clock", zone={"type": "string"})
NOW = tool("now")


class Person(BaseModel):
    name: str
    age: int


def ask(*texts):
    return [{"role": "user", "content": text} for text in texts]


def calls_of(answer):
    return [item for item in answer.output if item.type == "function_call"]


def dumped(answer):
    """What the answer holds, as the next turn repeats it; members of the helper are none of the API."""
    extra = {"parsed_arguments": True, "content": {"__all__": {"parsed": True}}}
    return [item.model_dump(exclude_none=True, exclude=extra) for item in answer.output]


def results(answer, *outputs):
    calls = calls_of(answer)
    assert len(calls) == len(outputs)
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": output}
        for call, output in zip(calls, outputs)
    ]


def create(client, streamed, **asked):
    """The whole answer, asked for at once or as a stream."""
    if not streamed:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        *_, last = stream
    assert last.type in ("response.completed", "response.incomplete")
    return last.response


both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


# Answers


@every_kind
def test_answer(openai_client, kind):
    answer = openai_client.responses.create(model=kind.model(), input=TEXT)
    assert answer.object == "response" and answer.id and answer.created_at > 0
    assert (answer.status, answer.error, answer.output_text) == ("completed", None, TEXT)
    (message,) = answer.output
    assert (message.type, message.role, message.status) == ("message", "assistant", "completed")
    usage = answer.usage
    assert usage.input_tokens > 0 and usage.output_tokens > 0
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert usage.input_tokens_details.cached_tokens == 0


@remote_kinds
def test_instructions_and_roles(openai_client, kind, upstream):
    items = [{"role": "developer", "content": "Be kind."}, *ask(TEXT)]
    answer = openai_client.responses.create(model=kind.model(), instructions="Be brief.", input=items)
    assert answer.output_text == TEXT
    sent = upstream.last()["body"]
    assert "Be brief." in sent and "Be kind." in sent


@remote_kinds
def test_turns(openai_client, kind):
    first = openai_client.responses.create(model=kind.model(), input=ask("one"))
    items = [*ask("one"), *dumped(first), {"role": "assistant", "content": "said in short"}, *ask("two")]
    assert openai_client.responses.create(model=kind.model(), input=items).output_text == "two"


@remote_kinds
@both_ways
def test_length(openai_client, kind, streamed):
    asked = {"model": kind.model("tokens=99"), "input": "x", "max_output_tokens": 16}
    cut = create(openai_client, streamed, **asked)
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert cut.output_text.startswith("word0 ") and cut.output_text.endswith("word15 ")


@kinds("responses", "openai", "chat")
@both_ways
def test_refusal(openai_client, kind, streamed):
    answer = create(openai_client, streamed, model=kind.model("refusal"), input="x")
    (part,) = answer.output[0].content
    assert part.type == "refusal" and part.refusal and answer.status == "completed"


@remote_kinds
def test_cached_tokens(openai_client, kind):
    answer = openai_client.responses.create(model=kind.model("cached=3"), input=TEXT)
    assert answer.usage.input_tokens_details.cached_tokens == 3 < answer.usage.input_tokens


@remote_kinds
def test_images(openai_client, kind):
    parts = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    ]
    answer = openai_client.responses.create(model=kind.model(), input=ask(parts))
    assert answer.output_text == "look (saw 1 images)"


@remote_kinds
@both_ways
def test_parse(openai_client, kind, streamed):
    asked = {"model": kind.model(), "input": "Ada", "text_format": Person}
    if streamed:
        with openai_client.responses.stream(**asked) as stream:
            answer = stream.get_final_response()
    else:
        answer = openai_client.responses.parse(**asked)
    assert isinstance(answer.output_parsed, Person) and answer.output_parsed.name == "Ada"


def test_async():
    async def run():
        async with async_openai() as client:
            model = Kind("responses").model()
            asks = (client.responses.create(model=model, input=f"text {n}") for n in range(20))
            whole = [answer.output_text for answer in await asyncio.gather(*asks)]
            stream = await client.responses.create(model=model, input=TEXT, stream=True)
            deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
            return whole, "".join(deltas)

    assert asyncio.run(run()) == ([f"text {n}" for n in range(20)], TEXT)


# Streams


def check_grammar(events):
    """Numbers without gaps, parts within items, and what was announced is done."""
    assert [event.sequence_number for event in events] == list(range(len(events)))
    types = [event.type for event in events]
    assert types[:2] == ["response.created", "response.in_progress"]
    assert types[-1] in ("response.completed", "response.incomplete")
    open_items, open_parts = set(), set()
    for event in events[2:-1]:
        match event.type:
            case "response.output_item.added":
                open_items.add(event.output_index)
            case "response.output_item.done":
                open_items.remove(event.output_index)
            case "response.content_part.added":
                open_parts.add((event.item_id, event.content_index))
            case "response.content_part.done":
                open_parts.remove((event.item_id, event.content_index))
            case "response.output_text.delta":
                assert (event.item_id, event.content_index) in open_parts
        assert not hasattr(event, "output_index") or event.output_index in open_items or event.type.endswith("item.done")
    assert not open_items and not open_parts
    return types


@every_kind
def test_stream(openai_client, kind):
    events = list(openai_client.responses.create(model=kind.model(), input=TEXT, stream=True))
    types = check_grammar(events)
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == TEXT and len(deltas) > 1
    final = events[-1].response
    assert types[-1] == "response.completed" and final.output_text == TEXT
    assert final.usage.total_tokens == final.usage.input_tokens + final.usage.output_tokens > 0
    assert final.id == events[0].response.id


@every_kind
def test_stream_helper(openai_client, kind):
    with openai_client.responses.stream(model=kind.model(), input=TEXT) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert snapshots[-1] == TEXT == final.output_text


@remote_kinds
@pytest.mark.parametrize("form", ["crlf", "cr", "nospace", "comment", "dribble", "gzip"])
def test_stream_forms(openai_client, kind, form):
    events = list(openai_client.responses.create(model=kind.model(form), input="short 世界", stream=True))
    check_grammar(events)
    assert events[-1].response.output_text == "short 世界" and events[-1].response.usage.total_tokens > 0


# Tools


@remote_kinds
@both_ways
def test_tools_over_two_turns(openai_client, kind, streamed):
    items, tools = ask("call two tools with text"), [WEATHER, CLOCK]
    first = create(openai_client, streamed, model=kind.model(), input=items, tools=tools)
    assert first.output_text == "call two tools with text" and first.status == "completed"
    calls = calls_of(first)
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("weather", {"city": "call two tools with text"}),
        ("clock", {"zone": "call two tools with text"}),
    ]
    assert len({call.call_id for call in calls}) == 2 and len({item.id for item in first.output}) == 3
    items += [*dumped(first), *results(first, "21 degrees", "noon")]
    second = create(openai_client, streamed, model=kind.model(), input=items, tools=tools)
    assert (second.output_text, second.status) == ("The tool said: 21 degrees and noon", "completed")


@remote_kinds
@both_ways
def test_tool_without_arguments(openai_client, kind, streamed):
    items = ask("call empty tool")
    first = create(openai_client, streamed, model=kind.model(), input=items, tools=[NOW])
    assert [call.arguments for call in calls_of(first)] == ["{}"]
    items += [*dumped(first), *results(first, "noon")]
    second = create(openai_client, streamed, model=kind.model(), input=items, tools=[NOW])
    assert second.output_text == "The tool said: noon"


@remote_kinds
def test_tool_arguments_are_streamed(openai_client, kind):
    city = "call two tools for a city with a long name"
    events = list(openai_client.responses.create(model=kind.model(), input=city, tools=[WEATHER, CLOCK], stream=True))
    check_grammar(events)
    arguments, pieces = {}, 0
    for event in events:
        if event.type == "response.function_call_arguments.delta":
            arguments[event.output_index] = arguments.get(event.output_index, "") + event.delta
            pieces += 1
        if event.type == "response.function_call_arguments.done":
            assert event.arguments == arguments[event.output_index]
    assert [json.loads(text) for text in arguments.values()] == [{"city": city}, {"zone": city}]
    # Gemini sends them whole.
    assert pieces > (1 if kind.vendor == "gemini" else 4)


@versatile_kinds
def test_tool_choice(openai_client, kind):
    asked = {"model": kind.model(), "tools": [WEATHER, CLOCK]}
    named = {"type": "function", "name": "clock"}
    for choice, expected in ((named, ["clock"]), ("required", ["weather"]), ("none", [])):
        answer = openai_client.responses.create(input="hello", tool_choice=choice, **asked)
        assert [call.name for call in calls_of(answer)] == expected
    if kind.vendor == "gemini":
        return  # It cannot be told to call one tool only.
    single = openai_client.responses.create(input="call two tools", parallel_tool_calls=False, **asked)
    assert len(calls_of(single)) == 1


@versatile_kinds
def test_tool_result_with_image(openai_client, kind):
    items = ask("call tool")
    first = openai_client.responses.create(model=kind.model(), input=items, tools=[WEATHER])
    output = [
        {"type": "input_text", "text": "a map"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ]
    items += [*dumped(first), *results(first, output)]
    second = openai_client.responses.create(model=kind.model(), input=items, tools=[WEATHER])
    assert "(saw 1 images)" in second.output_text


@gateway_only
@kinds("mock")
def test_tools_of_the_built_in_mock(openai_client, kind):
    items = ask("hello")
    first = openai_client.responses.create(model=kind.model(), input=items, tools=[WEATHER])
    items += [*dumped(first), *results(first, "21 degrees")]
    second = openai_client.responses.create(model=kind.model(), input=items, tools=[WEATHER])
    assert "21 degrees" in second.output_text


@gateway_only
@kinds("responses", "openai", "chat", "anthropic")
def test_long_ids_of_calls(openai_client, kind):
    """Ids of other vendors may be longer than this one takes."""
    call = {"type": "function_call", "call_id": "call_" + "x" * 90, "name": "weather", "arguments": '{"city": "x"}'}
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "noon"}
    asked = {"model": kind.model(), "input": [*ask("call tool"), call, output], "tools": [WEATHER]}
    if kind.name in ("responses", "openai"):
        with pytest.raises(openai.BadRequestError) as caught:
            openai_client.responses.create(**asked)
        assert caught.value.param == "input[1].call_id"
    else:
        assert openai_client.responses.create(**asked).output_text == "The tool said: noon"


# Reasoning


REASONING = {"effort": "low", "summary": "auto"}


def reasoning_model(kind):
    return "gpt-5-mini" if DIRECT else {"openai": "openai/gpt-5-mini"}.get(kind.name, kind.model())


@kinds("responses", "openai", "anthropic", "cohere")
@both_ways
@pytest.mark.parametrize("words", ["call tool", "call tool redacted"])
def test_reasoning_over_two_turns(openai_client, kind, streamed, words):
    items = ask(words)
    asked = {
        "model": reasoning_model(kind),
        "tools": [WEATHER],
        "reasoning": REASONING,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    first = create(openai_client, streamed, input=items, **asked)
    thoughts = [item for item in first.output if item.type == "reasoning"]
    assert thoughts[0].summary[0].text == f"The user wrote: {words}"
    # Cohere signs nothing, and hides nothing.
    assert kind.name == "cohere" or all(thought.encrypted_content for thought in thoughts)
    assert len(thoughts) == (2 if "redacted" in words and kind.name != "cohere" else 1)
    # The upstream checks that each proof fits its thought.
    items += [*dumped(first), *results(first, "noon")]
    second = create(openai_client, streamed, input=items, **asked)
    assert second.output_text == "The tool said: noon"
    assert second.usage.output_tokens_details.reasoning_tokens >= 0


@kinds("responses", "openai")
def test_forged_reasoning_is_refused(openai_client, kind):
    asked = {
        "model": reasoning_model(kind),
        "tools": [WEATHER],
        "reasoning": REASONING,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    first = openai_client.responses.create(input=ask("call tool"), **asked)
    forged = dumped(first)
    forged[0]["summary"][0]["text"] = "another thought"
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.responses.create(input=[*ask("call tool"), *forged, *results(first, "noon")], **asked)
    assert caught.value.code == "invalid_encrypted_content"


@gateway_only
@pytest.mark.parametrize("there", ["responses", "anthropic", "cohere", "chat", "openai"])
@pytest.mark.parametrize("here", ["responses", "anthropic", "cohere"])
@both_ways
def test_reasoning_of_another_vendor_does_not_break_the_turn(openai_client, here, there, streamed):
    items = ask("call tool redacted")
    asked = {"tools": [WEATHER], "include": ["reasoning.encrypted_content"], "store": False}
    first = create(
        openai_client, streamed, model=reasoning_model(Kind(here)), input=items, reasoning=REASONING, **asked
    )
    items += [*dumped(first), *results(first, "noon")]
    del asked["include"]
    second = create(openai_client, streamed, model=Kind(there).model(), input=items, **asked)
    assert second.output_text == "The tool said: noon"


# What only the vendor has


@kinds("responses", "openai")
def test_previous_response(openai_client, kind):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.responses.create(model=kind.model(), input="x", previous_response_id="resp_gone")
    assert (caught.value.param, caught.value.code) == ("previous_response_id", "previous_response_not_found")


@gateway_only
@kinds("anthropic", "chat", "cohere")
def test_what_lies_with_the_vendor_is_refused_elsewhere(openai_client, kind, upstream):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.responses.create(model=kind.model(), input="x", previous_response_id="resp_gone")
    assert "previous_response_id" in caught.value.message and not upstream.requests()


@gateway_only
@kinds("responses", "openai")
def test_same_dialect_keeps_every_member(openai_client, kind, upstream):
    wanted = {
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "1e5 \u2028 <tag>"}]}],
        "metadata": {"a": "b"},
        "store": True,
        "truncation": "auto",
        "text": {"verbosity": "low"},
        "prompt_cache_key": "k",
        "tools": [{"type": "web_search"}],
    }
    openai_client.responses.create(model=kind.model(), **wanted)
    assert upstream.last()["json"] == {"model": kind.model().partition("/")[2], **wanted}


@gateway_only
@kinds("anthropic", "chat", "cohere")
def test_what_cannot_be_expressed_is_named(openai_client, kind):
    raw = openai_client.responses.with_raw_response.create(
        model=kind.model(), input="x", truncation="auto", metadata={"a": "b"}
    )
    assert "truncation" in raw.headers["x-trestle-dropped"]


# Errors


@gateway_only
def test_unknown_key():
    with openai.OpenAI(base_url=f"{URL}/v1", api_key="sk-nobody", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError) as caught:
            client.responses.create(model=Kind("responses").model(), input="x")
    assert "sk-nobody" not in str(caught.value)


@every_kind
def test_bad_request_names_the_member(openai_client, kind):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.responses.create(model=kind.model(), input=[{"role": "user", "content": 7}])
    assert caught.value.param == "input[0].content"


@kinds("responses", "openai")
def test_bad_request_of_the_upstream(openai_client, kind):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.responses.create(model=kind.model(), input="x", max_output_tokens=1)
    assert (caught.value.param, caught.value.code) == ("max_output_tokens", "integer_below_min_value")


@remote_kinds
def test_rate_limit(openai_client, kind):
    with pytest.raises(openai.RateLimitError) as caught:
        openai_client.responses.create(model=kind.limited(60), input="x")
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 60


@remote_kinds
@pytest.mark.parametrize("settings", ["status=500", "html_error", "cause=overloaded"])
@pytest.mark.parametrize("stream", [False, True])
def test_upstream_failure(openai_client, kind, settings, stream):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.responses.create(model=kind.model(settings), input="x", stream=stream)
    assert caught.value.status_code >= 500 and caught.value.message


@gateway_only
@remote_kinds
def test_malformed_answer(openai_client, kind):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.responses.create(model=kind.model("malformed_json"), input="x")
    assert caught.value.status_code == 502


@remote_kinds
@pytest.mark.parametrize("settings", ["error_event", "error_event+cause=overloaded"])
def test_error_before_content(openai_client, kind, settings):
    if DIRECT and "cause" in settings:
        pytest.skip("the client itself shows a failed answer as an event")
    with pytest.raises(openai.APIError):
        list(openai_client.responses.create(model=kind.model(settings), input="x", stream=True))


@remote_kinds
@pytest.mark.parametrize("failure", ["error_event_mid=2", "reset_mid=2", "cut_mid=2", "close_mid=2"])
def test_failure_in_mid_stream_is_an_error(openai_client, kind, failure):
    if DIRECT and failure == "close_mid=2":
        pytest.skip("the client itself does not miss the end")
    stream = openai_client.responses.create(
        model=kind.model(f"tokens=50+gap_ms=1+{failure}"), input="x", stream=True
    )
    texts, types = [], []
    # Straight at the mock a broken connection comes up as the transport's own error.
    with pytest.raises(Exception if DIRECT else openai.APIError):
        for event in stream:
            types.append(event.type)
            texts += [event.delta] if event.type == "response.output_text.delta" else []
    assert texts == ["word0 ", "word1 "] and "response.completed" not in types


# Fallbacks, time, headers


@gateway_only
@both_ways
@pytest.mark.parametrize("group", ["fallback", "fallback-silent", "fallback-in-stream", "fallback-limited"])
def test_fallback(openai_client, group, streamed):
    if group == "fallback-in-stream" and not streamed:
        pytest.skip("an error inside of a stream")
    raw = openai_client.responses.with_raw_response.create(model=group, input=TEXT, stream=streamed)
    assert raw.headers["x-trestle-provider"] == "anthropic" and raw.headers["x-trestle-attempts"] == "2"
    answer = raw.parse()
    if streamed:
        answer = list(answer)[-1].response
    assert answer.output_text == TEXT


@gateway_only
@both_ways
def test_first_token_timeout(openai_client, streamed):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.responses.create(model="impatient/gpt-4o-mini+silent", input="x", stream=streamed)
    assert caught.value.status_code == 504


@gateway_only
@pytest.mark.parametrize("silence", ["silent_mid=2", "keepalive"])
def test_idle_stream(openai_client, silence):
    with pytest.raises(openai.APIError):
        list(openai_client.responses.create(model=f"impatient/gpt-4o-mini+{silence}", input="x", stream=True))


@remote_kinds
def test_closing_a_stream_aborts_the_upstream(openai_client, kind, upstream):
    stream = openai_client.responses.create(model=kind.model("tokens=10000+gap_ms=5"), input="x", stream=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()
    upstream.wait_aborted()


@gateway_only
@every_kind
def test_headers_of_the_answer(openai_client, kind):
    raw = openai_client.responses.with_raw_response.create(model=kind.model(), input=TEXT)
    provider, _, model = kind.model().partition("/")
    assert (raw.headers["x-trestle-provider"], raw.headers["x-trestle-model"]) == (provider, model)
    assert raw.parse()._request_id == raw.headers["x-request-id"]


@gateway_only
@remote_kinds
def test_what_the_upstream_sees(openai_client, kind, upstream):
    openai_client.responses.create(model=kind.model(), input=TEXT, extra_headers={"cookie": "a=b", "x-other": "c"})
    seen = upstream.last()
    assert KEY not in json.dumps(seen["headers"]) and KEY not in seen["body"]
    assert "sk-upstream" in json.dumps(seen["headers"])
    assert not {"cookie", "x-other"} & set(seen["headers"])
    path = {"anthropic": "/messages", "cohere": "/chat", "chat": "/completions", "bedrock": "/converse"}
    path |= {"responses": "/responses", "openai": "/responses"}
    assert seen["path"].endswith(path.get(kind.name, ":generateContent"))
