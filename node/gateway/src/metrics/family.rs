//! A metric with all of its samples, as every format has it.

use std::borrow::Cow;

/// What the samples of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, from the start of the process on.
    Counter,
    /// It is what it is now.
    Gauge,
    /// How values are spread, from the start of the process on.
    Histogram,
}

impl Kind {
    /// The word of the Prometheus text format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Samples with the same name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Such as `trestle_requests_total`.
    pub name: Cow<'static, str>,
    /// What it tells, in a sentence.
    pub help: Cow<'static, str>,
    /// What its samples are.
    pub kind: Kind,
    /// Samples; no two have the same labels.
    pub samples: Vec<Sample>,
}

/// One series of a family as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and values.
    pub labels: Vec<(Cow<'static, str>, String)>,
    /// What was measured.
    pub value: Value,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a counter or a gauge.
    Number(f64),
    /// Of a histogram.
    Spread(Buckets),
}

/// How values are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// Upper ends, which belong to their buckets, in order; the last bucket has none.
    pub bounds: Vec<f64>,
    /// How many values each bucket has: one more than there are bounds.
    pub counts: Vec<u64>,
    /// All values together.
    pub sum: f64,
}

impl Family {
    /// A counter without samples.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Counter)
    }

    /// A gauge without samples.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Gauge)
    }

    /// A histogram without samples.
    pub const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self::new(name, help, Kind::Histogram)
    }

    const fn new(name: &'static str, help: &'static str, kind: Kind) -> Self {
        Self { name: Cow::Borrowed(name), help: Cow::Borrowed(help), kind, samples: Vec::new() }
    }

    /// The same with one sample more.
    #[must_use]
    pub fn with(mut self, labels: &[(&'static str, &str)], number: f64) -> Self {
        self.add(labels, number);
        self
    }

    /// Adds a sample of a counter or a gauge. A label without a name is none.
    pub fn add(&mut self, labels: &[(&'static str, &str)], number: f64) {
        self.push(labels, Value::Number(number));
    }

    /// Adds a sample.
    pub fn push(&mut self, labels: &[(&'static str, &str)], value: Value) {
        let labels = labels.iter().filter(|(name, _)| !name.is_empty());
        let labels = labels.map(|(name, value)| (Cow::Borrowed(*name), (*value).to_owned())).collect();
        self.samples.push(Sample { labels, value });
    }

    /// The unit that the name ends with, as UCUM writes it; empty for counts.
    pub fn unit(&self) -> &'static str {
        let name = self.name.strip_suffix("_total").unwrap_or(&self.name);
        match name.rsplit('_').next() {
            Some("seconds") => "s",
            Some("bytes") => "By",
            Some("usd") => "USD",
            _ => "",
        }
    }
}

impl Buckets {
    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn units_are_those_of_the_names() {
        for (name, unit) in [
            ("trestle_request_seconds", "s"),
            ("process_cpu_seconds_total", "s"),
            ("trestle_body_bytes_total", "By"),
            ("trestle_cost_usd_total", "USD"),
            ("trestle_requests_total", ""),
        ] {
            assert_eq!(Family::gauge(name, "").unit(), unit, "{name}");
        }
    }
}
