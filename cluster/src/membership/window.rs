//! Which counters of one sender were seen: each is taken once.

const BITS: u64 = 1024;
const WORDS: usize = 16;

/// The highest counter that was seen, and which of the 1024 up to it. A sender has one counter for all its peers, so most
/// are never seen here; datagrams overtake each other by a few only.
pub(super) struct Window {
    highest: u64,
    seen: [u64; WORDS],
}

impl Window {
    /// With one counter seen.
    pub(super) fn new(counter: u64) -> Self {
        let mut window = Self { highest: counter, seen: [0; WORDS] };
        window.mark(counter);
        window
    }

    /// Whether a counter is new; from now on it is not.
    pub(super) fn take(&mut self, counter: u64) -> bool {
        if counter > self.highest {
            self.forget(counter);
            self.highest = counter;
        } else if self.highest - counter >= BITS || self.is_seen(counter) {
            return false;
        }
        self.mark(counter);
        true
    }

    /// Frees the places of what lies between the highest and a new one.
    fn forget(&mut self, counter: u64) {
        if counter - self.highest >= BITS {
            self.seen = [0; WORDS];
            return;
        }
        for between in self.highest + 1..=counter {
            let (word, bit) = place(between);
            self.seen[word] &= !bit;
        }
    }

    fn is_seen(&self, counter: u64) -> bool {
        let (word, bit) = place(counter);
        self.seen[word] & bit != 0
    }

    fn mark(&mut self, counter: u64) {
        let (word, bit) = place(counter);
        self.seen[word] |= bit;
    }
}

/// The word is below `WORDS`.
fn place(counter: u64) -> (usize, u64) {
    let at = counter % BITS;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn each_is_taken_once_and_old_ones_never() {
        let mut window = Window::new(5);
        // The counter, and whether it is taken.
        let steps = [
            (5, false),
            (4, true),
            (4, false),
            (2000, true),
            (977, true),
            (976, false),
            (977, false),
            (2001, true),
            (1025, true),
            (u64::MAX, true),
            (u64::MAX, false),
            (2002, false),
            (u64::MAX - 1023, true),
        ];
        for (counter, taken) in steps {
            assert_eq!(window.take(counter), taken, "{counter}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_taken_twice(steps in prop::collection::vec(0_u64..4000, 1..400)) {
            let mut window = Window::new(0);
            let (mut taken, mut highest) = (HashSet::from([0]), 0);
            for counter in steps {
                let expected = !taken.contains(&counter) && counter + BITS > highest;
                prop_assert_eq!(window.take(counter), expected);
                taken.insert(counter);
                highest = highest.max(counter);
            }
        }
    }
}
