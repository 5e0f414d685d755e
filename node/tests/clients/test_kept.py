"""What providers keep, by the official clients: answers of Responses, files, batches."""

import io
import json

import anthropic
import openai
import pytest

from conftest import DIRECT, KEY, URL, Kind, gateway_only, kinds

AT_OPENAI = {"x-trestle-provider": "openai"}
responses_kinds = kinds("responses", "openai", native="responses")


@responses_kinds
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_conversation(openai_client, kind, streamed):
    first = openai_client.responses.create(model=kind.model(), input="Say one")
    asked = dict(model=kind.model(), input="Say two", previous_response_id=first.id)
    if streamed:
        with openai_client.responses.stream(**asked) as stream:
            events = list(stream)
        described = [event.response.id for event in events if hasattr(event, "response")]
        second = events[-1].response
        assert set(described) == {second.id}
    else:
        second = openai_client.responses.create(**asked)
    assert (second.output_text, second.previous_response_id) == ("Say two", first.id)
    assert second.usage.input_tokens > first.usage.input_tokens
    again = openai_client.responses.retrieve(second.id)
    assert (again.id, again.output_text, again.previous_response_id) == (second.id, "Say two", first.id)
    items = openai_client.responses.input_items.list(second.id).data
    assert [item.content[0].text for item in items] == ["Say two"]
    assert first.id.startswith("resp_") and len(first.id) < 200
    openai_client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError) as caught:
        openai_client.responses.retrieve(first.id)
    assert caught.value.body["message"] == f"Response with id '{first.id}' not found."


@responses_kinds
def test_background(openai_client, kind):
    waiting = openai_client.responses.create(model=kind.model(), input="Say it", background=True)
    assert waiting.status == "queued"
    done = openai_client.responses.retrieve(waiting.id)
    assert (done.id, done.status, done.output_text) == (waiting.id, "completed", "Say it")
    other = openai_client.responses.create(model=kind.model(), input="Say it", background=True)
    cancelled = openai_client.responses.cancel(other.id)
    assert (cancelled.id, cancelled.status) == (other.id, "cancelled")
    stream = openai_client.responses.create(model=kind.model(), input="Say it", background=True, stream=True)
    seen = list(stream)
    kept = seen[0].response.id
    again = list(openai_client.responses.retrieve(kept, stream=True, starting_after=seen[2].sequence_number))
    assert [event.type for event in again] == [event.type for event in seen[3:]]
    assert again[-1].response.id == kept


@responses_kinds
def test_input_tokens(openai_client, kind):
    first = openai_client.responses.create(model=kind.model(), input="Say one")
    count = openai_client.responses.input_tokens.count
    alone = count(model=kind.model(), input="Say two").input_tokens
    assert count(model=kind.model(), input="Say two", previous_response_id=first.id).input_tokens > alone > 0


def test_files(openai_client):
    made = openai_client.files.create(file=("a.txt", b"hello"), purpose="user_data", extra_headers=AT_OPENAI)
    assert made.id.startswith("file-") and made.bytes == 5
    assert openai_client.files.retrieve(made.id) == made
    assert openai_client.files.content(made.id).read() == b"hello"
    assert openai_client.files.delete(made.id).deleted
    with pytest.raises(openai.NotFoundError):
        openai_client.files.retrieve(made.id)


def test_a_file_in_a_request(openai_client):
    made = openai_client.files.create(file=("a.pdf", b"hello"), purpose="user_data", extra_headers=AT_OPENAI)
    content = [{"type": "input_file", "file_id": made.id}, {"type": "input_text", "text": "Say it"}]
    answer = openai_client.responses.create(
        model=Kind("openai").model(), input=[{"role": "user", "content": content}]
    )
    assert answer.output_text == "Say it"
    openai_client.files.delete(made.id)


def batch_input(*models):
    lines = [
        {
            "custom_id": f"c{index}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": model, "messages": [{"role": "user", "content": f"Say {index}"}]},
        }
        for index, model in enumerate(models)
    ]
    return io.BytesIO("\n".join(json.dumps(line) for line in lines).encode())


def test_batches(openai_client):
    model = Kind("openai").model()
    file = openai_client.files.create(file=batch_input(model, model), purpose="batch")
    asked = dict(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    batch = openai_client.batches.create(**asked, metadata={"for": "tests"})
    assert (batch.input_file_id, batch.status) == (file.id, "validating")
    done = openai_client.batches.retrieve(batch.id)
    assert (done.id, done.status, done.request_counts.completed) == (batch.id, "completed", 2)
    results = [json.loads(line) for line in openai_client.files.content(done.output_file_id).text.splitlines()]
    said = [result["response"]["body"]["choices"][0]["message"]["content"] for result in results]
    assert said == ["Say 0", "Say 1"] and done.error_file_id is None
    other = openai_client.batches.create(**asked)
    assert openai_client.batches.cancel(other.id).status == "cancelling"


@gateway_only
def test_batch_of_two_providers(openai_client):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.files.create(file=batch_input("openai/gpt-4o-mini", "impatient/gpt-4o-mini"), purpose="batch")
    assert caught.value.param == "file" and caught.value.body["message"].startswith("line 2: ")


@pytest.mark.parametrize("prefix", [""] if DIRECT else ["", "/anthropic"])
def test_message_batches(prefix):
    model = Kind("anthropic").model()
    with anthropic.Anthropic(base_url=f"{URL}{prefix}", api_key=KEY, max_retries=0, timeout=30) as client:
        params = {"model": model, "max_tokens": 50, "messages": [{"role": "user", "content": "Say it"}]}
        batches = client.messages.batches
        made = batches.create(requests=[{"custom_id": "one", "params": params}])
        assert made.id.startswith("msgbatch_") and made.processing_status == "in_progress"
        done = batches.retrieve(made.id)
        assert (done.id, done.processing_status, done.request_counts.succeeded) == (made.id, "ended", 1)
        [result] = batches.results(made.id)
        assert (result.custom_id, result.result.message.content[0].text) == ("one", "Say it")
        assert batches.delete(made.id).id == made.id
        with pytest.raises(anthropic.NotFoundError):
            batches.retrieve(made.id)
        running = batches.create(requests=[{"custom_id": "one", "params": params}])
        assert batches.cancel(running.id).processing_status == "canceling"
