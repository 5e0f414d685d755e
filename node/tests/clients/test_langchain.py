"""LangChain's ChatOpenAI, over Chat Completions and over Responses, against each kind of provider."""

import asyncio

import openai
import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from conftest import DIRECT, KEY, PNG, URL, Kind, gateway_only

TEXT = "Say 世界 and 🎉 to me"
NAMES = ["chat", "openai", "anthropic", "gemini", "bedrock", "responses", "cohere"]

# Straight at the mock each interface has its own model: the one that reasons, or the other.
PAIRS = [("chat", False), ("responses", True)] if DIRECT else [(name, over) for name in NAMES for over in (False, True)]
pairs = pytest.mark.parametrize(
    ("kind", "responses"),
    [(Kind(name), over) for name, over in PAIRS],
    ids=[f"{name}-{'responses' if over else 'chat'}" for name, over in PAIRS],
)
streams = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def model(kind, responses=False, settings="", **more):
    url = f"{URL}/v1" if DIRECT else f"{URL}/langchain"
    return ChatOpenAI(
        model=kind.model(settings),
        base_url=url,
        api_key=KEY,
        max_retries=0,
        use_responses_api=responses,
        stream_usage=True,
        **more,
    )


def run(runnable, streamed, messages):
    """The whole answer, also of a stream, and the texts of its pieces."""
    if not streamed:
        answer = runnable.invoke(messages)
        return answer, [answer.text]
    whole, texts = None, []
    for piece in runnable.stream(messages):
        whole = piece if whole is None else whole + piece
        texts += [piece.text] if piece.text else []
    return whole, texts


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"21 degrees in {len(city)} letters"


@tool
def clock(zone: str) -> str:
    """The time in a zone."""
    return "noon"


TOOLS = {"weather": weather, "clock": clock}


@pairs
@streams
def test_answer(kind, responses, streamed):
    answer, pieces = run(model(kind, responses), streamed, [SystemMessage("Be brief."), HumanMessage(TEXT)])
    assert answer.text == TEXT and (not streamed or len(pieces) > 1)
    usage = answer.usage_metadata
    assert usage["input_tokens"] > 0 and usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@pairs
@streams
def test_tools_over_two_turns(kind, responses, streamed):
    bound = model(kind, responses).bind_tools([weather, clock])
    messages = [HumanMessage("call two tools with text")]
    first, _ = run(bound, streamed, messages)
    assert [call["name"] for call in first.tool_calls] == ["weather", "clock"] and not first.invalid_tool_calls
    assert first.text == "call two tools with text"
    messages.append(first)
    messages += [TOOLS[call["name"]].invoke(call) for call in first.tool_calls]
    assert all(isinstance(message, ToolMessage) for message in messages[2:])
    second, _ = run(bound, streamed, messages)
    assert second.text == "The tool said: 21 degrees in 24 letters and noon"


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int


@pairs
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(kind, responses, method):
    asked = model(kind, responses).with_structured_output(Person, method=method)
    assert asked.invoke("Ada").name == "Ada"


@pairs
def test_structured_output_streamed(kind, responses):
    *_, last = model(kind, responses).with_structured_output(Person, method="json_schema").stream("Ada")
    assert last == Person(name="Ada", age=1)


@pairs
def test_images(kind, responses):
    picture = {"type": "image", "base64": PNG, "mime_type": "image/png"}
    message = HumanMessage(content=[{"type": "text", "text": "look"}, picture])
    assert model(kind, responses).invoke([message]).text == "look (saw 1 images)"


@pytest.mark.parametrize("kind", [Kind("responses")] if DIRECT else [Kind("responses"), Kind("anthropic")], ids=lambda k: k.name)
@streams
def test_reasoning_over_two_turns(kind, streamed):
    more = {"include": ["reasoning.encrypted_content"], "store": False}
    bound = model(kind, True, reasoning={"effort": "low", "summary": "auto"}, **more).bind_tools([weather])
    messages = [HumanMessage("call tool")]
    first, _ = run(bound, streamed, messages)
    thoughts = [block["reasoning"] for block in first.content_blocks if block["type"] == "reasoning"]
    assert thoughts == ["The user wrote: call tool"]
    # The upstream checks the proof of what comes back.
    messages += [first, *(weather.invoke(call) for call in first.tool_calls)]
    second, _ = run(bound, streamed, messages)
    assert second.text == "The tool said: 21 degrees in 9 letters"


@pytest.fixture(scope="module")
def loop():
    """One for all tests: the client keeps its connections from one to the next."""
    with asyncio.Runner() as runner:
        yield runner


@pairs
def test_async(kind, responses, loop):
    async def gather():
        asked = model(kind, responses)
        answers = await asyncio.gather(*(asked.ainvoke(f"text {n}") for n in range(5)))
        pieces = [piece.text async for piece in asked.astream(TEXT)]
        return [answer.text for answer in answers], "".join(pieces)

    assert loop.run(gather()) == ([f"text {n}" for n in range(5)], TEXT)


@pairs
def test_errors(kind, responses):
    with pytest.raises(openai.InternalServerError):
        model(kind, responses, "status=500").invoke("x")


@pairs
def test_failure_in_mid_stream_is_an_error(kind, responses):
    pieces = []
    with pytest.raises((openai.APIError, ValueError)):
        for piece in model(kind, responses, "tokens=50+gap_ms=1+error_event_mid=2").stream("x"):
            pieces.append(piece.text)
    assert "".join(pieces) == "word0 word1 "


@gateway_only
@pytest.mark.parametrize("responses", [False, True])
def test_fallback(responses):
    asked = ChatOpenAI(model="fallback", base_url=f"{URL}/langchain", api_key=KEY, use_responses_api=responses)
    assert asked.invoke(TEXT).text == TEXT


def test_embeddings():
    name = "text-embedding-3-small" if DIRECT else "openai/text-embedding-3-small"
    # It counts tokens with a table that it would fetch.
    asked = OpenAIEmbeddings(
        model=name, base_url=f"{URL}/v1", api_key=KEY, dimensions=8, check_embedding_ctx_length=False
    )
    assert [len(vector) for vector in asked.embed_documents(["a", "b"])] == [8, 8]
