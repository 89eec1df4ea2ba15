//! A plan as the text that `--dry-run` prints, one figure on each line.

use super::shape::{Plan, Shape};
use crate::job::units::{Bytes, Count, Decimal};
use std::fmt::{self, Display, Formatter};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.fmt_work(f)?;
        let taken = Bytes(self.memory_bytes());
        line(f, "memory", format_args!("{taken} of {}", Bytes(self.budget_bytes)))?;
        self.fmt_shares(f)?;
        let beside = if self.is_in_place() { " more than the output, in its file" } else { "" };
        line(f, "scratch", format_args!("{}{beside}", Decimal(self.scratch_bytes as f64)))?;
        line(f, "bytes read", Decimal(self.read_bytes as f64))?;
        write!(f, "{:<16} {}", "bytes written", Decimal(self.write_bytes as f64))
    }
}

impl Plan {
    /// Writes the method and the division of the input.
    fn fmt_work(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, chunks) = match self.shape {
            Shape::Merge(_) => ("runs and merge", "runs"),
            Shape::MergeInputs(_) => ("merge of inputs in order", "inputs"),
            Shape::Scatter(_) => ("scatter and gather", "chunks"),
        };
        line(f, "method", format_args!("{name} ({})", Count(self.threads as u64, "thread")))?;
        let Plan { records, record_bytes, bytes, .. } = *self;
        let (records, of) = (Count(records, "record"), Count(record_bytes, "byte"));
        line(f, "input", format_args!("{records} of {of}, {}", Decimal(bytes as f64)))?;
        if let Shape::MergeInputs(shape) = &self.shape {
            return line(f, chunks, shape.fan_in_max);
        }
        let chunk_size = Bytes(self.chunk_bytes);
        line(f, chunks, format_args!("{} of {chunk_size} at most", self.chunks))?;
        line(f, "  to scratch", self.spilled_chunks)?;
        line(f, "  stay in memory", self.resident_chunks())?;
        match &self.shape {
            Shape::Merge(shape) => {
                let (passes, fan_in_max) = (shape.merge_passes, shape.fan_in_max);
                line(f, "merge passes", format_args!("{passes} (fan-in at most {fan_in_max})"))
            }
            Shape::MergeInputs(_) => Ok(()),
            Shape::Scatter(shape) => {
                let (bins, levels) = (shape.bins, shape.levels);
                line(f, "bins", format_args!("{bins}, by {}", Count(levels as u64, "level")))
            }
        }
    }

    /// Writes how the budget is divided.
    pub(in crate::records) fn fmt_shares(&self, f: &mut Formatter<'_>) -> fmt::Result {
        line(f, "  index", Bytes(self.index_bytes))?;
        if self.compression_bytes > 0 {
            line(f, "  compression", Bytes(self.compression_bytes))?;
        }
        let form = match &self.shape {
            Shape::MergeInputs(shape) => {
                line(f, "  merge: read", blocks(shape.read_blocks, self.block_bytes))?;
                return line(f, "  output", blocks(self.output_blocks, self.output_block_bytes));
            }
            Shape::Merge(_) => "form",
            Shape::Scatter(_) => "scatter",
        };
        let spill_blocks = if self.spilled_chunks > 0 { self.spill_blocks } else { 0 };
        line(f, &format!("  {form}: areas"), blocks(self.areas, self.area_bytes))?;
        line(f, &format!("  {form}: spare"), blocks(self.threads, self.sort_buffer_bytes))?;
        line(f, &format!("  {form}: spill"), blocks(spill_blocks, self.spill_block_bytes))?;
        let residents = blocks(self.resident_chunks(), self.area_bytes);
        match &self.shape {
            Shape::Merge(shape) | Shape::MergeInputs(shape) => {
                line(f, "  merge: runs", residents)?;
                line(f, "  merge: read", blocks(shape.read_blocks, self.block_bytes))?;
            }
            Shape::Scatter(shape) => {
                line(f, "  gather: stay", residents)?;
                line(f, "  gather: areas", blocks(shape.gather_areas, self.area_bytes))?;
            }
        }
        line(f, "  output", blocks(self.output_blocks, self.output_block_bytes))
    }
}

fn line(f: &mut Formatter<'_>, name: &str, value: impl Display) -> fmt::Result {
    writeln!(f, "{name:<16} {value}")
}

fn blocks(count: usize, bytes: u64) -> String {
    format!("{count} x {}", Bytes(bytes))
}
