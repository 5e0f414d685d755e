//! The names under which a model may stand in the data, for what a client calls it.

/// What a vendor may be asked for beside the plain name, in front of it: regions of Bedrock's inference profiles.
const REGIONS: [&str; 9] = ["us.", "eu.", "apac.", "global.", "jp.", "au.", "ca.", "us-gov.", "amer."];

/// How often a suffix is taken away: a date, a version and `-latest` may stand together.
const SUFFIXES_MAX: usize = 3;

/// The names to look for, best first. The first is what was asked for, the next mean the same, then dates and versions
/// are left out, one after the other. No more than a few dozen. None at all where a name says that it cannot be known.
pub(crate) fn candidates(provider: &str, asked: &str) -> Vec<String> {
    let mut names = vec![asked.to_owned()];
    match provider {
        "bedrock" => match of_bedrock(asked) {
            Some(more) => names.extend(more),
            None => return Vec::new(),
        },
        "gemini" | "vertex" => add_google(asked, &mut names),
        "fireworks" => {
            let plain = asked.split('#').next().unwrap_or(asked);
            names.push(plain.to_owned());
            if !plain.contains('/') {
                names.push(format!("accounts/fireworks/models/{plain}"));
            }
        }
        "ollama" => names.extend(asked.split_once(':').map(|(model, _)| model.to_owned())),
        _ => {}
    }
    names.extend(of_tuned(asked));
    let mut shorter = names.clone();
    for _ in 0..SUFFIXES_MAX {
        shorter = shorter.iter().filter_map(|name| without_suffix(name)).map(str::to_owned).collect();
        names.extend_from_slice(&shorter);
    }
    let mut unique = Vec::with_capacity(names.len());
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

/// `ft:gpt-4o-mini-2024-07-18:org:name:id` costs what `ft:gpt-4o-mini-2024-07-18` does, which is more than the model
/// that it was made of.
fn of_tuned(asked: &str) -> Option<String> {
    let (base, _) = asked.strip_prefix("ft:")?.split_once(':')?;
    Some(format!("ft:{base}"))
}

/// Names of models and profiles in ARNs, and names without a region. `None` if an ARN does not tell its model.
fn of_bedrock(asked: &str) -> Option<Vec<String>> {
    let (mut names, mut plain) = (Vec::new(), asked);
    if asked.starts_with("arn:") {
        // arn:partition:service:region:account:resource
        let mut parts = asked.splitn(6, ':').skip(3);
        let (region, resource) = (parts.next()?, parts.nth(1)?);
        let ("foundation-model" | "inference-profile", model) = resource.split_once('/')? else {
            return None;
        };
        names.extend([format!("{region}/{model}"), model.to_owned()]);
        plain = model;
    }
    let beyond = REGIONS.iter().find_map(|region| plain.strip_prefix(region));
    names.extend(beyond.filter(|model| model.contains('.')).map(str::to_owned));
    Some(names)
}

/// `models/x`, and `projects/p/locations/l/publishers/meta/models/x`, which may be called `meta/x`.
fn add_google(asked: &str, names: &mut Vec<String>) {
    if let Some(model) = asked.strip_prefix("models/") {
        names.push(model.to_owned());
    } else if let Some((path, model)) = asked.rsplit_once("/models/") {
        names.push(model.to_owned());
        if let Some((_, publisher)) = path.rsplit_once("publishers/") {
            names.push(format!("{publisher}/{model}"));
        }
    }
}

/// A name without what it ends in, if that is a date, a version or `-latest`.
fn without_suffix(name: &str) -> Option<&str> {
    if let Some((model, _)) = name.rsplit_once('@').filter(|(model, _)| !model.is_empty()) {
        return Some(model);
    }
    if name.starts_with("ft:") {
        return without_date(name);
    }
    let (model, version) = name.rsplit_once(':').unwrap_or((name, ""));
    // Bedrock: `-v1:0`, with `:200k` behind it for a context of its own.
    if is_number(version.strip_suffix('k').unwrap_or(version)) {
        return Some(without_version(model));
    }
    name.strip_suffix("-latest").or_else(|| without_date(name))
}

fn without_version(name: &str) -> &str {
    name.rsplit_once("-v").filter(|(_, version)| is_number(version)).map_or(name, |(model, _)| model)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn without_date(name: &str) -> Option<&str> {
    // The longest form that fits: `-05-06` is a part of `-2025-05-06`.
    let mut dashes = name.rmatch_indices('-').map(|(at, _)| at).take(3).collect::<Vec<_>>();
    dashes.reverse();
    let (model, _) =
        dashes.into_iter().map(|at| name.split_at(at)).find(|(_, rest)| date_of(rest).is_some())?;
    (!model.is_empty()).then_some(model)
}

/// The date of a name that is longer by nothing but a date (and a version of Bedrock), in a form that sorts.
pub(crate) fn dated(longer: &str, name: &str) -> Option<[u32; 3]> {
    let rest = longer.strip_prefix(name)?;
    let rest = rest.rsplit_once(':').map_or(rest, |(model, _)| without_version(model));
    date_of(rest)
}

/// The date that a suffix such as `-20250929`, `-2024-08-06`, `-08-2024`, `-05-06`, `-0613`, `-2507` or `-001` says, in a
/// form that sorts.
fn date_of(suffix: &str) -> Option<[u32; 3]> {
    let parts: Vec<_> = suffix.strip_prefix(['-', '@'])?.split('-').collect();
    if !parts.iter().all(|part| is_number(part) && part.len() <= 8) {
        return None;
    }
    let numbers: Vec<u32> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    match (lengths.as_slice(), numbers.as_slice()) {
        ([8], [date]) => day(date / 10_000, date / 100 % 100, date % 100),
        ([4, 2, 2], [year, month, day_of]) => day(*year, *month, *day_of),
        ([2, 4], [month, year]) => day(*year, *month, 1),
        ([2, 2], [month, day_of]) => day(0, *month, *day_of),
        ([6], [date]) => day(2000 + date / 10_000, date / 100 % 100, date % 100),
        ([4], [date]) => day(0, date / 100, date % 100).or_else(|| {
            day(2000 + date / 100, date % 100, 1).filter(|[year, ..]| (2020..2050).contains(year))
        }),
        ([3], [version]) => Some([0, 0, *version]),
        _ => None,
    }
}

fn day(year: u32, month: u32, day: u32) -> Option<[u32; 3]> {
    let plausible = (year == 0 || (2015..2100).contains(&year)) && (1..=12).contains(&month);
    (plausible && (1..=31).contains(&day)).then_some([year, month, day])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(provider: &str, asked: &str, expected: &[&str]) {
        assert_eq!(candidates(provider, asked), expected, "{provider}/{asked}");
    }

    #[test]
    fn dates_and_versions_are_left_out() {
        check("openai", "gpt-4o", &["gpt-4o"]);
        check("openai", "gpt-4o-2024-08-06", &["gpt-4o-2024-08-06", "gpt-4o"]);
        check("openai", "gpt-4-0613", &["gpt-4-0613", "gpt-4"]);
        check("openai", "gpt-4-32k", &["gpt-4-32k"]);
        check("anthropic", "claude-x-20250929", &["claude-x-20250929", "claude-x"]);
        check("anthropic", "claude-x-latest", &["claude-x-latest", "claude-x"]);
        check("mistral", "mistral-small-2506", &["mistral-small-2506", "mistral-small"]);
        check("cohere", "command-r-08-2024", &["command-r-08-2024", "command-r"]);
        check("vertex", "claude-x@20250929", &["claude-x@20250929", "claude-x"]);
        check("x", "a-preview-05-06@default", &["a-preview-05-06@default", "a-preview-05-06", "a-preview"]);
        check("x", "-0613", &["-0613"]);
        check("x", "@1", &["@1"]);
        check("x", "", &[""]);
    }

    #[test]
    fn vendors_have_other_ways_to_say_a_name() {
        check(
            "gemini",
            "models/gemini-x-001",
            &["models/gemini-x-001", "gemini-x-001", "models/gemini-x", "gemini-x"],
        );
        check(
            "vertex",
            "projects/p/locations/l/publishers/meta/models/llama",
            &["projects/p/locations/l/publishers/meta/models/llama", "llama", "meta/llama"],
        );
        check("fireworks", "kimi", &["kimi", "accounts/fireworks/models/kimi"]);
        check("ollama", "llama2:7b", &["llama2:7b", "llama2"]);
        check("openai", "ft:gpt-4o:org::id", &["ft:gpt-4o:org::id", "ft:gpt-4o"]);
        check(
            "openai",
            "ft:gpt-4o-2024-08-06:org::id",
            &["ft:gpt-4o-2024-08-06:org::id", "ft:gpt-4o-2024-08-06", "ft:gpt-4o"],
        );
    }

    #[test]
    fn bedrock_has_regions_and_arns() {
        check(
            "bedrock",
            "us.anthropic.x-20250929-v1:0",
            &[
                "us.anthropic.x-20250929-v1:0",
                "anthropic.x-20250929-v1:0",
                "us.anthropic.x-20250929",
                "anthropic.x-20250929",
                "us.anthropic.x",
                "anthropic.x",
            ],
        );
        let profile = "arn:aws:bedrock:us-east-1:1:inference-profile/eu.amazon.nova-v1:0";
        let names = candidates("bedrock", profile);
        for name in ["us-east-1/eu.amazon.nova-v1:0", "eu.amazon.nova-v1:0", "amazon.nova-v1:0"] {
            assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
        }
        for unknown in [
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
            "arn:aws:bedrock:us-east-1",
            "arn:",
        ] {
            check("bedrock", unknown, &[]);
        }
        check("bedrock", "us.nova", &["us.nova"]);
    }

    #[test]
    fn later_dates_sort_behind() {
        let dates = ["-2024-08-06", "-20241120", "-01-2025", "-2507"].map(date_of);
        assert!(dates.is_sorted(), "{dates:?}");
        for none in ["", "-", "-70b", "-12345", "-99999999", "-1-1", "20250101", "-00000000000000000001"] {
            assert_eq!(date_of(none), None, "{none}");
        }
    }
}
