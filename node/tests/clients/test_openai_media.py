"""Sound and pictures with the official OpenAI client: forms in, text, events and bytes out."""

import base64
import io
import json

import openai
import pytest

from conftest import DIRECT, KEY, PNG, URL, async_openai, gateway_only

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt \r\n--\xff\x00" * 40
# Larger than what the gateway holds.
LARGE = base64.b64decode(PNG) + bytes(range(256)) * 40_000
PICTURE = base64.b64decode(PNG)


def model(name):
    return name if DIRECT else f"openai/{name}"


def sound(name="speech.wav"):
    file = io.BytesIO(WAV)
    file.name = name
    return file


def heard(name="speech.wav"):
    return f"I heard {len(WAV)} bytes of {name}"


def sent(upstream):
    """The headers and the body of the last request."""
    last = upstream.requests()[-1]
    return dict(last["headers"]), base64.b64decode(last["body_base64"])


def test_transcription(openai_client, upstream):
    answer = openai_client.audio.transcriptions.create(
        model=model("gpt-4o-transcribe"), file=sound(), prompt="a prompt", language="en", temperature=0.2
    )
    assert answer.text == heard()
    assert (answer.usage.type, answer.usage.input_tokens) == ("tokens", 12)
    assert answer.usage.input_token_details.audio_tokens == 10
    headers, body = sent(upstream)
    assert headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="model"\r\n\r\ngpt-4o-transcribe\r\n' in body and WAV in body


def test_transcription_in_each_form(openai_client):
    ask = lambda form, **more: openai_client.audio.transcriptions.create(
        model=model("whisper-1"), file=("a.mp3", WAV, "audio/mpeg"), response_format=form, **more
    )
    assert ask("text") == heard("a.mp3") + "\n"
    assert ask("srt").startswith("1\n00:00:00,000 --> ")
    assert ask("vtt").startswith("WEBVTT\n")
    verbose = ask("verbose_json", timestamp_granularities=["word", "segment"])
    assert (verbose.text, verbose.duration, verbose.usage.seconds) == (heard("a.mp3"), 1.0, 1)
    assert ask("json").text == heard("a.mp3")


def test_transcription_as_a_stream(openai_client):
    stream = openai_client.audio.transcriptions.create(model=model("gpt-4o-mini-transcribe"), file=sound(), stream=True)
    events = list(stream)
    assert "".join(event.delta for event in events[:-1]) == heard() and len(events) > 3
    assert (events[-1].type, events[-1].text, events[-1].usage.input_tokens) == ("transcript.text.done", heard(), 10)


def test_errors_of_the_vendor(openai_client):
    with pytest.raises(openai.BadRequestError, match="Unrecognized file format"):
        openai_client.audio.transcriptions.create(model=model("whisper-1"), file=sound("notes.txt"))
    with pytest.raises(openai.BadRequestError, match="not compatible with model") as caught:
        openai_client.audio.transcriptions.create(model=model("gpt-4o-transcribe"), file=sound(), response_format="srt")
    assert caught.value.param == "response_format"


@gateway_only
def test_errors_of_the_gateway(openai_client):
    with pytest.raises(openai.NotFoundError, match="no model"):
        openai_client.audio.transcriptions.create(model="nobody/x", file=sound())
    with pytest.raises(openai.BadRequestError, match="does not offer transcriptions"):
        openai_client.audio.transcriptions.create(model="anthropic/claude-sonnet-4-5", file=sound())


@gateway_only
def test_fallbacks_in_a_form(openai_client, upstream):
    answer = openai_client.audio.transcriptions.with_raw_response.create(
        model="broken/whisper-1", file=sound(), extra_body={"fallbacks": ["openai/whisper-1"]}
    )
    assert answer.parse().text == heard()
    assert (answer.headers["x-trestle-provider"], answer.headers["x-trestle-attempts"]) == ("openai", "2")
    assert b"fallbacks" not in sent(upstream)[1]


def test_translation(openai_client):
    answer = openai_client.audio.translations.create(model=model("whisper-1"), file=sound())
    assert answer.text == f"In English {len(WAV)} bytes"


def test_edit(openai_client, upstream):
    answer = openai_client.images.edit(
        model=model("gpt-image-1"),
        image=[("a.png", PICTURE, "image/png"), ("b.png", LARGE, "image/png")],
        mask=("mask.png", PICTURE, "image/png"),
        prompt="a cat",
        n=2,
    )
    assert len(answer.data) == 2 and base64.b64decode(answer.data[0].b64_json).startswith(b"\x89PNG")
    assert answer.usage.input_tokens_details.image_tokens == 646
    headers, body = sent(upstream)
    assert body.count(b'name="image[]"') == 2 and LARGE in body
    assert int(headers["content-length"]) == len(body)


def test_edit_as_a_stream(openai_client):
    stream = openai_client.images.edit(
        model=model("gpt-image-1"), image=("a.png", LARGE, "image/png"), prompt="a cat", stream=True, partial_images=2
    )
    types = [event.type for event in stream]
    assert types == ["image_edit.partial_image", "image_edit.partial_image", "image_edit.completed"]


def test_generation_as_a_stream(openai_client):
    stream = openai_client.images.generate(model=model("gpt-image-1"), prompt="a cat", stream=True, partial_images=1)
    events = list(stream)
    assert [event.type for event in events] == ["image_generation.partial_image", "image_generation.completed"]
    assert events[-1].usage.output_tokens == 272


def test_variation(openai_client):
    answer = openai_client.images.create_variation(model=model("dall-e-2"), image=("a.png", PICTURE, "image/png"), n=2)
    assert [image.url for image in answer.data] == ["https://images.example/1.png"] * 2


def test_speech(openai_client):
    ask = dict(model=model("gpt-4o-mini-tts"), voice="alloy", input="Hello 世界")
    whole = openai_client.audio.speech.create(**ask)
    assert whole.response.headers["content-type"] == "audio/mpeg"
    assert whole.content.startswith(b"ID3") and whole.content.endswith("Hello 世界".encode())
    with openai_client.audio.speech.with_streaming_response.create(**ask) as streamed:
        assert b"".join(streamed.iter_bytes()) == whole.content
    with openai_client.audio.speech.with_streaming_response.create(**ask, stream_format="sse") as streamed:
        data = [json.loads(line[6:]) for line in streamed.iter_lines() if line.startswith("data: ")]
    assert [event["type"] for event in data] == ["speech.audio.delta", "speech.audio.done"]
    assert base64.b64decode(data[0]["audio"]) == whole.content


@gateway_only
def test_large_file_that_nobody_may_send():
    """A client that is refused while it sends reads why, or loses its connection, but does not hang."""
    with openai.OpenAI(base_url=f"{URL}/v1", api_key="sk-wrong", max_retries=0, timeout=30) as client:
        with pytest.raises((openai.AuthenticationError, openai.APIConnectionError)):
            client.images.edit(model="openai/gpt-image-1", image=("a.png", LARGE * 3, "image/png"), prompt="a cat")


@gateway_only
def test_azure_paths(upstream):
    client = openai.AzureOpenAI(azure_endpoint=URL, api_key=KEY, api_version="2024-10-21", max_retries=0, timeout=30)
    with client:
        answer = client.audio.transcriptions.create(model="openai/whisper-1", file=sound())
        assert answer.text == heard()
        assert b'name="model"\r\n\r\nwhisper-1\r\n' in sent(upstream)[1]


def test_async():
    async def run():
        async with async_openai() as client:
            answer = await client.audio.transcriptions.create(model=model("whisper-1"), file=sound())
            return answer.text

    import asyncio

    assert asyncio.run(run()) == heard()
