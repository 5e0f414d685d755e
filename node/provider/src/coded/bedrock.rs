//! Amazon Bedrock: requests are signed, unless the key is one of Bedrock's own.

use crate::{Listed, Operation, Origin, Provider, Row, Signable, credential::Fetched, sigv4};
use http::{HeaderMap, HeaderName, HeaderValue, uri::PathAndQuery};
use trestle_dialect::{Category, Fault};

/// The name of the service in signatures.
const SERVICE: &str = "bedrock";

/// Amazon Bedrock in a region.
#[derive(Debug)]
struct Bedrock {
    listed: Listed,
    region: String,
}

/// Amazon Bedrock. The region is needed for signatures even where the address does not name it.
pub(crate) fn bedrock(row: Row) -> Result<Box<dyn Provider>, Vec<String>> {
    let region = row.variables.get("region").cloned().unwrap_or_default();
    let listed = Listed::new(row)?;
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if region.is_empty() || !region.bytes().all(fine) {
        return Err(vec!["variables.region: is no region; write one such as `eu-west-1`".to_owned()]);
    }
    Ok(Box::new(Bedrock { listed, region }))
}

impl Provider for Bedrock {
    fn origin(&self) -> &Origin {
        self.listed.origin()
    }

    fn host(&self) -> &HeaderValue {
        self.listed.host()
    }

    fn endpoint(&self, operation: Operation, model: &str) -> Option<PathAndQuery> {
        self.listed.endpoint(operation, model)
    }

    fn base_path(&self) -> &str {
        self.listed.base_path()
    }

    fn credential(&self, key: &str) -> Result<Option<(HeaderName, HeaderValue)>, &'static str> {
        self.listed.credential(key)
    }

    fn sign(&self, headers: &mut HeaderMap) {
        self.listed.sign(headers);
    }

    fn present(
        &self,
        fetched: &Fetched,
        request: &Signable<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(), &'static str> {
        match fetched {
            Fetched::Aws(keys) => sigv4::sign(keys, (&self.region, SERVICE), request, headers),
            Fetched::Bearer(_) => self.listed.present(fetched, request, headers),
        }
    }

    /// Keys that have ended or are not known are told as 403, like what a key may not do.
    fn classify(&self, fault: &mut Fault) {
        let said = [fault.message.as_str(), fault.code.as_deref().unwrap_or_default()];
        let of_key =
            ["security token", "ExpiredToken", "UnrecognizedClient", "InvalidSignature", "Signature expired"];
        if fault.status == 403 && of_key.iter().any(|part| said.iter().any(|said| said.contains(part))) {
            fault.category = Category::Authentication;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        credential::{AwsKeys, Secret},
        listed, provider,
    };
    use bytes::Bytes;
    use http::Method;
    use std::time::{Duration, UNIX_EPOCH};

    fn made(region: &str) -> Result<Box<dyn Provider>, Vec<String>> {
        let mut row = listed()["bedrock"].clone();
        row.variables.insert("region".to_owned(), region.to_owned());
        provider(row)
    }

    #[test]
    fn a_request_is_signed_for_its_region() {
        let bedrock = made("eu-west-1").unwrap();
        let model = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.x-v1:0";
        let path = bedrock.endpoint(Operation::Converse, model).unwrap();
        assert_eq!(
            path.as_str(),
            "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.x-v1%3A0/converse"
        );
        let keys = AwsKeys::new("AKID", &Secret::new("SECRET"), Some(&Secret::new("TOKEN")));
        let mut headers = HeaderMap::new();
        headers.insert("host", bedrock.host().clone());
        let body = [Bytes::from_static(b"{\"a\":"), Bytes::from_static(b"1}")];
        let request = Signable {
            method: &Method::POST,
            path: &path,
            body: Some(&body),
            now: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        };
        bedrock.present(&Fetched::Aws(keys), &request, &mut headers).unwrap();
        assert_eq!(headers["host"], "bedrock-runtime.eu-west-1.amazonaws.com");
        let signature = headers["authorization"].to_str().unwrap();
        let start = "AWS4-HMAC-SHA256 Credential=AKID/20231114/eu-west-1/bedrock/aws4_request, \
                     SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=";
        assert!(signature.starts_with(start), "{signature}");
        assert!(headers["authorization"].is_sensitive() && headers["x-amz-security-token"].is_sensitive());
        // Pieces are one body.
        let mut whole = HeaderMap::new();
        whole.insert("host", bedrock.host().clone());
        let body = [Bytes::from_static(b"{\"a\":1}")];
        let keys = AwsKeys::new("AKID", &Secret::new("SECRET"), Some(&Secret::new("TOKEN")));
        bedrock.present(&Fetched::Aws(keys), &Signable { body: Some(&body), ..request }, &mut whole).unwrap();
        assert_eq!(whole, headers);
    }

    #[test]
    fn keys_of_its_own_are_bearers() {
        let (name, value) = made("us-east-1").unwrap().credential("ABSK-1").unwrap().unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("authorization", "Bearer ABSK-1"));
    }

    #[test]
    fn a_region_is_needed() {
        assert_eq!(made("").unwrap_err(), ["variables.region: is missing; set it"]);
        assert_eq!(
            made("EU").unwrap_err(),
            ["variables.region: is no region; write one such as `eu-west-1`"]
        );
    }

    #[test]
    fn keys_that_have_ended_are_told_from_what_a_key_may_not_do() {
        let check = |status, message: &str, expected| {
            let mut fault = Fault {
                status,
                category: Category::Permission,
                message: message.to_owned(),
                code: None,
                param: None,
                body: Bytes::new(),
            };
            made("us-east-1").unwrap().classify(&mut fault);
            assert_eq!(fault.category, expected, "{message}");
        };
        check(403, "The security token included in the request is expired", Category::Authentication);
        check(403, "The security token included in the request is invalid.", Category::Authentication);
        check(403, "User is not authorized to perform: bedrock:InvokeModel", Category::Permission);
        check(400, "The security token included in the request is expired", Category::Permission);
    }
}
