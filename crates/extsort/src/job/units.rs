//! Sizes and rates for people.

use std::fmt;

/// A number of bytes, shown in binary units with three or four digits: `987 B`, `4.00 KiB`, `1.46
/// GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut unit = "";
        for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        let digits = if value < 10.0 {
            2
        } else if value < 100.0 {
            1
        } else {
            0
        };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

/// Bytes a second, shown in decimal gigabytes as drives are sold: `2.13 GB/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1e8 {
            f.pad(&format!("{:.2} GB/s", self.0 / 1e9))
        } else {
            f.pad(&format!("{:.1} MB/s", self.0 / 1e6))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_three_digits() {
        assert_eq!(Bytes(0).to_string(), "0 B");
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(1024).to_string(), "1.00 KiB");
        assert_eq!(Bytes(150 << 20).to_string(), "150 MiB");
        assert_eq!(Rate(2.126e9).to_string(), "2.13 GB/s");
    }
}
