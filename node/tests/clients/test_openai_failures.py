"""What the OpenAI client sees when something fails: errors, fallbacks, timeouts, cancellation; and the headers."""

import asyncio
import json

import openai
import pytest

from conftest import DIRECT, KEY, URL, Kind, async_openai, gateway_only
from test_openai import TEXT, ask, every_kind, kinds, read, remote_kinds

# Errors


@gateway_only
def test_unknown_key():
    with openai.OpenAI(base_url=f"{URL}/v1", api_key="sk-nobody", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError) as caught:
            client.chat.completions.create(model=Kind("openai").model(), messages=ask())
    assert "sk-nobody" not in str(caught.value) and caught.value.request_id


@gateway_only
@pytest.mark.parametrize("model", ["no-such-model", "nowhere/gpt-4o-mini"])
def test_unknown_model(openai_client, model):
    with pytest.raises(openai.NotFoundError) as caught:
        openai_client.chat.completions.create(model=model, messages=ask())
    assert model in caught.value.message


@every_kind
def test_bad_request_names_the_member(openai_client, kind):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.chat.completions.create(model=kind.model(), messages=[{"role": "user", "content": 7}])
    assert caught.value.param == "messages[0].content"


@kinds("openai")
def test_bad_request_of_the_upstream(openai_client, kind):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.chat.completions.create(model=kind.model(), messages=ask(), temperature=5)
    assert caught.value.param == "temperature" and caught.value.type == "invalid_request_error"


@gateway_only
def test_malformed_body():
    with openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0) as client:
        body = b'{"model": "openai/gpt-4o-mini", "messages": [{"role": "user", "content": "x}]}'
        with pytest.raises(openai.BadRequestError) as caught:
            client.post("/chat/completions", cast_to=object, content=body)
    assert "line 1" in caught.value.message


@remote_kinds
def test_rate_limit(openai_client, kind):
    with pytest.raises(openai.RateLimitError) as caught:
        openai_client.chat.completions.create(model=kind.limited(60), messages=ask())
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 60


@remote_kinds
def test_upstream_failure(openai_client, kind):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.chat.completions.create(model=kind.model("status=500"), messages=ask())
    assert caught.value.status_code >= 500 and caught.value.message


@remote_kinds
def test_html_error(openai_client, kind):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.chat.completions.create(model=kind.model("html_error"), messages=ask())
    assert caught.value.status_code == 502


@gateway_only
@remote_kinds
def test_malformed_answer(openai_client, kind):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.chat.completions.create(model=kind.model("malformed_json"), messages=ask())
    assert caught.value.status_code == 502


# Streams that fail


@remote_kinds
def test_error_before_content(openai_client, kind):
    with pytest.raises(openai.APIError):
        stream = openai_client.chat.completions.create(model=kind.model("error_event"), messages=ask(), stream=True)
        list(stream)


@remote_kinds
@pytest.mark.parametrize("failure", ["error_event_mid=2", "reset_mid=2", "cut_mid=2", "close_mid=2"])
def test_failure_in_mid_stream_is_an_error(openai_client, kind, failure):
    if DIRECT and failure == "close_mid=2":
        pytest.skip("the client itself does not miss the end mark")
    stream = openai_client.chat.completions.create(
        model=kind.model(f"tokens=50+gap_ms=1+{failure}"), messages=ask(), stream=True
    )
    texts, finished = [], []
    # Straight at the mock a broken connection comes up as the transport's own error.
    with pytest.raises(Exception if DIRECT else openai.APIError):
        for chunk in stream:
            texts += [choice.delta.content for choice in chunk.choices if choice.delta.content]
            finished += [choice.finish_reason for choice in chunk.choices if choice.finish_reason]
    assert texts == ["word0 ", "word1 "] and finished == []


@gateway_only
@remote_kinds
def test_failure_in_mid_stream_is_an_error_for_async_clients(kind):
    async def run():
        async with async_openai() as client:
            model = kind.model("tokens=50+gap_ms=1+reset_mid=3")
            async for _ in await client.chat.completions.create(model=model, messages=ask(), stream=True):
                pass

    with pytest.raises(openai.APIError):
        asyncio.run(run())


# Fallbacks


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("group", ["fallback", "fallback-silent", "fallback-in-stream", "fallback-limited"])
def test_fallback(openai_client, group, streamed):
    if group == "fallback-in-stream" and not streamed:
        pytest.skip("an error inside of a stream")
    raw = openai_client.chat.completions.with_raw_response.create(model=group, messages=ask(), stream=streamed)
    assert raw.headers["x-trestle-provider"] == "anthropic"
    assert raw.headers["x-trestle-model"] == "claude-sonnet-4-5"
    assert int(raw.headers["x-trestle-attempts"]) == 2
    answer = raw.parse()
    if streamed:
        assert read(answer)[:2] == (TEXT, ["stop"])
    else:
        assert answer.choices[0].message.content == TEXT


@gateway_only
def test_fallbacks_of_one_request(openai_client, upstream):
    dead, alive = Kind("openai").model("status=500"), Kind("openai").model()
    raw = openai_client.chat.completions.with_raw_response.create(
        model=dead, messages=ask(), extra_body={"fallbacks": [alive]}
    )
    assert raw.parse().choices[0].message.content == TEXT and raw.headers["x-trestle-attempts"] == "2"
    assert "fallbacks" not in upstream.last()["json"]
    raw = openai_client.chat.completions.with_raw_response.create(
        model=dead, messages=ask(), extra_headers={"x-trestle-fallbacks": alive}
    )
    assert raw.headers["x-trestle-attempts"] == "2"
    assert "x-trestle-fallbacks" not in upstream.last()["headers"]


@gateway_only
def test_when_all_fail_every_attempt_is_told(openai_client):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.chat.completions.create(model="all-fail", messages=ask())
    told = json.dumps(caught.value.body)
    assert "broken/gpt-4o-mini" in told and "broken/gpt-4o" in told and "500" in told


# Time


@remote_kinds
def test_client_timeout(openai_client, kind):
    with pytest.raises(openai.APITimeoutError):
        openai_client.with_options(timeout=0.2).chat.completions.create(
            model=kind.model("silent"), messages=ask(), stream=True
        )


@gateway_only
@pytest.mark.parametrize("streamed", [False, True])
def test_first_token_timeout(openai_client, streamed):
    with pytest.raises(openai.InternalServerError) as caught:
        openai_client.chat.completions.create(
            model="impatient/gpt-4o-mini+silent", messages=ask(), stream=streamed
        )
    assert caught.value.status_code == 504


@gateway_only
@pytest.mark.parametrize("silence", ["silent_mid=2", "keepalive"])
def test_idle_stream(openai_client, silence):
    with pytest.raises(openai.APIError):
        list(openai_client.chat.completions.create(
            model=f"impatient/gpt-4o-mini+{silence}", messages=ask(), stream=True
        ))


@remote_kinds
def test_closing_a_stream_aborts_the_upstream(openai_client, kind, upstream):
    stream = openai_client.chat.completions.create(
        model=kind.model("tokens=10000+gap_ms=5"), messages=ask(), stream=True
    )
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()
    upstream.wait_aborted()


@remote_kinds
def test_cancelling_a_task_aborts_the_upstream(kind, upstream):
    async def run():
        async with async_openai() as client:
            seen = asyncio.Event()

            async def consume():
                stream = await client.chat.completions.create(
                    model=kind.model("tokens=10000+gap_ms=5"), messages=ask(), stream=True
                )
                async for _ in stream:
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
def test_headers_of_the_answer(openai_client, kind):
    raw = openai_client.chat.completions.with_raw_response.create(
        model=kind.model(), messages=ask(), extra_headers={"x-request-id": "mine"}
    )
    provider, _, model = kind.model().partition("/")
    assert raw.headers["x-trestle-provider"] == provider
    assert raw.headers["x-trestle-model"] == model
    assert raw.headers["x-trestle-attempts"] == "1"
    assert raw.headers["x-request-id"] not in ("", "mine")
    assert raw.parse()._request_id == raw.headers["x-request-id"]


@gateway_only
@remote_kinds
def test_what_the_upstream_sees(openai_client, kind, upstream):
    openai_client.chat.completions.create(
        model=kind.model(), messages=ask(), extra_headers={"cookie": "a=b", "x-other": "c"}
    )
    seen = upstream.last()
    assert KEY not in json.dumps(seen["headers"]) and KEY not in seen["body"]
    assert "sk-upstream" in json.dumps(seen["headers"])
    own = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(kind.vendor, "authorization")
    others = {"cookie", "x-other", "x-api-key", "x-goog-api-key", "authorization"} - {own}
    assert own in seen["headers"] and not others & set(seen["headers"])


@gateway_only
@kinds("openai")
def test_same_dialect_keeps_every_member(openai_client, kind, upstream):
    wanted = {
        "messages": ask("1e5 \u2028 <tag>"),
        "seed": 7,
        "logit_bias": {"50256": -100},
        "metadata": {"a": "b"},
        "store": False,
        "user": "u1",
    }
    openai_client.chat.completions.create(model=kind.model(), **wanted)
    assert upstream.last()["json"] == {"model": "gpt-4o-mini", **wanted}


@gateway_only
@kinds("anthropic", "bedrock", "responses")
def test_what_cannot_be_expressed_is_named(openai_client, kind):
    raw = openai_client.chat.completions.with_raw_response.create(
        model=kind.model(), messages=ask(), seed=7, logit_bias={"50256": -100}
    )
    dropped = raw.headers["x-trestle-dropped"]
    assert "seed" in dropped and "logit_bias" in dropped
