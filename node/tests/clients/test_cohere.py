"""Cohere v2 by the official client, against each kind of provider."""

import asyncio
import json

import cohere
import pytest
from cohere.core import ApiError

from conftest import DIRECT, KEY, PNG, URL, Kind, cohere_at, gateway_only
from conftest import kinds as kinds_of

TEXT = "Say 世界 and 🎉 to me"


def kinds(*names):
    return kinds_of(*names, native="cohere")


remote_kinds = kinds("cohere", "openai", "anthropic", "responses", "gemini", "gemini-3", "bedrock")
every_kind = kinds("cohere", "openai", "anthropic", "responses", "gemini", "gemini-3", "bedrock", "mock")
both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": f"The {name}", "parameters": schema}}


WEATHER = tool("weather", city={"type": "string"})
CLOCK = tool("clock", zone={"type": "string"})
NOW = tool("now")


def ask(text=TEXT):
    return [{"role": "user", "content": text}]


def text_of(message):
    return "".join(part.text for part in message.content or [] if part.type == "text")


def thoughts_of(message):
    return "".join(part.thinking for part in message.content or [] if part.type == "thinking")


class Gathered:
    """A stream, put together again."""

    def __init__(self, stream):
        self.types, self.content, self.plan, self.calls, self.citations = [], [], "", [], []
        self.finish_reason = self.usage = None
        for event in stream:
            self.types.append(event.type)
            self.take(event)

    def take(self, event):
        match event.type:
            case "content-start":
                content = event.delta.message.content
                assert event.index == len(self.content)
                self.content.append([content.type, getattr(content, content.type) or ""])
            case "content-delta":
                content = event.delta.message.content
                self.content[event.index][1] += content.text or content.thinking or ""
            case "tool-plan-delta":
                self.plan += event.delta.message.tool_plan
            case "tool-call-start":
                call = event.delta.message.tool_calls
                assert event.index == len(self.calls) and call.type == "function"
                self.calls.append([call.id, call.function.name, call.function.arguments or ""])
            case "tool-call-delta":
                self.calls[event.index][2] += event.delta.message.tool_calls.function.arguments
            case "citation-start":
                self.citations.append(event.delta.message.citations)
            case "message-end":
                self.finish_reason, self.usage = event.delta.finish_reason, event.delta.usage

    @property
    def text(self):
        return "".join(text for kind, text in self.content if kind == "text")

    @property
    def thoughts(self):
        return "".join(text for kind, text in self.content if kind == "thinking")

    def turn(self):
        content = [{"type": kind, kind: text} for kind, text in self.content]
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in self.calls
        ]
        said = {"role": "assistant", "content": content, "tool_plan": self.plan, "tool_calls": calls}
        return {name: value for name, value in said.items() if value}


def chat(client, streamed, **asked):
    """An answer: text, thoughts, plan, calls, why it ended, and the turn to repeat."""
    if streamed:
        found = Gathered(client.chat_stream(**asked))
        calls = [(name, json.loads(arguments)) for _, name, arguments in found.calls]
        return found.text, found.thoughts, found.plan, calls, found.finish_reason, found.turn()
    answer = client.chat(**asked)
    message = answer.message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    turn = message.model_dump(exclude_none=True)
    return text_of(message), thoughts_of(message), message.tool_plan or "", calls, answer.finish_reason, turn


# Chat


@every_kind
def test_chat(cohere_client, kind):
    answer = cohere_client.chat(model=kind.model(), messages=ask())
    assert answer.id and answer.message.role == "assistant"
    assert (text_of(answer.message), answer.finish_reason) == (TEXT, "COMPLETE")
    assert answer.usage.billed_units.input_tokens > 0 and answer.usage.billed_units.output_tokens > 0
    assert answer.usage.tokens.input_tokens >= answer.usage.billed_units.input_tokens


@remote_kinds
def test_system_and_turns(cohere_client, kind, upstream):
    messages = [
        {"role": "system", "content": "Be brief."},
        *ask("one"),
        {"role": "assistant", "content": [{"type": "text", "text": "said"}]},
        *ask([{"type": "text", "text": TEXT}]),
    ]
    assert text_of(cohere_client.chat(model=kind.model(), messages=messages).message) == TEXT
    assert "Be brief." in upstream.last()["body"]


@kinds("cohere", "openai", "anthropic")
@both_ways
def test_stop_and_length(cohere_client, kind, streamed):
    asked = {"model": kind.model(), "messages": ask("one END two three")}
    text, *_, reason, _ = chat(cohere_client, streamed, stop_sequences=["END"], **asked)
    # Chat Completions does not tell a stop sequence from an end.
    assert (text, reason) == ("one ", "COMPLETE" if kind.name == "openai" else "STOP_SEQUENCE")
    text, *_, reason, _ = chat(cohere_client, streamed, max_tokens=1, **asked)
    assert (text, reason) == ("one ", "MAX_TOKENS")


@remote_kinds
def test_sampling(cohere_client, kind):
    if kind.name == "responses":
        pytest.skip("a model that reasons takes no sampling")
    answer = cohere_client.chat(model=kind.model(), messages=ask(), temperature=0.4, p=0.9)
    assert text_of(answer.message) == TEXT


@remote_kinds
def test_images(cohere_client, kind):
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]
    answer = cohere_client.chat(model=kind.model(), messages=ask(parts))
    assert text_of(answer.message) == "look (saw 1 images)"


@remote_kinds
@both_ways
def test_json_schema(cohere_client, kind, streamed):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = {"type": "json_object", "json_schema": schema}
    text, *_ = chat(cohere_client, streamed, model=kind.model(), messages=ask("Ada"), response_format=form)
    assert json.loads(text) == {"name": "Ada"}


DOCUMENTS = [{"id": "doc-1", "data": {"title": "Penguins", "text": "Emperor penguins are tall."}}]


@kinds("cohere")
@both_ways
def test_citations(cohere_client, kind, streamed):
    asked = {"model": kind.model(), "messages": ask("one two"), "documents": DOCUMENTS}
    if streamed:
        found = Gathered(cohere_client.chat_stream(**asked))
        assert found.types.count("citation-start") == found.types.count("citation-end") == 1
        (citation,) = found.citations
    else:
        (citation,) = cohere_client.chat(**asked).message.citations
    assert (citation.start, citation.end, citation.text) == (0, 3, "one")
    assert citation.sources[0].id == "doc-1" and citation.sources[0].document["title"] == "Penguins"


@gateway_only
@kinds("openai", "anthropic", "responses")
def test_documents_are_told_to_every_vendor(cohere_client, kind, upstream):
    answer = cohere_client.chat(model=kind.model(), messages=ask("one two"), documents=DOCUMENTS)
    assert "one two" in text_of(answer.message)
    assert "Emperor penguins are tall." in upstream.last()["body"]


# Streams


@every_kind
def test_stream(cohere_client, kind):
    found = Gathered(cohere_client.chat_stream(model=kind.model(), messages=ask()))
    assert (found.text, found.finish_reason) == (TEXT, "COMPLETE")
    assert found.types[:2] == ["message-start", "content-start"]
    assert found.types[-2:] == ["content-end", "message-end"] and found.types.count("content-delta") > 1
    assert found.usage.billed_units.input_tokens > 0 and found.usage.billed_units.output_tokens > 0


@remote_kinds
@pytest.mark.parametrize("form", ["crlf", "nospace", "comment", "dribble", "gzip"])
def test_stream_forms(cohere_client, kind, form):
    found = Gathered(cohere_client.chat_stream(model=kind.model(form), messages=ask("short 世界")))
    assert (found.text, found.finish_reason) == ("short 世界", "COMPLETE")


def test_async():
    async def run():
        client = cohere_at(URL, cohere.AsyncClientV2)
        model = Kind("cohere").model()
        answers = await asyncio.gather(*(client.chat(model=model, messages=ask(f"text {n}")) for n in range(10)))
        texts = [text_of(answer.message) for answer in answers]
        stream = client.chat_stream(model=model, messages=ask())
        deltas = [event.delta.message.content.text async for event in stream if event.type == "content-delta"]
        return texts, "".join(deltas)

    assert asyncio.run(run()) == ([f"text {n}" for n in range(10)], TEXT)


@gateway_only
def test_prefixed_base_url():
    client = cohere_at(f"{URL}/cohere")
    assert text_of(client.chat(model=Kind("cohere").model(), messages=ask()).message) == TEXT


# Tools


def results(turn, *texts):
    calls = turn["tool_calls"]
    assert len(calls) == len(texts)
    answers = [
        {"role": "tool", "tool_call_id": call["id"], "content": [{"type": "document", "document": {"data": {"text": text}}}]}
        for call, text in zip(calls, texts)
    ]
    return [turn, *answers]


@remote_kinds
@both_ways
def test_tools_over_two_turns(cohere_client, kind, streamed):
    messages, asked = ask("call two tools with plan"), {"model": kind.model(), "tools": [WEATHER, CLOCK]}
    text, _, plan, calls, reason, turn = chat(cohere_client, streamed, messages=messages, **asked)
    assert calls == [
        ("weather", {"city": "call two tools with plan"}),
        ("clock", {"zone": "call two tools with plan"}),
    ]
    assert reason == "TOOL_CALL"
    assert kind.name != "cohere" or plan == "I will use a tool."
    messages += results(turn, "21 degrees", "noon")
    text, *_, reason, _ = chat(cohere_client, streamed, messages=messages, **asked)
    assert (text, reason) == ("The tool said: 21 degrees and noon", "COMPLETE")


@remote_kinds
@both_ways
def test_tool_without_arguments(cohere_client, kind, streamed):
    messages, asked = ask("call empty tool"), {"model": kind.model(), "tools": [NOW]}
    *_, calls, _, turn = chat(cohere_client, streamed, messages=messages, **asked)
    assert calls == [("now", {})]
    text, *_ = chat(cohere_client, streamed, messages=messages + results(turn, "noon"), **asked)
    assert text == "The tool said: noon"


@remote_kinds
def test_tool_arguments_are_streamed(cohere_client, kind):
    city = "call two tools for a city with a long name"
    found = Gathered(cohere_client.chat_stream(model=kind.model(), messages=ask(city), tools=[WEATHER, CLOCK]))
    assert [json.loads(arguments) for _, _, arguments in found.calls] == [{"city": city}, {"zone": city}]
    # Gemini sends them whole.
    assert found.types.count("tool-call-delta") > (1 if kind.vendor == "gemini" else 4) and found.finish_reason == "TOOL_CALL"
    assert found.types.count("tool-call-start") == found.types.count("tool-call-end") == 2


@remote_kinds
def test_tool_choice(cohere_client, kind):
    asked = {"model": kind.model(), "messages": ask("hello"), "tools": [WEATHER]}
    for choice, expected in (("REQUIRED", ["weather"]), ("NONE", [])):
        answer = cohere_client.chat(tool_choice=choice, **asked)
        assert [call.function.name for call in answer.message.tool_calls or []] == expected


@gateway_only
@kinds("mock")
def test_tools_of_the_built_in_mock(cohere_client, kind):
    messages, asked = ask("hello"), {"model": kind.model(), "tools": [WEATHER]}
    *_, turn = chat(cohere_client, False, messages=messages, **asked)
    text, *_ = chat(cohere_client, False, messages=messages + results(turn, "21 degrees"), **asked)
    assert "21 degrees" in text


@kinds("cohere", "anthropic", "responses")
@both_ways
def test_thinking_over_two_turns(cohere_client, kind, streamed):
    messages = ask("call tool")
    asked = {"model": kind.model(), "tools": [WEATHER], "max_tokens": 4000}
    asked["thinking"] = {"type": "enabled", "token_budget": 1024}
    _, thoughts, plan, calls, _, turn = chat(cohere_client, streamed, messages=messages, **asked)
    assert thoughts + plan == "The user wrote: call tool" and calls == [("weather", {"city": "call tool"})]
    if kind.name == "anthropic":
        # The client drops the proof that the vendor wants back with a thought.
        turn = {name: value for name, value in turn.items() if name not in ("content", "tool_plan")}
        del asked["thinking"]
    text, *_ = chat(cohere_client, streamed, messages=messages + results(turn, "noon"), **asked)
    assert text == "The tool said: noon"


# Embeddings and ranks


@kinds("cohere")
def test_embed(cohere_client, kind):
    model = "embed-v4.0" if DIRECT else "cohere/embed-v4.0"
    answer = cohere_client.embed(
        model=model, input_type="search_query", texts=["a", "b"], embedding_types=["float"], output_dimension=8
    )
    assert [len(vector) for vector in answer.embeddings.float_] == [8, 8]
    assert answer.meta.billed_units.input_tokens > 0


@kinds("cohere")
def test_rerank(cohere_client, kind):
    model = "rerank-v3.5" if DIRECT else "cohere/rerank-v3.5"
    answer = cohere_client.rerank(model=model, query="big city", documents=["small", "big city", "city"], top_n=2)
    assert [result.index for result in answer.results] == [1, 2]
    assert answer.results[0].relevance_score > answer.results[1].relevance_score


# Errors


@gateway_only
def test_unknown_key():
    client = cohere.ClientV2("sk-nobody", base_url=URL, max_retries=0)
    with pytest.raises(cohere.UnauthorizedError) as caught:
        client.chat(model=Kind("cohere").model(), messages=ask())
    assert "sk-nobody" not in str(caught.value)


@gateway_only
def test_unknown_model(cohere_client):
    with pytest.raises(cohere.NotFoundError) as caught:
        cohere_client.chat(model="no-such-model", messages=ask())
    assert "no-such-model" in caught.value.body["message"]


@every_kind
def test_bad_request(cohere_client, kind):
    with pytest.raises(cohere.BadRequestError) as caught:
        cohere_client.chat(model=kind.model(), messages=[{"role": "user", "content": 7}])
    assert "content" in caught.value.body["message"]


@kinds("cohere")
def test_bad_request_of_the_upstream(cohere_client, kind):
    with pytest.raises(cohere.BadRequestError) as caught:
        cohere_client.chat(model=kind.model(), messages=ask(), temperature=5)
    assert "temperature" in caught.value.body["message"]
    unknown = {"additional_body_parameters": {"top_p": 0.5}}
    with pytest.raises(cohere.UnprocessableEntityError):
        cohere_client.chat(model=kind.model(), messages=ask(), request_options=unknown)


@remote_kinds
def test_rate_limit(cohere_client, kind):
    with pytest.raises(cohere.TooManyRequestsError) as caught:
        cohere_client.chat(model=kind.limited(60), messages=ask())
    assert 1 <= int(caught.value.headers["retry-after"]) <= 60 and caught.value.body["message"]


@remote_kinds
@both_ways
@pytest.mark.parametrize("settings", ["status=500", "html_error", "cause=overloaded"])
def test_upstream_failure(cohere_client, kind, settings, streamed):
    with pytest.raises(ApiError) as caught:
        if streamed:
            list(cohere_client.chat_stream(model=kind.model(settings), messages=ask()))
        else:
            cohere_client.chat(model=kind.model(settings), messages=ask())
    assert caught.value.status_code >= 500
    assert DIRECT or caught.value.body["message"]


@remote_kinds
def test_error_before_content(cohere_client, kind):
    stream = cohere_client.chat_stream(model=kind.model("error_event"), messages=ask())
    if DIRECT:
        assert Gathered(stream).finish_reason == "ERROR"
        return
    with pytest.raises(ApiError):
        Gathered(stream)


@remote_kinds
@pytest.mark.parametrize("failure", ["error_event_mid=2", "reset_mid=2", "cut_mid=2", "close_mid=2"])
def test_failure_in_mid_stream_is_an_error(cohere_client, kind, failure):
    if DIRECT and failure != "error_event_mid=2":
        pytest.skip("what the client makes of a broken connection is its own")
    model = kind.model(f"tokens=50+gap_ms=1+{failure}")
    found = Gathered(cohere_client.chat_stream(model=model, messages=ask(), max_tokens=1000))
    assert (found.text, found.finish_reason) == ("word0 word1 ", "ERROR")


@gateway_only
@both_ways
def test_fallback(cohere_client, streamed):
    text, *_ = chat(cohere_client, streamed, model="fallback", messages=ask())
    assert text == TEXT


@remote_kinds
def test_closing_a_stream_aborts_the_upstream(cohere_client, kind, upstream):
    stream = cohere_client.chat_stream(model=kind.model("tokens=10000+gap_ms=5"), messages=ask(), max_tokens=90_000)
    for event in stream:
        if event.type == "content-delta":
            break
    stream.close()
    upstream.wait_aborted()


@gateway_only
@remote_kinds
def test_what_the_upstream_sees(cohere_client, kind, upstream):
    cohere_client.chat(model=kind.model(), messages=ask())
    seen = upstream.last()
    assert KEY not in json.dumps(seen["headers"]) and KEY not in seen["body"]
    assert "sk-upstream" in json.dumps(seen["headers"])
    assert not [name for name in seen["headers"] if name.startswith("x-fern") or name == "x-client-name"]
