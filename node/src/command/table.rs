//! Tables for people: columns under each other, nothing around them.

use super::print::plain;
use std::fmt;

/// Names that one cell holds.
const NAMES_MAX: usize = 4;

/// A table; each row has as many cells as the head.
pub(super) struct Table(Vec<Vec<String>>);

impl Table {
    pub(super) fn new<'a>(head: impl IntoIterator<Item = &'a str>) -> Self {
        Self(vec![head.into_iter().map(str::to_owned).collect()])
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A cell is one line, whatever others put into it.
        self.0.push(cells.into_iter().map(|cell| plain(&cell).replace(['\n', '\t'], " ")).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.0.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.0.iter().filter_map(|row: &Vec<String>| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.0 {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// The first names of a list, and how many more there are.
pub(super) fn names(all: &[String], total: usize) -> String {
    let mut shown: Vec<String> = all.iter().take(NAMES_MAX).cloned().collect();
    let more = total.saturating_sub(shown.len());
    if more > 0 {
        shown.push(format!("+{more}"));
    }
    if shown.is_empty() { "-".to_owned() } else { shown.join(", ") }
}

/// A time of the API as people read it; columns say that it is in UTC.
pub(super) fn time(rfc3339: &str) -> String {
    rfc3339.trim_end_matches('Z').split('.').next().unwrap_or_default().replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other() {
        let mut table = Table::new(["NAME", "STATE"]);
        table.row(["wöb".to_owned(), "active".to_owned()]);
        table.row(["a longer\u{1b}[2J name".to_owned(), String::new()]);
        let odd = "a longer\u{fffd}[2J name";
        assert_eq!(table.to_string(), format!("{:17}  STATE\n{:17}  active\n{odd}\n", "NAME", "wöb"));
    }

    #[test]
    fn long_lists_are_cut() {
        let list: Vec<_> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(names(&list[..2], 2), "a, b");
        assert_eq!(names(&list, 5), "a, b, c, d, +1");
        assert_eq!(names(&list, 9), "a, b, c, d, +5");
        assert_eq!(names(&[], 0), "-");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time("2027-01-31T10:20:30.123Z"), "2027-01-31 10:20:30");
        assert_eq!(time("2027-01-31T10:20:30Z"), "2027-01-31 10:20:30");
    }
}
