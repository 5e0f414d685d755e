//! Google's Vertex AI: where a location is decides about the host.

use crate::{Listed, Provider, Row};

/// How hosts of regions begin in the row.
const REGIONAL: &str = "https://{location}-aiplatform.googleapis.com";

/// Vertex AI. The location `global` has a host without a region, and those that span several regions one of their own kind.
pub(crate) fn vertex(mut row: Row) -> Result<Box<dyn Provider>, Vec<String>> {
    let location = row.variables.get("location").map(String::as_str);
    let host = match location {
        Some("global") => "https://aiplatform.googleapis.com",
        Some("us") => "https://aiplatform.us.rep.googleapis.com",
        Some("eu") => "https://aiplatform.eu.rep.googleapis.com",
        _ => REGIONAL,
    };
    if let Some(rest) = row.base_url.strip_prefix(REGIONAL) {
        row.base_url = format!("{host}{rest}");
    }
    Ok(Box::new(Listed::new(row)?))
}

#[cfg(test)]
mod tests {
    use crate::{Operation, listed, provider};

    #[test]
    fn locations_have_their_hosts_and_models_their_paths() {
        let check = |row: &str, location: &str, operation, expected: &str| {
            let mut row = listed()[row].clone();
            row.variables.insert("project".to_owned(), "p-1".to_owned());
            row.variables.insert("location".to_owned(), location.to_owned());
            let made = provider(row).unwrap();
            let path =
                made.endpoint(operation, "m@1").map_or_else(|| "none".to_owned(), |path| path.to_string());
            assert_eq!(format!("{}{path}", made.host().to_str().unwrap()), expected);
        };
        let (whole, streamed) = (Operation::GenerateContent, Operation::StreamGenerateContent);
        let below = "/v1/projects/p-1/locations";
        check(
            "vertex",
            "europe-west4",
            whole,
            &format!(
                "europe-west4-aiplatform.googleapis.com{below}/europe-west4/publishers/google/models/m%401:generateContent"
            ),
        );
        check(
            "vertex",
            "global",
            streamed,
            &format!(
                "aiplatform.googleapis.com{below}/global/publishers/google/models/m%401:streamGenerateContent?alt=sse"
            ),
        );
        check(
            "vertex-anthropic",
            "us",
            Operation::Messages,
            &format!(
                "aiplatform.us.rep.googleapis.com{below}/us/publishers/anthropic/models/m%401:rawPredict"
            ),
        );
        check(
            "vertex-anthropic",
            "global",
            Operation::StreamMessages,
            &format!(
                "aiplatform.googleapis.com{below}/global/publishers/anthropic/models/m%401:streamRawPredict"
            ),
        );
        check("vertex-anthropic", "global", whole, "aiplatform.googleapis.comnone");
    }
}
