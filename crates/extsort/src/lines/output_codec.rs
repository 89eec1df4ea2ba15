//! How an output is compressed, by an option or by its name.

use std::ffi::OsStr;
use std::path::Path;

/// What precedes `.gz` in the names of files that programs for genomes read, and nearly always by
/// an index: these are written as BGZF.
const BGZF_NAMES: [&str; 9] = ["bed", "fastq", "fq", "gff", "gff3", "gtf", "pairs", "sam", "vcf"];

/// How an output is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputCodec {
    /// gzip in blocks that can be read alone (the SAM specification, section 4.1).
    Bgzf,
    /// gzip (RFC 1952).
    Gzip,
    /// LZ4 frames.
    Lz4,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl OutputCodec {
    /// The codec for a file's name that ends with `.gz`, `.bgz`, `.lz4` or `.zst`.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<OutputCodec> {
        let extension = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_owned);
        match &*extension(path)? {
            "bgz" => Some(OutputCodec::Bgzf),
            "gz" => {
                let inner = path.file_stem().and_then(|stem| extension(stem.as_ref()));
                let is_bgzf = inner.is_some_and(|inner| BGZF_NAMES.contains(&&*inner));
                Some(if is_bgzf { OutputCodec::Bgzf } else { OutputCodec::Gzip })
            }
            "lz4" => Some(OutputCodec::Lz4),
            "zst" => Some(OutputCodec::Zstd),
            _ => None,
        }
    }

    /// The codec where the name tells this one, and with an index: BGZF is gzip, too.
    #[must_use]
    pub fn for_index(self, is_indexed: bool) -> OutputCodec {
        match self {
            OutputCodec::Gzip if is_indexed => OutputCodec::Bgzf,
            codec => codec,
        }
    }

    /// The command that compresses standard input into a FILE with such a name ending, for formats
    /// that aren't written here.
    #[must_use]
    pub fn foreign_command(path: &Path) -> Option<&'static str> {
        match path.extension().and_then(OsStr::to_str)? {
            "7z" => Some("7z a -si FILE"),
            "br" => Some("brotli > FILE"),
            "bz2" => Some("bzip2 > FILE"),
            "lz" => Some("lzip > FILE"),
            "lzma" => Some("xz --format=lzma > FILE"),
            "lzo" => Some("lzop > FILE"),
            "xz" => Some("xz > FILE"),
            "Z" => Some("compress > FILE"),
            "zip" => Some("zip > FILE"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_compression() {
        let of = |name: &str| OutputCodec::of_name(Path::new(name));
        assert_eq!(of("a.b/out.gz"), Some(OutputCodec::Gzip));
        assert_eq!(of("out.csv.zst"), Some(OutputCodec::Zstd));
        assert_eq!(of("x.lz4"), Some(OutputCodec::Lz4));
        for name in ["a.vcf.gz", "b.c/a.x.bed.gz", "a.gff3.gz", "a.bgz", "a.fq.gz", "a.csv.bgz"] {
            assert_eq!(of(name), Some(OutputCodec::Bgzf), "{name}");
        }
        for name in ["vcf.gz", "a.vcf.x.gz", "a.bed/x.gz", ".bed.gz"] {
            assert_eq!(of(name), Some(OutputCodec::Gzip), "{name}");
        }
        for name in ["out", "out.gz.txt", ".gz", "gz", "out.GZ.", "out.xz"] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn names_tell_a_compression_that_is_not_written() {
        let of = |name: &str| OutputCodec::foreign_command(Path::new(name));
        assert_eq!(of("a.b/out.xz"), Some("xz > FILE"));
        assert_eq!(of("out.csv.bz2"), Some("bzip2 > FILE"));
        for name in ["out", "out.gz", "out.zst", "out.lz4", "out.xz.txt", ".xz", "xz"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
