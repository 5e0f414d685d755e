//! What the recorder of the process renders, as families: it gives out text alone.

use std::borrow::Cow;
use trestle_gateway::{Buckets, Family, Kind, Sample, Value};

/// A line that is not as it should be.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("line {number} of the recorder's metrics is not understood: {line}")]
pub(super) struct Unreadable {
    number: usize,
    line: String,
}

type Labels = Vec<(Cow<'static, str>, String)>;

/// Reads text of the Prometheus format 0.0.4 in which each family has a line `# TYPE` before its samples, and each histogram
/// its buckets in order, before their sum. Sorted by name.
pub(super) fn families(text: &str) -> Result<Vec<Family>, Unreadable> {
    let (mut families, mut help): (Vec<Family>, _) = (Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        let unreadable = || Unreadable { number: index + 1, line: line.to_owned() };
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map(|(name, help)| (name, unescaped(help)));
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            families.push(begun(rest, help.take()).ok_or_else(unreadable)?);
        } else {
            let family = families.last_mut().ok_or_else(unreadable)?;
            sample(family, line).ok_or_else(unreadable)?;
        }
    }
    families.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(families)
}

fn begun(rest: &str, help: Option<(&str, String)>) -> Option<Family> {
    let (name, kind) = rest.split_once(' ')?;
    let kind = [Kind::Counter, Kind::Gauge, Kind::Histogram].into_iter().find(|of| of.name() == kind)?;
    let help = help.filter(|(of, _)| *of == name).map(|(_, help)| help).unwrap_or_default();
    Some(Family { name: name.to_owned().into(), help: help.into(), kind, samples: Vec::new() })
}

fn sample(family: &mut Family, line: &str) -> Option<()> {
    let (series, value) = line.rsplit_once(' ')?;
    let value: f64 = value.parse().ok()?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels_of(labels.strip_suffix('}')?)?),
        None => (series, Labels::new()),
    };
    match name.strip_prefix(&*family.name)? {
        "" if family.kind != Kind::Histogram => {
            family.samples.push(Sample { labels, value: Value::Number(value) });
            Some(())
        }
        part if family.kind == Kind::Histogram => part_of_histogram(family, part, (labels, value)),
        _ => None,
    }
}

/// Buckets count all below; ours count what is in them.
fn part_of_histogram(family: &mut Family, part: &str, (mut labels, value): (Labels, f64)) -> Option<()> {
    if part != "_bucket" {
        let Value::Spread(buckets) = &mut family.samples.last_mut()?.value else { return None };
        match part {
            "_sum" => buckets.sum = value,
            "_count" if buckets.count() as f64 == value => {}
            _ => return None,
        }
        return Some(());
    }
    let at = labels.iter().position(|(name, _)| name == "le")?;
    let bound: f64 = labels.remove(at).1.parse().ok()?;
    if family.samples.last().is_none_or(|last| last.labels != labels) {
        let buckets = Buckets { bounds: Vec::new(), counts: Vec::new(), sum: 0.0 };
        family.samples.push(Sample { labels, value: Value::Spread(buckets) });
    }
    let Value::Spread(buckets) = &mut family.samples.last_mut()?.value else { return None };
    let is_in_order = buckets.bounds.len() == buckets.counts.len()
        && buckets.bounds.last().is_none_or(|before| *before < bound);
    let count = (value as u64).checked_sub(buckets.count()).filter(|_| is_in_order)?;
    buckets.counts.push(count);
    if bound.is_finite() {
        buckets.bounds.push(bound);
    }
    Some(())
}

/// `name="value"`, separated by commas.
fn labels_of(mut text: &str) -> Option<Labels> {
    let mut labels = Labels::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let end = end_of_value(rest)?;
        labels.push((name.to_owned().into(), unescaped(rest.get(..end)?)));
        text = rest.get(end + 1..)?;
        if !text.is_empty() {
            text = text.strip_prefix(',').filter(|rest| !rest.is_empty())?;
        }
    }
    Some(labels)
}

/// Where the quote is that no backslash escapes.
fn end_of_value(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

fn unescaped(text: &str) -> String {
    let (mut out, mut letters) = (String::with_capacity(text.len()), text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::{counter, describe_counter, gauge, histogram};
    use metrics_exporter_prometheus::PrometheusBuilder;

    #[test]
    fn what_the_recorder_renders_is_read_as_it_was_recorded() {
        let recorder = PrometheusBuilder::new().set_buckets(&[0.5, 2.0]).unwrap().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            describe_counter!("b_total", "Says \"b\",\nin two lines.");
            counter!("b_total", "what" => "q\"u,o}t\ne", "else" => "").increment(3);
            gauge!("a").set(-0.25);
            for (side, value) in [("x", 0.5), ("x", 1.0), ("x", 7.0), ("y", 0.25)] {
                histogram!("c_seconds", "side" => side).record(value);
            }
        });
        let mut read = families(&handle.render()).unwrap();
        read[2].samples.sort_by(|a, b| a.labels.cmp(&b.labels));
        let spread = |counts: [u64; 3], sum| {
            Value::Spread(Buckets { bounds: vec![0.5, 2.0], counts: counts.to_vec(), sum })
        };
        let mut histogram = Family::histogram("c_seconds", "");
        histogram.push(&[("side", "x")], spread([1, 1, 1], 8.5));
        histogram.push(&[("side", "y")], spread([1, 0, 0], 0.25));
        let wanted = [
            Family::gauge("a", "").with(&[], -0.25),
            Family::counter("b_total", "Says \"b\",\nin two lines.")
                .with(&[("what", "q\"u,o}t\ne"), ("else", "")], 3.0),
            histogram,
        ];
        assert_eq!(read, wanted);
    }

    #[test]
    fn what_is_not_understood_is_told_by_its_line() {
        for wrong in [
            "x 1",
            "# TYPE x summary",
            "# TYPE x gauge\nx",
            "# TYPE x gauge\nx one",
            "# TYPE x gauge\ny 1",
            "# TYPE x gauge\nx{a=\"b} 1",
            "# TYPE x gauge\nx{a=\"b\",} 1",
            "# TYPE x histogram\nx 1",
            "# TYPE x histogram\nx_sum 1",
            "# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"0.5\"} 3",
            "# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"+Inf\"} 1",
            "# TYPE x histogram\nx_bucket{le=\"+Inf\"} 1\nx_count 2",
        ] {
            let error = families(wrong).unwrap_err();
            let last = wrong.lines().last().unwrap();
            assert_eq!((error.number, &*error.line), (wrong.lines().count(), last), "{wrong}");
        }
    }
}
