#!/usr/bin/env python3
"""Makes models.jsonl out of the price list in the wheel of litellm. docs/catalog.md says what its members mean.

    python3 node/catalog/regenerate.py                      # fetches the version that is pinned below
    python3 node/catalog/regenerate.py --version 1.111.0    # another one; then change the pin
    python3 node/catalog/regenerate.py --wheel FILE --check # compares with the committed file, writes nothing

Standard library only, and pip to fetch. The same wheel and the same corrections.json always give the same bytes.
"""

import argparse
import collections
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile
from decimal import ROUND_HALF_UP, Decimal

VERSION = "1.110.2"
LIST = "litellm/model_prices_and_context_window_backup.json"
HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "models.jsonl"
CORRECTIONS = HERE / "corrections.json"

KINDS = {
    "audio_speech": "speech",
    "audio_transcription": "transcription",
    "chat": "chat",
    "completion": "completion",
    "decisions": "evaluation",
    "embedding": "embedding",
    "evaluation": "evaluation",
    "image_edit": "image",
    "image_generation": "image",
    "moderation": "moderation",
    "ocr": "ocr",
    "realtime": "realtime",
    "rerank": "rerank",
    "responses": "chat",
    "search": "search",
    "video_generation": "video",
}

# Their switches, our features; the order is that of Feature in words.rs.
FEATURES = [
    ("tools", ("supports_function_calling",)),
    ("images", ("supports_vision", "supports_image_input", "supports_embedding_image_input")),
    ("documents", ("supports_pdf_input",)),
    ("audio", ("supports_audio_input",)),
    ("json_schema", ("supports_response_schema", "supports_native_structured_output")),
    ("reasoning", ("supports_reasoning",)),
    ("server_tools", ("supports_web_search", "supports_url_context")),
    ("video", ("supports_video_input",)),
    ("audio_output", ("supports_audio_output",)),
    ("image_output", ()),
    ("prompt_caching", ("supports_prompt_caching",)),
    ("parallel_tools", ("supports_parallel_function_calling",)),
    ("computer_use", ("supports_computer_use",)),
    ("prefill", ("supports_assistant_prefill",)),
]
SWITCHES = {switch for _, switches in FEATURES for switch in switches}

# Their prices of a token, our rates in pico-USD; the order is that of Unit in unit.rs. Of several names the first counts.
TOKENS = [
    ("input", ("input_cost_per_token",)),
    ("output", ("output_cost_per_token",)),
    ("cached", ("cache_read_input_token_cost", "input_cost_per_token_cache_hit")),
    ("cache_write", ("cache_creation_input_token_cost",)),
    ("cache_write_1h", ("cache_creation_input_token_cost_above_1hr",)),
    ("cache_write_12h", ("cache_creation_input_token_cost_above_12hr",)),
    ("reasoning", ("output_cost_per_reasoning_token",)),
    ("audio_input", ("input_cost_per_audio_token",)),
    ("audio_cached", ("cache_read_input_audio_token_cost",)),
    ("audio_output", ("output_cost_per_audio_token",)),
    ("image_input", ("input_cost_per_image_token",)),
    ("image_cached", ("cache_read_input_image_token_cost",)),
    ("image_output", ("output_cost_per_image_token",)),
    ("video_input", ("input_cost_per_video_token",)),
    ("video_output", ("output_cost_per_video_token",)),
]
# Their prices of anything else, our rates in nano-USD. Which seconds `*_cost_per_second` means depends on the kind.
THINGS = [
    ("per_request", ("input_cost_per_request", "input_cost_per_text_message")),
    ("per_query", ("input_cost_per_query",)),
    ("per_web_search", ()),
    ("per_image_input", ("input_cost_per_image",)),
    ("per_image", ("output_cost_per_image",)),
    ("per_audio_second_input", ("input_cost_per_audio_per_second",)),
    ("per_audio_second", ()),
    ("per_video_second_input", ("input_cost_per_video_per_second",)),
    ("per_video_second", ("output_cost_per_video_per_second",)),
    ("per_character", ("input_cost_per_character",)),
    ("per_page", ("ocr_cost_per_page",)),
    ("per_page_annotated", ("annotation_cost_per_page",)),
]
RATES = [name for name, _ in TOKENS + THINGS]
NAMES = {theirs: (ours, 12 if (ours, names) in TOKENS else 9) for ours, names in TOKENS + THINGS for theirs in names}
SECONDS = {"input_cost_per_second", "output_cost_per_second"}

SERVICES = {"batches": "batch", "flex": "flex", "priority": "priority", "ultrafast": "ultrafast", "balanced": "balanced"}
SUFFIX = re.compile(rf"^(?P<name>.+?)(?:_above_(?P<above>\d+)k_tokens)?(?:_(?P<service>{'|'.join(SERVICES)}))?$")
QUALITY = re.compile(r"^output_cost_per_(?P<what>second|image)_(?P<size>\d+p|[\d.]+[kK]|\d+)$")
SIZED = re.compile(
    r"^(?:(?P<quality>low|medium|high|xhigh|max|standard|hd)/)?(?:(?P<width>\d+)-x-(?P<height>\d+)|max-x-max)/"
    r"(?:(?P<steps>\d+-steps|max-steps)/)?(?:bedrock/)?(?P<model>.+)$"
)
DEFAULT_SIZES = ("standard/1024x1024", "1024x1024", "medium/1024x1024", "1024x1024/50-steps")

# Their members that say nothing that we keep; what is in none of these lists is reported.
IGNORED = re.compile(
    r"^(supports_\w+|source|comment|metadata|mode|litellm_provider|max_(input|output)_tokens|deprecation_\w+|successor_model|"
    r"supported_\w+|rpm|tpm|provider_specific_entry|search_context_cost_per_query|search_free_requests|output_vector_size|"
    r"tiered_pricing|prompt_cache_min_tokens|reasoning_\w+|token_count_\w+|(in|out)put_dbu_cost_per_token|thinking_\w+|"
    r"default_reasoning_effort|bedrock_\w+|gemini_\w+|vertex_ai_audio_api|uses_embed_content|use_openai_responses_path|"
    r"web_search_billing_unit|audio_transcription_config|input_cost_per_pixel|output_cost_per_pixel|alias_of|rules)$"
)


class Report:
    """What was left out, and why; with a few examples of each."""

    def __init__(self):
        self.counts = collections.Counter()
        self.examples = collections.defaultdict(list)

    def note(self, reason, example):
        self.counts[reason] += 1
        if len(self.examples[reason]) < 3 and example not in self.examples[reason]:
            self.examples[reason].append(example)

    def __str__(self):
        return "\n".join(f"{n:6}  {why} ({', '.join(self.examples[why])})" for why, n in sorted(self.counts.items()))


def whole(value, digits):
    """USD as a whole number of units of 10^-digits."""
    return int((Decimal(value) * 10**digits).quantize(Decimal(1), ROUND_HALF_UP))


def named(key, provider, corrections):
    """Our provider and the vendor's own name of a model."""
    ours = corrections["providers"].get(provider, provider)
    first, _, rest = key.partition("/")
    prefixes = {provider, ours, *(theirs for theirs, name in corrections["providers"].items() if name == ours)}
    return ours, rest if rest and first in prefixes | {provider.replace("_", "-")} else key


def rates_of(key, entry, report):
    """All prices by (service, above, variant): a table of rates each."""
    tables = collections.defaultdict(dict)
    for member, value in entry.items():
        if member in SECONDS or not isinstance(value, (int, Decimal)) or isinstance(value, bool):
            continue
        if quality := QUALITY.match(member):
            rate = "per_image" if quality["what"] == "image" else "per_video_second"
            tables["", 0, quality["size"]][rate] = whole(value, 9)
            continue
        parts = SUFFIX.match(member)
        if parts["name"] not in NAMES:
            if not IGNORED.match(member):
                report.note(f"price or member `{member}` has no equivalent", key)
            continue
        rate, digits = NAMES[parts["name"]]
        place = SERVICES.get(parts["service"] or "", ""), int(parts["above"] or 0) * 1000, ""
        tables[place].setdefault(rate, whole(value, digits))
    return tables


def add_tiers(key, entry, tables, report):
    """Prices by ranges of the input, which some vendors have as a list."""
    for tier in entry.get("tiered_pricing", ()):
        if "range" not in tier:
            report.note("tiers by something else than input tokens", key)
            continue
        table = tables["", int(tier["range"][0]), ""]
        for member, value in tier.items():
            if member in NAMES:
                rate, digits = NAMES[member]
                table[rate] = whole(value, digits)


def add_search(entry, tables):
    """A search of the web by the vendor's tool: as with the medium context, others as variants."""
    if not (costs := entry.get("search_context_cost_per_query")):
        return
    by_size = {size: whole(costs[f"search_context_size_{size}"], 9) for size in ("low", "medium", "high")}
    tables["", 0, ""]["per_web_search"] = by_size["medium"]
    for size in ("low", "high"):
        if by_size[size] != by_size["medium"]:
            tables["", 0, f"search_{size}"]["per_web_search"] = by_size[size]


def add_seconds(kind, entry, table):
    """Seconds of what: films for video, sound in for transcription, sound out for speech."""
    sound = whole(entry.get("input_cost_per_second") or 0, 9)
    out = whole(entry.get("output_cost_per_second") or 0, 9)
    if kind == "video" and out:
        table["per_video_second"] = out
    elif kind in ("transcription", "realtime") and (sound or out):
        # Some entries state the same price at both ends; it is one price of the sound that comes in.
        table["per_audio_second_input"] = sound or out
    elif kind == "speech" and out:
        table["per_audio_second"] = out


def drop_equivalents(key, kind, base, report):
    """Prices add up, so that of two that say the same in other units one goes: the one that is not tokens."""
    if kind == "image" and "per_image" not in base and "image_output" not in base and "per_image_input" in base:
        # Theirs means the image that is made, where there is no other price of it.
        base["per_image"] = base.pop("per_image_input")
    text = base.get("input", 0) > 0
    answers = base.get("output", 0) > 0
    sound = base.get("audio_input", 0) > 0 or (text and kind != "embedding")
    drop = {
        "per_character": text,
        "per_image_input": base.get("image_input", 0) > 0 or (text and kind not in ("embedding", "video")),
        "per_audio_second_input": sound,
        "per_video_second_input": base.get("video_input", 0) > 0 or (text and kind != "embedding"),
        "per_image": base.get("image_output", 0) > 0 or (answers and kind in ("chat", "realtime")),
        "per_audio_second": base.get("audio_output", 0) > 0 or answers,
    }
    for rate, equivalent in drop.items():
        if equivalent and base.pop(rate, None):
            report.note(f"`{rate}` left out beside a price by tokens", key)


def drop_zeros(key, kind, base, corrections, report):
    """Zero mostly means that nobody looked. It stays where it is known to be free, or beside other prices of a chat."""
    paid = any(base.values())
    if not paid and base:
        if not any(fnmatch.fnmatchcase(key, pattern) for pattern in corrections["free"]):
            base.clear()
            report.note("all prices zero, taken as unknown", key)
        return
    keep = ("input", "output") if kind in ("chat", "completion", "evaluation") else ()
    for rate in [rate for rate, value in base.items() if value == 0 and rate not in keep]:
        del base[rate]
        report.note(f"`{rate}` of zero beside other prices left out", key)


def steady(key, tables, report):
    """Only rates that the standard price has too may differ by service, context or variant."""
    base = tables["", 0, ""]
    for (service, above, variant), table in tables.items():
        for rate in list(table):
            if rate not in base and not variant:
                del table[rate]
                report.note(f"`{rate}` only in a service or above some context left out", key)


def price(key, kind, entry, corrections, report):
    """The member `price`."""
    tables = rates_of(key, entry, report)
    add_tiers(key, entry, tables, report)
    add_search(entry, tables)
    base = tables["", 0, ""]
    add_seconds(kind, entry, base)
    drop_equivalents(key, kind, base, report)
    drop_zeros(key, kind, base, corrections, report)
    if kind in ("embedding", "rerank"):
        base.pop("output", None)
    if base.get("reasoning") == base.get("output"):
        # Said by the price of the output already, which also has the steps.
        base.pop("reasoning", None)
    steady(key, tables, report)
    found = ordered(base)
    steps = []
    for above in sorted({above for _, above, _ in tables if above}):
        step = ordered(tables.get(("", above, ""), {}))
        if services := by_service(tables, above):
            step["services"] = services
        if step:
            steps.append({"tokens": above, **step})
    if steps:
        found["above"] = steps
    if services := by_service(tables, 0):
        found["services"] = services
    variants = {v: ordered(t) for (_, _, v), t in sorted(tables.items()) if v and t}
    if variants:
        found["variants"] = variants
    return found


def by_service(tables, above):
    """The rates of each service tier at one step."""
    found = ((s, ordered(t)) for (s, a, v), t in sorted(tables.items()) if s and a == above and not v)
    return {service: rates for service, rates in found if rates}


def ordered(table):
    return {rate: table[rate] for rate in RATES if rate in table}


def features(kind, entry, found):
    """The features, and the modalities where kind and features do not say them already."""
    outputs = set(entry.get("supported_output_modalities", ())) - {"code"}
    inputs = set(entry.get("supported_modalities", ()))
    has = {name for name, switches in FEATURES if any(entry.get(switch) is True for switch in switches)}
    if kind in ("chat", "completion"):
        has |= {f"{out}_output" for out in outputs & {"audio", "image"}}
    if kind in ("chat", "realtime"):
        has |= {feature for feature, modality in TAKEN.items() if modality in inputs}
    if found.get("image_input"):
        has.add("images")
    if found.get("cached") and kind in ("chat", "realtime"):
        has.add("prompt_caching")
    line = {}
    if has:
        line["features"] = [name for name, _ in FEATURES if name in has]
    for member, theirs, ours in (("input", inputs, taken(kind, has)), ("output", outputs, given(kind, has))):
        # Their lists know neither documents nor vectors.
        all_of = theirs | ours & {"document", "vector", "score"}
        if theirs and all_of != ours:
            line[member] = sorted(all_of, key=MODALITIES.index)
    return line


TAKEN = {"images": "image", "audio": "audio", "video": "video", "documents": "document"}
MODALITIES = ["text", "image", "audio", "video", "document", "vector", "score"]


def taken(kind, has):
    """What a model takes, as words.rs derives it."""
    by_kind = {"transcription": {"audio"}, "ocr": {"image", "document"}, "realtime": {"text", "audio"}}
    return by_kind.get(kind, {"text"}) | {modality for feature, modality in TAKEN.items() if feature in has}


def given(kind, has):
    """What a model gives, as words.rs derives it."""
    by_kind = {
        "embedding": {"vector"}, "evaluation": {"score"}, "image": {"image"}, "moderation": {"score"},
        "music": {"audio"}, "realtime": {"text", "audio"}, "rerank": {"score"}, "speech": {"audio"}, "video": {"video"},
    }  # fmt: skip
    also = {"audio_output": "audio", "image_output": "image"}
    return by_kind.get(kind, {"text"}) | {modality for feature, modality in also.items() if feature in has}


def line_of(key, kind, entry, corrections, report):
    line = {"kind": kind}
    context, output = entry.get("max_input_tokens") or 0, entry.get("max_output_tokens") or 0
    if context > 0:
        line["context_max"] = int(context)
    if output > 0 and kind in ("chat", "completion", "realtime", "transcription", "speech", "image"):
        line["output_max"] = int(output)
    if dimensions := entry.get("output_vector_size"):
        line["dimensions"] = int(dimensions)
    found = price(key, kind, entry, corrections, report)
    line |= features(kind, entry, found)
    retires = entry.get("deprecation_date", "")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", retires):
        line["retires"] = retires
    if found:
        line["price"] = found
    return line


def fold_sizes(models, sized, report):
    """Images of a size and quality that are entries of their own become variants of the model."""
    for ident, key, parts, entry, line in sized:
        size = f"{parts['width']}x{parts['height']}" if parts["width"] else "max"
        variant = "/".join(part for part in (parts["quality"], size, parts["steps"]) if part)
        cost = entry.get("output_cost_per_image") or entry.get("input_cost_per_image")
        if cost is None and parts["width"]:
            by_pixel = entry.get("input_cost_per_pixel") or entry.get("output_cost_per_pixel") or 0
            cost = (Decimal(by_pixel) * int(parts["width"]) * int(parts["height"])).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        model = models.setdefault(ident, {**line, "price": {}})
        if model.get("price", {}).get("image_output"):
            report.note("prices of images by size left out beside a price by tokens", key)
            continue
        of_model = model.setdefault("price", {})
        of_model.setdefault("variants", {}).setdefault(variant, {"per_image": whole(cost or 0, 9)})
    for model in models.values():
        variants = model.get("price", {}).get("variants", {})
        default = next((variants[size] for size in DEFAULT_SIZES if size in variants), None)
        if default and "per_image" not in model["price"]:
            model["price"] = {**default, **model["price"]}


def left_out(key, entry, corrections):
    """Why an entry is not taken, if so."""
    if "alias_of" in entry:
        return "alias of theirs"
    for pattern, reason in corrections["leave_out"].items():
        if fnmatch.fnmatchcase(key, pattern) or entry.get("litellm_provider") == pattern:
            return reason
    if entry.get("mode", "audio_speech" if key.startswith("deepgram/aura") else None) not in KINDS:
        return f"kind `{entry.get('mode')}`"
    return None


def models_of(source, corrections, report):
    models, sized, seen = {}, [], {}
    for key, entry in sorted(source.items()):
        if key == "sample_spec":
            continue
        if reason := left_out(key, entry, corrections):
            report.note(f"left out: {reason}", key)
            continue
        provider, model = named(key, entry["litellm_provider"], corrections)
        kind = KINDS[entry.get("mode", "audio_speech")]
        line = line_of(key, kind, entry, corrections, report)
        if parts := SIZED.match(model):
            sized.append((f"{provider}/{parts['model']}", key, parts, entry, line))
            continue
        if entry.get("input_cost_per_pixel") or entry.get("output_cost_per_pixel"):
            report.note("price by pixel without a size left out", key)
        ident = f"{provider}/{model}"
        if not re.fullmatch(r"[A-Za-z0-9@][A-Za-z0-9._:@/-]*", ident):
            report.note("left out: name with strange characters", key)
        elif ident not in models:
            models[ident], seen[ident] = line, key
        elif models[ident] != line:
            report.note("left out: second entry of a model that differs", f"{key} beside {seen[ident]}")
        else:
            report.note("left out: second entry of a model", key)
    fold_sizes(models, sized, report)
    return models


def corrected(models, corrections, report):
    """Our own corrections: an object is merged, null takes a member away, anything else is set."""

    def merge(old, change):
        for member, value in change.items():
            if value is None:
                old.pop(member, None)
            elif isinstance(value, dict):
                merge(old.setdefault(member, {}), value)
            else:
                old[member] = value

    for pattern, change in corrections["models"].items():
        known = fnmatch.filter(models, pattern) if "*" in pattern else [pattern]
        for ident in known:
            merge(models.setdefault(ident, {"kind": "chat"}), change["set"])
            report.note(f"corrected: {change['why']}", ident)
        if not known:
            report.note("correction that fits no model", pattern)
    return models


MEMBERS = ("kind", "context_max", "output_max", "dimensions", "features", "input", "output", "retires", "price")


def written(models, version):
    lines = []
    for ident in sorted(models, key=str.encode):
        model = models[ident]
        line = {"id": ident} | {member: model[member] for member in MEMBERS if model.get(member)}
        if line["kind"] == "chat":
            del line["kind"]
        if "price" in line:
            last = ("above", "services", "variants")
            rates, rest = ordered(line["price"]), {m: line["price"][m] for m in last if m in line["price"]}
            line["price"] = rates | rest
        lines.append(json.dumps(line, separators=(",", ":"), ensure_ascii=True))
    head = {
        "catalog": 1, "models": len(lines), "source": f"litellm {version} (PyPI), {LIST.split('/')[1]}",
        "licence": "MIT, Copyright (c) 2023 Berri AI",
    }  # fmt: skip
    return "\n".join([json.dumps(head, separators=(",", ":")), *lines]) + "\n"


def fetched(version, folder):
    command = [sys.executable, "-m", "pip", "download", f"litellm=={version}", "--no-deps", "--quiet", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", folder], check=True)
    return next(pathlib.Path(folder).glob("litellm-*.whl"))


def read(wheel):
    with zipfile.ZipFile(wheel) as archive:
        source = json.loads(archive.read(LIST), parse_float=Decimal)
    return source, wheel.name.split("-")[1]


def main():
    arguments = argparse.ArgumentParser(description="Makes models.jsonl out of the price list of litellm.")
    arguments.add_argument("--version", default=VERSION, help="version of litellm to fetch")
    arguments.add_argument("--wheel", type=pathlib.Path, help="a wheel that is already here")
    arguments.add_argument("--check", action="store_true", help="compare with the committed file, write nothing")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, version = read(asked.wheel or fetched(asked.version, folder))
    corrections, report = json.loads(CORRECTIONS.read_text()), Report()
    models = corrected(models_of(source, corrections, report), corrections, report)
    text = written(models, version)
    print(report, file=sys.stderr)
    print(f"{len(source)} entries, {len(models)} models, {len(text)} bytes", file=sys.stderr)
    if not asked.check:
        DATA.write_text(text)
    elif text != DATA.read_text():
        sys.exit(f"{DATA.name} differs from what {asked.wheel or asked.version} gives")


if __name__ == "__main__":
    main()
