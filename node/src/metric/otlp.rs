//! Families as messages of OTLP: cumulative, from the start of the process on.

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
        ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point,
    },
    resource::v1::Resource,
};
use std::time::SystemTime;
use trestle_gateway::{Buckets, Family, Kind, Sample, Value};

/// Points in one message. A collector takes 4 MiB at most where nobody told it otherwise, and a point of a histogram has about 450
/// bytes.
const POINTS_MAX: usize = 4_000;

/// When what is sent was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from: SystemTime,
    pub(super) to: SystemTime,
}

/// As many messages as are needed.
pub(super) fn messages(
    families: &[Family],
    resource: &Resource,
    span: Span,
) -> Vec<ExportMetricsServiceRequest> {
    let (mut messages, mut metrics, mut room) = (Vec::new(), Vec::new(), POINTS_MAX);
    for family in families {
        let mut samples = family.samples.as_slice();
        while !samples.is_empty() {
            let (now, later) = samples.split_at(samples.len().min(room));
            metrics.push(metric(family, now, span));
            room -= now.len();
            samples = later;
            if room == 0 {
                messages.push(message(std::mem::take(&mut metrics), resource));
                room = POINTS_MAX;
            }
        }
    }
    if !metrics.is_empty() {
        messages.push(message(metrics, resource));
    }
    messages
}

fn message(metrics: Vec<Metric>, resource: &Resource) -> ExportMetricsServiceRequest {
    let scope = InstrumentationScope {
        name: "trestle".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let scope_metrics = ScopeMetrics { scope: Some(scope), metrics, schema_url: String::new() };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource.clone()),
        scope_metrics: vec![scope_metrics],
        schema_url: String::new(),
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

fn metric(family: &Family, samples: &[Sample], span: Span) -> Metric {
    let temporality = AggregationTemporality::Cumulative.into();
    let numbers = || samples.iter().filter_map(|sample| number(sample, span)).collect();
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Histogram => Data::Histogram(Histogram {
            data_points: samples.iter().filter_map(|sample| spread(sample, span)).collect(),
            aggregation_temporality: temporality,
        }),
    };
    Metric {
        name: family.name.to_string(),
        description: family.help.to_string(),
        unit: family.unit().to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn number(sample: &Sample, span: Span) -> Option<NumberDataPoint> {
    let Value::Number(value) = sample.value else { return None };
    Some(NumberDataPoint {
        attributes: attributes(sample),
        start_time_unix_nano: nanos(span.from),
        time_unix_nano: nanos(span.to),
        value: Some(number_data_point::Value::AsDouble(value)),
        ..NumberDataPoint::default()
    })
}

fn spread(sample: &Sample, span: Span) -> Option<HistogramDataPoint> {
    let Value::Spread(buckets) = &sample.value else { return None };
    let Buckets { bounds, counts, sum } = buckets;
    Some(HistogramDataPoint {
        attributes: attributes(sample),
        start_time_unix_nano: nanos(span.from),
        time_unix_nano: nanos(span.to),
        count: buckets.count(),
        sum: Some(*sum),
        bucket_counts: counts.clone(),
        explicit_bounds: bounds.clone(),
        ..HistogramDataPoint::default()
    })
}

fn attributes(sample: &Sample) -> Vec<KeyValue> {
    let attribute = |(name, value): &(std::borrow::Cow<'static, str>, String)| KeyValue {
        key: name.to_string(),
        value: Some(AnyValue { value: Some(any_value::Value::StringValue(value.clone())) }),
        ..KeyValue::default()
    };
    sample.labels.iter().map(attribute).collect()
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn many_points_go_in_several_messages_that_a_collector_takes() {
        let mut family = Family::histogram("x_seconds", "y");
        for number in 0..POINTS_MAX + 1 {
            let buckets = Buckets { bounds: vec![0.5; 17], counts: vec![u64::MAX >> 5; 18], sum: 9.5 };
            let model = format!("{number:0100}");
            family.push(
                &[("endpoint", "openai-chat"), ("provider", "p"), ("model", &model)],
                Value::Spread(buckets),
            );
        }
        let families = [Family::gauge("a", "b").with(&[], 1.0), family];
        let span = Span { from: SystemTime::UNIX_EPOCH, to: SystemTime::now() };
        let messages = messages(&families, &Resource::default(), span);
        let metrics = |index: usize| &messages[index].resource_metrics[0].scope_metrics[0].metrics;
        assert_eq!((messages.len(), metrics(0).len(), metrics(1).len()), (2, 2, 1));
        let points: usize = [&metrics(0)[1], &metrics(1)[0]]
            .map(|metric| match &metric.data {
                Some(Data::Histogram(histogram)) => histogram.data_points.len(),
                other => panic!("{other:?}"),
            })
            .iter()
            .sum();
        assert_eq!(points, POINTS_MAX + 1);
        for message in &messages {
            assert!(message.encoded_len() < 4 << 20, "{}", message.encoded_len());
        }
    }
}
