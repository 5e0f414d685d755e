//! The Prometheus text format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use super::family::{Family, Sample, Value};
use std::fmt::Write;

/// Families as Prometheus reads them. No two of them may have the same name.
pub fn text(families: &[Family]) -> String {
    let mut out = String::with_capacity(16 * 1024);
    for family in families {
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        let (name, kind) = (&family.name, family.kind.name());
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sample in &family.samples {
            match &sample.value {
                Value::Number(number) => line(&mut out, (name, ""), sample, ("", *number)),
                Value::Spread(buckets) => {
                    let mut below = 0;
                    for (index, count) in buckets.counts.iter().enumerate() {
                        below += count;
                        let bound = buckets.bounds.get(index).copied().unwrap_or(f64::INFINITY);
                        line(&mut out, (name, "_bucket"), sample, (&number(bound), below as f64));
                    }
                    line(&mut out, (name, "_sum"), sample, ("", buckets.sum));
                    line(&mut out, (name, "_count"), sample, ("", below as f64));
                }
            }
        }
    }
    out
}

/// A line; `le` is not there where it is empty.
fn line(out: &mut String, (name, suffix): (&str, &str), sample: &Sample, (le, value): (&str, f64)) {
    let _ = write!(out, "{name}{suffix}");
    let labels = sample.labels.iter().map(|(name, value)| (&**name, &**value));
    let le = Some(("le", le)).filter(|(_, le)| !le.is_empty());
    let mut open = '{';
    for (label, value) in labels.chain(le) {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(out, "{open}{label}=\"{value}\"");
        open = ',';
    }
    if open == ',' {
        out.push('}');
    }
    let _ = writeln!(out, " {}", number(value));
}

fn number(value: f64) -> String {
    if value == f64::INFINITY {
        "+Inf".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-Inf".to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::family::Buckets, *};

    fn check(family: Family, wanted: &str) {
        assert_eq!(text(&[family]), wanted);
    }

    #[test]
    fn what_could_be_mistaken_is_escaped() {
        check(
            Family::counter("x", "a \"b\" \\ c\nd").with(&[("a", "q\"b\\c\nd"), ("", "unused")], 1.0),
            "# HELP x a \"b\" \\\\ c\\nd\n# TYPE x counter\nx{a=\"q\\\"b\\\\c\\nd\"} 1\n",
        );
    }

    #[test]
    fn numbers_are_those_of_the_format() {
        for (number, wanted) in
            [(0.25, "0.25"), (3e9, "3000000000"), (f64::INFINITY, "+Inf"), (f64::NEG_INFINITY, "-Inf")]
        {
            check(
                Family::gauge("x", "y").with(&[], number),
                &format!("# HELP x y\n# TYPE x gauge\nx {wanted}\n"),
            );
        }
    }

    #[test]
    fn buckets_count_all_below() {
        let mut family = Family::histogram("x", "y");
        let buckets = Buckets { bounds: vec![0.5, 1.0], counts: vec![1, 0, 2], sum: 9.5 };
        family.push(&[("a", "b")], Value::Spread(buckets));
        check(
            family,
            "# HELP x y\n# TYPE x histogram\nx_bucket{a=\"b\",le=\"0.5\"} 1\nx_bucket{a=\"b\",le=\"1\"} 1\n\
             x_bucket{a=\"b\",le=\"+Inf\"} 3\nx_sum{a=\"b\"} 9.5\nx_count{a=\"b\"} 3\n",
        );
    }
}
