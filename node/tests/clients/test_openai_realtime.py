"""The OpenAI client's sessions over WebSocket."""

import asyncio
import base64
import json

import openai
import pytest
import websockets.exceptions

from conftest import DIRECT, KEY, URL, gateway_only

MODEL = "gpt-realtime" if DIRECT else "openai/gpt-realtime"
ADDRESS = {"base_url": f"{URL}/v1", "websocket_base_url": f"{URL}/v1".replace("http", "ws", 1)}


@pytest.fixture
def client():
    with openai.OpenAI(**ADDRESS, api_key=KEY, max_retries=0, timeout=30) as client:
        yield client


def said(connection):
    """The text of a response, and the event that ends it."""
    text = ""
    for event in connection:
        if event.type == "response.output_text.delta":
            text += event.delta
        elif event.type == "response.done":
            return text, event
        else:
            assert event.type == "response.created", event


def test_conversation(client, upstream):
    with client.realtime.connect(model=MODEL) as connection:
        created = connection.recv()
        assert created.type == "session.created" and created.session.model == "gpt-realtime"
        connection.session.update(session={"type": "realtime", "instructions": "Be brief."})
        updated = connection.recv()
        assert updated.type == "session.updated" and updated.session.instructions == "Be brief."
        content = [{"type": "input_text", "text": "Grüße 🌉"}]
        connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        added = connection.recv()
        assert added.type == "conversation.item.added" and added.item.content[0].text == "Grüße 🌉"
        for _ in range(2):
            connection.response.create()
            text, done = said(connection)
            assert text == "HelloHelloHello"
            assert done.response.usage.input_token_details.audio_tokens == 12
    upstream.wait(lambda journal: journal["requests"][-1]["done"], "the session was closed")
    headers = dict(upstream.requests()[-1]["headers"])
    assert headers["authorization"] == "Bearer " + (KEY if DIRECT else "sk-upstream")


def test_sound(client):
    with client.realtime.connect(model=MODEL) as connection:
        assert connection.recv().type == "session.created"
        for _ in range(20):
            connection.input_audio_buffer.append(audio=base64.b64encode(bytes(24_000)).decode())
        connection.input_audio_buffer.commit()
        committed = connection.recv()
        assert committed.type == "input_audio_buffer.committed" and committed.bytes == 480_000


def test_async_sessions_side_by_side():
    async def one(client):
        async with client.realtime.connect(model=MODEL + "+tokens=20+gap_ms=2") as connection:
            assert (await connection.recv()).type == "session.created"
            await connection.response.create()
            text = ""
            async for event in connection:
                if event.type == "response.done":
                    return text
                text += getattr(event, "delta", "")

    async def many():
        async with openai.AsyncOpenAI(**ADDRESS, api_key=KEY, max_retries=0) as client:
            return await asyncio.gather(*(one(client) for _ in range(20)))

    assert asyncio.run(many()) == ["Hello" * 20] * 20


def test_model_of_a_session_is_that_of_its_url(client):
    with client.realtime.connect(model=MODEL) as connection:
        assert connection.recv().type == "session.created"
        connection.session.update(session={"type": "realtime", "model": "gpt-4o-realtime"})
        error = connection.recv()
        assert error.type == "error" and "model" in error.error.message
        connection.session.update(session={"type": "realtime", "model": MODEL})
        updated = connection.recv()
        assert updated.type == "session.updated" and updated.session.model == "gpt-realtime"


def test_goodbye_of_the_upstream(client):
    with client.realtime.connect(model=MODEL + "+close_mid=1") as connection:
        assert connection.recv().type == "session.created"
        connection.response.create()
        with pytest.raises(websockets.exceptions.ConnectionClosed) as caught:
            while True:
                connection.recv()
    assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (4001, "session expired")


@gateway_only
@pytest.mark.parametrize(
    ("model", "key", "status", "says"),
    [
        ("no-such-model", KEY, 404, "no-such-model"),
        (MODEL, "sk-nobody", 401, "not known"),
        ("broken/gpt-realtime", KEY, 502, "server"),
        ("openai/m+status=400", KEY, 400, ""),
        ("limited-openai/gpt-realtime", KEY, 429, ""),
    ],
)
def test_refusals_are_ordinary_errors(model, key, status, says):
    with openai.OpenAI(**ADDRESS, api_key=key, max_retries=0) as client:
        with pytest.raises(websockets.exceptions.InvalidStatus) as caught:
            with client.realtime.connect(model=model):
                pass
    answer = caught.value.response
    assert answer.status_code == status
    assert says in json.loads(answer.body)["error"]["message"]


@gateway_only
def test_key_as_a_protocol():
    """As browsers do it, which cannot send a header."""
    import websockets.sync.client

    protocols = ["realtime", f"openai-insecure-api-key.{KEY}"]
    url = f"{ADDRESS['websocket_base_url']}/realtime?model={MODEL}"
    with websockets.sync.client.connect(url, subprotocols=protocols) as connection:
        assert connection.subprotocol == "realtime"
        assert json.loads(connection.recv())["type"] == "session.created"
