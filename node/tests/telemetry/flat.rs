//! Metrics as the lines of the Prometheus text format have them, wherever they come from.

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{KeyValue, any_value},
    metrics::v1::{AggregationTemporality, Metric, metric::Data, number_data_point},
};
use std::collections::BTreeMap;

/// Values by series, such as `x_bucket{a="b",le="0.5"}`.
pub(crate) type Flat = BTreeMap<String, f64>;

/// Of an answer to `GET /metrics`.
pub(crate) fn of_text(text: &str) -> Flat {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let pairs = lines.map(|line| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        (series.to_owned(), value.parse().unwrap())
    });
    pairs.collect()
}

/// Of a message, whose points must all be cumulative and of the time from the start on.
pub(crate) fn of_message(message: &ExportMetricsServiceRequest) -> Flat {
    let mut flat = Flat::new();
    let metrics = message.resource_metrics.iter().flat_map(|of| &of.scope_metrics).flat_map(|of| &of.metrics);
    for metric in metrics {
        add(&mut flat, metric, start(message));
    }
    flat
}

/// When the process began, in nanoseconds, by its own metric.
fn start(message: &ExportMetricsServiceRequest) -> u64 {
    let metrics = message.resource_metrics.iter().flat_map(|of| &of.scope_metrics).flat_map(|of| &of.metrics);
    let metric = metrics.into_iter().find(|metric| metric.name == "process_start_time_seconds").unwrap();
    let Some(Data::Gauge(gauge)) = &metric.data else { panic!("{metric:?}") };
    gauge.data_points[0].start_time_unix_nano
}

fn add(flat: &mut Flat, metric: &Metric, start: u64) {
    let name = &metric.name;
    let cumulative = AggregationTemporality::Cumulative as i32;
    let mut put = |series: String, value: f64| {
        assert_eq!(flat.insert(series.clone(), value), None, "{series} is there twice");
    };
    let numbers = match metric.data.as_ref().unwrap() {
        Data::Gauge(gauge) => &gauge.data_points,
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == cumulative, "{name}");
            &sum.data_points
        }
        Data::Histogram(histogram) => {
            assert_eq!(histogram.aggregation_temporality, cumulative, "{name}");
            for point in &histogram.data_points {
                assert!(point.start_time_unix_nano == start && point.time_unix_nano > start, "{name}");
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                let mut below = 0;
                for (index, count) in point.bucket_counts.iter().enumerate() {
                    below += count;
                    let bound = point.explicit_bounds.get(index).map_or("+Inf".to_owned(), f64::to_string);
                    put(series(name, "_bucket", &point.attributes, Some(&bound)), below as f64);
                }
                put(series(name, "_sum", &point.attributes, None), point.sum.unwrap());
                put(series(name, "_count", &point.attributes, None), point.count as f64);
            }
            return;
        }
        other => panic!("{name}: {other:?}"),
    };
    for point in numbers {
        assert!(point.start_time_unix_nano == start && point.time_unix_nano > start, "{name}");
        let Some(number_data_point::Value::AsDouble(value)) = point.value else { panic!("{point:?}") };
        put(series(name, "", &point.attributes, None), value);
    }
}

/// Labels of tests need no escapes.
fn series(name: &str, suffix: &str, attributes: &[KeyValue], le: Option<&str>) -> String {
    let text = |attribute: &KeyValue| match attribute.value.as_ref().and_then(|value| value.value.clone()) {
        Some(any_value::Value::StringValue(text)) => text,
        other => panic!("{other:?}"),
    };
    let labels = attributes.iter().map(|attribute| format!("{}=\"{}\"", attribute.key, text(attribute)));
    let labels: Vec<_> = labels.chain(le.map(|le| format!("le=\"{le}\""))).collect();
    if labels.is_empty() {
        format!("{name}{suffix}")
    } else {
        format!("{name}{suffix}{{{}}}", labels.join(","))
    }
}
