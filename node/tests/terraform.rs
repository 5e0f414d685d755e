//! The Terraform modules: their form, their own tests, what they refuse, what they make of providers without
//! a cloud, and that a node starts with what they tell it.
//!
//! Needs python3 with `venv`, npm, and the package indexes, as the tests with other vendors' clients do.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

#[path = "python/environment.rs"]
mod environment;

use environment::Environment;

#[test]
fn terraform_modules_hold() {
    let Some(environment) = Environment::of("terraform-venv", "terraform/tests") else { return };
    let schemas = environment::beside_the_build("terraform-schemas").expect("a place for the schemas");
    environment.run(&[
        ("TRESTLE_TEST_SCHEMAS", schemas.display().to_string()),
        ("TRESTLE_TEST_BINARY", env!("CARGO_BIN_EXE_trestle").to_owned()),
    ]);
}
