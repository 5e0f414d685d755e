// The AI SDK with its providers for OpenAI (Responses and Chat) and Anthropic, against each kind of provider.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import {
  APICallError,
  Output,
  experimental_generateSpeech as generateSpeech,
  experimental_transcribe as transcribe,
  generateImage,
  generateText,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { z } from "zod";

const { TRESTLE_TEST_URL: URL, TRESTLE_TEST_KEY: KEY, TRESTLE_TEST_DIRECT: DIRECT } = process.env;
const TEXT = "Say 世界 and 🎉 to me";
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const openai = createOpenAI({ baseURL: `${URL}/v1`, apiKey: KEY });
const anthropic = createAnthropic({ baseURL: `${URL}/v1`, apiKey: KEY });

const MODELS = {
  openai: "openai/gpt-4o-mini",
  anthropic: "anthropic/claude-sonnet-4-5",
  gemini: "gemini/gemini-2.5-flash",
  bedrock: "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
  chat: "chat/gpt-4o-mini",
  responses: "responses-only/gpt-5-mini",
  cohere: "cohere/command-a-03-2025",
  mock: "mock/echo",
};

const CLIENTS = {
  responses: { make: (id) => openai(id), native: "responses" },
  chat: { make: (id) => openai.chat(id), native: "chat" },
  messages: { make: (id) => anthropic(id), native: "anthropic" },
};

// A test for each client with each kind of provider; straight at the mock only with its own.
function each(name, clients, kinds, run) {
  for (const client of clients) {
    for (const kind of kinds) {
      if (DIRECT && kind !== CLIENTS[client].native) continue;
      const model = (settings) => {
        const id = DIRECT ? MODELS[kind].split("/")[1] : MODELS[kind];
        return CLIENTS[client].make(settings ? `${id}+${settings}` : id);
      };
      test(`${name} [${client} to ${kind}]`, () => run(model, kind, client));
    }
  }
}

const clients = Object.keys(CLIENTS);
const remote = ["openai", "anthropic", "gemini", "bedrock", "chat", "responses", "cohere"];
const once = { maxRetries: 0 };

const weather = tool({
  description: "The weather",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 degrees in ${city.length} letters`,
});
const clock = tool({
  description: "The time",
  inputSchema: z.object({ zone: z.string() }),
  execute: async () => "noon",
});

each("generateText", clients, [...remote, "mock"], async (model) => {
  const answer = await generateText({ model: model(), system: "Be brief.", prompt: TEXT, ...once });
  assert.equal(answer.text, TEXT);
  assert.equal(answer.finishReason, "stop");
  assert(answer.usage.inputTokens > 0 && answer.usage.outputTokens > 0);
});

each("streamText", clients, [...remote, "mock"], async (model) => {
  const stream = streamText({ model: model(), prompt: TEXT, ...once });
  const pieces = [];
  for await (const piece of stream.textStream) pieces.push(piece);
  assert.equal(pieces.join(""), TEXT);
  assert(pieces.length > 1);
  assert.equal(await stream.finishReason, "stop");
  assert((await stream.usage).inputTokens > 0);
});

// Else the client refers to what it believes the vendor to have stored.
const stateless = { openai: { store: false } };

each("tools over two turns", clients, remote, async (model, kind) => {
  const asked = {
    tools: { weather, clock },
    stopWhen: stepCountIs(3),
    prompt: "call two tools with text",
    providerOptions: stateless,
    ...once,
  };
  const whole = await generateText({ model: model(), ...asked });
  assert.equal(whole.text, "The tool said: 21 degrees in 24 letters and noon");
  assert.deepEqual(whole.steps[0].toolCalls.map((call) => [call.toolName, call.input]), [
    ["weather", { city: "call two tools with text" }],
    ["clock", { zone: "call two tools with text" }],
  ]);
  const stream = streamText({ model: model(), ...asked });
  const kinds = [];
  for await (const part of stream.fullStream) kinds.push(part.type);
  assert.equal(await stream.text, whole.text);
  // Gemini sends arguments whole.
  assert(kinds.filter((own) => own === "tool-input-delta").length > (kind === "gemini" ? 1 : 4));
  assert.equal(kinds.filter((own) => own === "tool-result").length, 2);
});

const Person = z.object({ name: z.string(), age: z.number() });

each("objects", clients, remote, async (model) => {
  const asked = { output: Output.object({ schema: Person }), prompt: "Ada", ...once };
  const whole = await generateText({ model: model(), ...asked });
  assert.equal(whole.output.name, "Ada");
  const stream = streamText({ model: model(), ...asked });
  for await (const _ of stream.partialOutputStream);
  assert.equal((await stream.output).name, "Ada");
});

each("images", clients, remote, async (model) => {
  const content = [
    { type: "text", text: "look" },
    { type: "image", image: PNG, mediaType: "image/png" },
  ];
  const answer = await generateText({ model: model(), messages: [{ role: "user", content }], ...once });
  assert.equal(answer.text, "look (saw 1 images)");
});

const reasoning = {
  openai: {
    forceReasoning: true,
    reasoningEffort: "low",
    reasoningSummary: "auto",
    store: false,
    include: ["reasoning.encrypted_content"],
  },
  anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
};

// The upstream checks the proof of what comes back.
each("reasoning over two turns", ["responses", "messages"], ["anthropic", "gemini", "bedrock", "responses", "cohere"], async (model) => {
  const asked = { tools: { weather }, stopWhen: stepCountIs(3), prompt: "call tool", providerOptions: reasoning, ...once };
  const whole = await generateText({ model: model(), ...asked });
  assert.equal(whole.steps[0].reasoningText, "The user wrote: call tool");
  assert.equal(whole.text, "The tool said: 21 degrees in 9 letters");
  const stream = streamText({ model: model(), ...asked });
  await stream.consumeStream();
  assert.equal((await stream.steps)[0].reasoningText, "The user wrote: call tool");
  assert.equal(await stream.text, "The tool said: 21 degrees in 9 letters");
});

each("errors", clients, remote, async (model) => {
  for (const settings of ["status=500", "cause=context_length", "html_error"]) {
    await assert.rejects(generateText({ model: model(settings), prompt: "x", ...once }), (error) => {
      assert(APICallError.isInstance(error), error);
      assert(settings.startsWith("cause") ? error.statusCode === 400 : error.statusCode >= 500, error.statusCode);
      return true;
    });
  }
});

each("errors in mid-stream", clients, remote, async (model) => {
  const failures = ["error_event_mid=2", ...(DIRECT ? [] : ["cut_mid=2", "close_mid=2"])];
  for (const failure of failures) {
    const errors = [];
    const onError = ({ error }) => errors.push(error);
    const stream = streamText({ model: model(`tokens=50+gap_ms=1+${failure}`), prompt: "x", onError, ...once });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    assert.equal(text, "word0 word1 ", failure);
    assert.equal(errors.length, 1, failure);
  }
});

// OpenAI stores answers unless it is told not to, and the client does not repeat what it believes to be stored.
each("references to stored items", ["responses"], ["openai", "responses"], async (model) => {
  const asked = { tools: { weather }, stopWhen: stepCountIs(3), prompt: "call tool with text", ...once };
  const answer = await generateText({ model: model(), ...asked });
  assert.equal(answer.text, "The tool said: 21 degrees in 19 letters");
});

const named = (id) => (DIRECT ? id : `openai/${id}`);
// Larger than what the gateway holds.
const sound = Buffer.concat([Buffer.from("RIFF\r\n--"), Buffer.alloc(3 << 20, "sound")]);

test("transcribe", async () => {
  for (const id of ["whisper-1", "gpt-4o-mini-transcribe"]) {
    const heard = await transcribe({ model: openai.transcription(named(id)), audio: sound, ...once });
    assert.match(heard.text, new RegExp(`^I heard ${sound.length} bytes`));
  }
});

// As `fetch` writes it, and as clients do that keep the order of their members.
test("forms with the file at either end", async () => {
  for (const order of [["file", "model", "stream"], ["model", "stream", "file"]]) {
    const values = { file: new Blob([sound], { type: "audio/wav" }), model: named("gpt-4o-transcribe"), stream: "true" };
    const body = new FormData();
    for (const name of order) name === "file" ? body.append(name, values[name], "a.wav") : body.append(name, values[name]);
    const headers = { authorization: `Bearer ${KEY}` };
    const answer = await fetch(`${URL}/v1/audio/transcriptions`, { method: "POST", headers, body });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type"), /^text\/event-stream/);
    assert.match(await answer.text(), /"type":"transcript.text.done"/);
  }
});

test("pictures and speech", async () => {
  const made = await generateImage({ model: openai.image(named("dall-e-3")), prompt: "a cat", ...once });
  assert.equal(made.image.mediaType, "image/png");
  const prompt = { text: "a dog", images: [Buffer.from(PNG, "base64")] };
  const edited = await generateImage({ model: openai.image(named("dall-e-2")), prompt, ...once });
  assert.equal(edited.image.mediaType, "image/png");
  const spoken = await generateSpeech({ model: openai.speech(named("tts-1")), text: TEXT, ...once });
  assert(Buffer.from(spoken.audio.uint8Array).includes(TEXT));
});

if (!DIRECT) {
  each("references to what nobody stored", ["responses"], ["anthropic", "gemini", "bedrock", "chat", "cohere"], async (model) => {
    const asked = { tools: { weather }, stopWhen: stepCountIs(3), prompt: "call tool with text", ...once };
    await assert.rejects(generateText({ model: model(), ...asked }), /store: false/);
  });

  for (const client of clients) {
    test(`fallback [${client}]`, async () => {
      const answer = await generateText({ model: CLIENTS[client].make("fallback"), prompt: TEXT, ...once });
      assert.equal(answer.text, TEXT);
      assert.equal(answer.response.headers["x-trestle-provider"], "anthropic");
    });
  }
}
