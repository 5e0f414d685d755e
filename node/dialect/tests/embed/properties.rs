//! What holds for all requests and answers.

use crate::{
    bodies, context, encode,
    made_up::{exchange, request},
    strategies::json::{any_json, mutated},
};
use proptest::{prelude::*, sample::select};
use trestle_dialect::{
    Envelope,
    embed::{Content, Form, Kind, codec},
};

fn any_form() -> impl Strategy<Value = Form> {
    select(Form::ALL.to_vec())
}

proptest! {
    #[test]
    fn a_request_survives_its_own_form((form, request) in any_form().prop_flat_map(|form| (Just(form), request(form)))) {
        let encoded = encode(form, &request).unwrap();
        prop_assert_eq!(&encoded.dropped, &Vec::<String>::new());
        let back = codec(form).decode_request(&Envelope::parse(encoded.body.into()).unwrap()).unwrap();
        prop_assert_eq!(back, request);
    }

    #[test]
    fn an_answer_survives_its_own_form((form, (request, response)) in any_form().prop_flat_map(|form| (Just(form), exchange(form)))) {
        let encoded = codec(form).encode_response(&request, &response, &context()).unwrap();
        prop_assert_eq!(&encoded.dropped, &Vec::<String>::new());
        let body = bytes::Bytes::from(encoded.body);
        let back = codec(form).decode_response(&body).unwrap();
        prop_assert_eq!(codec(form).usage_in_tail(&body), response.usage);
        // A client that wants no floats alone gets them of Titan as well where they are there.
        prop_assert_eq!(back, response);
    }

    #[test]
    fn every_form_takes_what_every_other_can_say(
        (from, request) in any_form().prop_flat_map(|form| (Just(form), request(form))),
        to in any_form(),
    ) {
        let texts = request.inputs.iter().all(|input| matches!(input.content, Content::Text(_)));
        let plain = matches!(&request.kinds[..], [] | [Kind::Float] | [Kind::Base64]);
        let alike = |pick: fn(&trestle_dialect::embed::Input) -> String| {
            request.inputs.iter().all(|input| pick(input) == pick(&request.inputs[0]))
        };
        let uniform = alike(|input| format!("{:?} {:?}", input.task, input.dimensions));
        for part in request.split(codec(to).inputs_max()) {
            match encode(to, &part) {
                Ok(encoded) => {
                    let body = Envelope::parse(encoded.body.into()).unwrap();
                    let heard = codec(to).decode_request(&body).unwrap();
                    let contents = |inputs: &[trestle_dialect::embed::Input]| {
                        inputs.iter().map(|input| input.content.clone()).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(contents(&heard.inputs), contents(&part.inputs));
                    let before: Vec<_> = part.inputs.iter().map(|input| input.dimensions).collect();
                    let after: Vec<_> = heard.inputs.iter().map(|input| input.dimensions).collect();
                    prop_assert_eq!(before, after);
                }
                Err(refusal) => {
                    prop_assert!(!(texts && plain && uniform), "{:?} to {:?}: {}", from, to, refusal);
                    prop_assert!(refusal.param.is_some_and(|param| !param.is_empty()));
                }
            }
        }
    }

    #[test]
    fn nothing_panics(
        (form, body) in any_form().prop_flat_map(|form| (
            Just(form),
            prop_oneof![
                mutated(bodies::request(form)),
                mutated(bodies::answer(form)),
                any_json(),
            ],
        )),
        to in any_form(),
    ) {
        let text = body.to_string();
        if let Ok(envelope) = Envelope::parse(text.clone().into())
            && let Ok(request) = codec(form).decode_request(&envelope)
        {
            prop_assert!(!request.inputs.is_empty() || encode(to, &request).is_err());
            if let Ok(encoded) = encode(to, &request) {
                Envelope::parse(encoded.body.into()).unwrap();
            }
        }
        if let Ok(response) = codec(form).decode_response(&text.into()) {
            let request = codec(to).decode_request(&Envelope::parse(bodies::request(to).to_string().into()).unwrap());
            if let Ok(encoded) = codec(to).encode_response(&request.unwrap(), &response, &context()) {
                Envelope::parse(encoded.body.into()).unwrap();
            }
        }
    }
}
