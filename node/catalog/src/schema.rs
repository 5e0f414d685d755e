//! The JSON Schema of prices, whose rates stand beside their other members.

use crate::{Price, Rates, Step, Unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::BTreeMap};

fn rates() -> Map<String, Value> {
    let rate = |(unit, name): (Unit, &str)| {
        let each = if unit.is_tokens() { "pico-USD a token" } else { "nano-USD each" };
        (name.to_owned(), json!({ "type": "integer", "format": "uint64", "minimum": 0, "description": each }))
    };
    Unit::ALL.into_iter().map(rate).collect()
}

fn object(properties: Map<String, Value>, required: &[&str]) -> Schema {
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

impl JsonSchema for Rates {
    fn schema_name() -> Cow<'static, str> {
        "Rates".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        object(rates(), &[])
    }
}

impl JsonSchema for Price {
    fn schema_name() -> Cow<'static, str> {
        "Price".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = rates();
        let tables = generator.subschema_for::<BTreeMap<String, Rates>>();
        properties.insert("above".to_owned(), generator.subschema_for::<Vec<Step>>().into());
        properties.insert("services".to_owned(), tables.clone().into());
        properties.insert("variants".to_owned(), tables.into());
        object(properties, &[])
    }
}

impl JsonSchema for Step {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = rates();
        let tokens = json!({ "type": "integer", "format": "uint64", "minimum": 1 });
        properties.insert("tokens".to_owned(), tokens);
        let services = generator.subschema_for::<BTreeMap<String, Rates>>();
        properties.insert("services".to_owned(), services.into());
        object(properties, &["tokens"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;

    #[test]
    fn what_the_schema_names_can_be_read() {
        let schema = schemars::schema_for!(Entry).to_value();
        assert!(schema["properties"]["price"].is_object(), "{schema}");
        let price = &schema["$defs"]["Price"]["properties"];
        for (name, _) in price.as_object().unwrap() {
            let value = match name.as_str() {
                "above" => json!([{ "tokens": 1 }]),
                "services" | "variants" => json!({ "some": { "input": 1 } }),
                _ => json!(1),
            };
            let read: Result<Price, _> = serde_json::from_value(json!({ name: value }));
            assert!(read.is_ok_and(|price| !price.is_empty()), "{name}");
        }
        assert_eq!(price.as_object().unwrap().len(), Unit::COUNT + 3);
        assert_eq!(schema["$defs"]["Step"]["required"], json!(["tokens"]));
    }
}
