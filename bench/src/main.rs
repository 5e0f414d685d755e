//! Measures Trestle.

fn main() {}
