//! Formats rows in columns, in lines of a given width. Columns that don't fit are left out, the
//! least important first, so that no figure is cut.

use super::words::{columns_of, cut};

/// The least width of the last column at which it is worth showing.
const LAST_COLUMNS_MIN: usize = 8;
/// Lines with fewer columns have one space between two cells, others two.
const NARROW_COLUMNS: usize = 60;

/// A column.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) is_figure: bool,
    /// The column with the highest rank is the first to be left out; a column of rank 0 stays.
    pub(super) rank: u8,
}

/// The rows as lines of at most `width` columns. The last cell of a row is cut if it is too long.
pub(super) fn in_columns<const N: usize>(
    columns: &[Column; N],
    rows: &[[String; N]],
    width: usize,
) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns_of(cell));
        }
    }
    let gap = if width < NARROW_COLUMNS { 1 } else { 2 };
    let shown = shown_columns(columns, widths, gap, width);
    let line = |row: &[String; N]| {
        let mut line = String::new();
        for &index in &shown {
            if index != shown[0] {
                line += &" ".repeat(gap);
            }
            let cell = &row[index];
            let pad = " ".repeat(widths[index] - columns_of(cell));
            match columns[index].is_figure {
                true => line += &(pad + cell),
                false if index == N - 1 => line += cell,
                false => line += &(cell.clone() + &pad),
            }
        }
        cut(line.trim_end(), width)
    };
    rows.iter().map(line).collect()
}

/// The indices of the columns that fit.
fn shown_columns<const N: usize>(
    columns: &[Column; N],
    mut widths: [usize; N],
    gap: usize,
    width: usize,
) -> Vec<usize> {
    widths[N - 1] = widths[N - 1].min(LAST_COLUMNS_MIN);
    let mut shown: Vec<usize> = (0..N).filter(|index| widths[*index] > 0).collect();
    let needed = |shown: &[usize]| {
        shown.iter().map(|index| widths[*index] + gap).sum::<usize>().saturating_sub(gap)
    };
    while shown.len() > 1 && needed(&shown) > width {
        let least = shown.iter().copied().max_by_key(|index| columns[*index].rank);
        shown.retain(|index| Some(*index) != least);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_whole_or_left_out() {
        let columns = [(true, 0), (false, 1), (true, 2), (false, 3)]
            .map(|(is_figure, rank)| Column { is_figure, rank });
        let rows = [["4711", "running", "512 MB/s", "xsort sort a -o b"], ["5", "dead", "", "gen"]]
            .map(|row| row.map(str::to_owned));
        for (width, first, second) in [
            (80, "4711  running  512 MB/s  xsort sort a -o b", "   5  dead               gen"),
            (30, "4711 running 512 MB/s xsort s…", "   5 dead             gen"),
            (29, "4711 running 512 MB/s", "   5 dead"),
            (20, "4711 running", "   5 dead"),
            (11, "4711", "   5"),
            (3, "47…", "   …"),
        ] {
            let lines = in_columns(&columns, &rows, width);
            let expected = if width == 3 { [first, "  …"] } else { [first, second] };
            assert_eq!(lines, expected, "{width}");
        }
    }
}
