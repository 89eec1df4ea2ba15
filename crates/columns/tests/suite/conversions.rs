//! Rows of text become columns, and columns become rows of text.

use crate::files::{assert_same, expected, read, with_keys, write};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, ListArray,
    RecordBatch, StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, UInt8Array,
};
use arrow_schema::SortOptions;
use parquet::file::properties::WriterProperties;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_columns::{Columns, ColumnsOptions, InputFormat, OutputFormat, schema_text};
use xsort_testing::Random;

const BY_KEY: SortOptions = SortOptions { descending: false, nulls_first: false };

/// An array of values that `make` returns, of which some are null.
fn array<T, A: FromIterator<Option<T>> + arrow_array::Array + 'static>(
    random: &mut Random,
    rows: usize,
    make: impl Fn(&mut Random) -> T,
) -> ArrayRef {
    let value = |random: &mut Random| (!random.one_in(7)).then(|| make(random));
    Arc::new((0..rows).map(|_| value(random)).collect::<A>())
}

/// A batch of all single types that text can hold.
fn batch(random: &mut Random, rows: usize) -> RecordBatch {
    let words =
        ["", " ", "a", "NULL", "x,y", "\"q\"", "two\nlines", "cr\r\nlf", "#", "\u{e9}", "\t"];
    let decimal: Decimal128Array =
        (0..rows).map(|_| Some(random.below(1 << 30) as i128 - (1 << 29))).collect();
    let times = |random: &mut Random| random.below(1 << 52) as i64 - (1 << 51);
    let zoned: TimestampMicrosecondArray = (0..rows).map(|_| Some(times(random))).collect();
    let columns: [(&str, ArrayRef); 9] = [
        ("text", array::<_, StringArray>(random, rows, |random| words[random.below(words.len())])),
        ("a, \"b\"", array::<_, UInt8Array>(random, rows, |random| random.below(256) as u8)),
        ("bool", array::<_, BooleanArray>(random, rows, |random| random.one_in(2))),
        (
            "double",
            array::<_, Float64Array>(random, rows, |random| {
                random.below(1 << 50) as f64 / 1e7 - f64::from(random.below(3) as u32) * 1e300
            }),
        ),
        (
            "float",
            array::<_, Float32Array>(random, rows, |random| 1.0 / (1 + random.below(999)) as f32),
        ),
        ("decimal", Arc::new(decimal.with_precision_and_scale(12, 3).unwrap())),
        (
            "date",
            array::<_, Date32Array>(random, rows, |random| random.below(99_999) as i32 - 40_000),
        ),
        ("ts", array::<_, TimestampMicrosecondArray>(random, rows, times)),
        ("utc", Arc::new(zoned.with_timezone("UTC"))),
    ];
    with_keys(random, rows, 0, &columns)
}

fn convert(from: &Path, to: PathBuf, options: ColumnsOptions) -> PathBuf {
    let output_format = OutputFormat::of_name(&to, options.input_format);
    let input_format = InputFormat::of_name(from).unwrap();
    let options = ColumnsOptions { input_format, output_format, ..options };
    Columns::with_options(options, [from]).memory(32 << 20).run(&to).unwrap();
    to
}

fn by_key() -> ColumnsOptions {
    ColumnsOptions::new("key".parse().unwrap())
}

#[test]
fn columns_become_text_and_come_back() {
    let random = &mut Random::new(5);
    for (rows, name) in [(3000, "t.csv"), (700, "t.csv.zst"), (3000, "t.ndjson"), (0, "t.csv")] {
        let folder = tempfile::tempdir().unwrap();
        let batch = batch(random, rows);
        let (schema, input) = (batch.schema(), folder.path().join("in.parquet"));
        write(&input, std::slice::from_ref(&batch), WriterProperties::builder().build());
        let text = convert(&input, folder.path().join(name), by_key());
        let schema = Some(schema);
        let back = folder.path().join("back.parquet");
        let back = convert(&text, back, ColumnsOptions { schema, ..by_key() });
        let key = batch.column(0).clone();
        assert_same(&read(&back), &expected(&[batch], &[(key, BY_KEY)]), name);
    }
}

#[test]
fn lists_and_structs_become_json_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let random = &mut Random::new(6);
    let lists = (0..500).map(|row| {
        (row % 5 > 0)
            .then(|| (0..row % 4).map(|at| (at != 2).then_some(row + at)).collect::<Vec<_>>())
    });
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let inner: ArrayRef =
        Arc::new((0..500).map(|row| Some(f64::from(row) / 8.0)).collect::<Float64Array>());
    let field = arrow_schema::Field::new("half", inner.data_type().clone(), true);
    let structs = StructArray::from(vec![(Arc::new(field), inner)]);
    let times: TimestampMicrosecondArray = (0..500).map(|row| Some(row * 1_000_003)).collect();
    let times: ArrayRef = Arc::new(times.with_timezone("UTC"));
    let field = arrow_schema::Field::new("utc", times.data_type().clone(), true);
    let zoned = StructArray::from(vec![(Arc::new(field), times)]);
    let columns: [(&str, ArrayRef); 3] =
        [("lists", Arc::new(lists)), ("in", Arc::new(structs)), ("zoned", Arc::new(zoned))];
    let batch = with_keys(random, 500, 0, &columns);
    let (schema, input) = (batch.schema(), folder.path().join("in.parquet"));
    write(&input, std::slice::from_ref(&batch), WriterProperties::builder().build());
    let text = convert(&input, folder.path().join("t.ndjson"), by_key());
    let back = folder.path().join("back.parquet");
    let back = convert(&text, back, ColumnsOptions { schema: Some(schema), ..by_key() });
    let key = batch.column(0).clone();
    assert_same(&read(&back), &expected(&[batch], &[(key, BY_KEY)]), "nested");
    let csv = ColumnsOptions {
        output_format: OutputFormat::of_name(Path::new("x.csv"), InputFormat::Parquet),
        ..by_key()
    };
    let output = folder.path().join("x.csv");
    let refused = Columns::with_options(csv, [&input]).memory(32 << 20).run(&output).unwrap_err();
    assert!(refused.to_string().contains("column 'lists'"), "{refused}");
    assert!(!output.exists());
}

/// Returns the error of converting a text.
fn error(name: &str, text: &str, schema: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join(name);
    fs::write(&input, text).unwrap();
    let options = ColumnsOptions {
        input_format: InputFormat::of_name(&input).unwrap(),
        schema: Some(xsort_columns::parse_schema(schema).unwrap()),
        ..ColumnsOptions::new("id".parse().unwrap())
    };
    let output = folder.path().join("out.parquet");
    let columns = Columns::with_options(options, [&input]).memory(32 << 20);
    let error = columns.run(&output).unwrap_err().to_string();
    assert!(!output.exists() && fs::read_dir(folder.path()).unwrap().count() == 1);
    error
}

#[test]
fn bad_rows_are_named() {
    let many: String = (0..60_000).map(|row| format!("{row},x\n")).collect();
    for (name, text, schema, words) in [
        (
            "a.csv",
            format!("id,t\n{many}60000,y\nbad,z\n"),
            "id:int64,t:string",
            "row 60003, byte 468903, column 'id': 'bad' is no Int64",
        ),
        (
            "a.csv",
            "id,t\n1,2,3\n".into(),
            "id:int64,t:string",
            "row 2, from byte 5 on, has 3 fields, and the schema has 2",
        ),
        ("a.csv", "id,t\n1,x\n\n2\n".into(), "id:int64,t:string", "row 4, from byte 10 on, has 1"),
        ("a.csv", "id,t\n1,x\n".into(), "id:int64", "its column 't' is not in the schema"),
        ("a.csv", "id\n1\n".into(), "id:int64,t:string", "no column 't', which the schema has"),
        ("a.csv", "id\n\"1\n".into(), "id:int64", "the quote at byte 3 is never closed"),
        ("a.csv", "id,t\n1,1.005\n".into(), "id:int64,t:decimal(5,2)", "'1.005' is no Decimal128"),
        (
            "a.ndjson",
            "{\"id\":1}\n\n{\"id\":1.5}\n".into(),
            "id:int64",
            "row 3, from byte 10 on: the value of 'id' is no Int64",
        ),
        ("a.ndjson", "{\"id\":1}\n{\"id\":\n2}\n".into(), "id:int64", "row 2, byte 16 is no JSON"),
        ("a.ndjson", "{\"id\":1}{\"id\":2}\n".into(), "id:int64", "row 1, byte 8 is no JSON"),
        (
            "a.ndjson",
            "{\"id\":1 \"x\":02,}\n".into(),
            "id:int64,x:int64",
            "row 1, byte 8 is no JSON",
        ),
        ("a.ndjson", "{\"id\":\"\"}\n".into(), "id:int64", "row 1, from byte 0 on"),
        ("a.csv", "id,t\n1,z\n".into(), "id:int64,t:list<string>", "no lists and structs"),
        ("a.ndjson", "{\"id\":1,\"x\":2}\n".into(), "id:int64", "row 1, from byte 0 on"),
    ] {
        let found = error(name, &text, schema);
        assert!(found.contains(words), "{words}: {found}");
    }
    let latin = "id,t\n1,x\n2,\u{fffd}\n".replace('\u{fffd}', "\u{80}");
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.csv");
    let bytes: Vec<u8> = latin.bytes().filter(|&byte| byte != 0xc2).collect();
    fs::write(&input, bytes).unwrap();
    let options = ColumnsOptions {
        input_format: InputFormat::of_name(&input).unwrap(),
        schema: Some(xsort_columns::parse_schema("id:int64,t:string").unwrap()),
        ..ColumnsOptions::new("id".parse().unwrap())
    };
    let columns = Columns::with_options(options, [&input]).memory(32 << 20);
    let found = columns.run(folder.path().join("out.parquet")).unwrap_err().to_string();
    assert!(
        found.contains("row 3, byte 11, column 't'") && found.contains("is no text"),
        "{found}"
    );
}

/// Parquet has no seconds, Arrow's times may have no text, and JSON has each name once.
#[test]
fn what_the_output_cannot_hold_becomes_another_type_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.csv"), "key,s\n2,2026-11-22T10:00:00\n1,\n").unwrap();
    let schema = Some(xsort_columns::parse_schema("key:int64,s:timestamp[s]").unwrap());
    for name in ["s.parquet", "s.arrow"] {
        convert(&at("a.csv"), at(name), ColumnsOptions { schema: schema.clone(), ..by_key() });
    }
    for (from, name) in [("s.parquet", "a.parquet"), ("s.arrow", "b.parquet")] {
        let path = convert(&at(from), at(name), by_key());
        let found = read(&path);
        let wanted: TimestampMillisecondArray =
            [None, Some(1_795_341_600_000)].into_iter().collect();
        assert_eq!(found.column(1).as_ref(), &wanted as &dyn arrow_array::Array, "{from}");
    }
    let late: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![86_400_000_000]));
    let one: ArrayRef = Arc::new(UInt8Array::from(vec![1]));
    let field = |name: &str, array: &ArrayRef| {
        arrow_schema::Field::new(name, array.data_type().clone(), true)
    };
    for (name, array, words) in [
        ("late", late, "'late': a time can't be written"),
        ("key", one.clone(), "two columns 'key'"),
    ] {
        let schema = arrow_schema::Schema::new(vec![field("key", &one), field(name, &array)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![one.clone(), array]).unwrap();
        write(&at("odd.parquet"), &[batch], WriterProperties::builder().build());
        let options = ColumnsOptions {
            output_format: OutputFormat::of_name(Path::new("x.ndjson"), InputFormat::Parquet),
            ..ColumnsOptions::new("#1".parse().unwrap())
        };
        let columns = Columns::with_options(options, [at("odd.parquet")]).memory(32 << 20);
        let error = columns.run(at("x.ndjson")).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn types_are_found_that_hold_all_values_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "id,zip,price,ok,day,ts,utc,ns,text,none,mixed\n\
               1,01234,1.5,true,2026-11-22,2026-11-22 10:00:00,2026-11-22T10:00:00Z,\
               2026-11-22T10:00:00.123456789,x,,1\n\
               -2,98765,2,FALSE,2026-11-23,2026-11-22T10:00:00.5,2026-11-22T10:00:00+01:00,\
               2026-11-22T10:00:00,1,,x\n\
               ,,,,,,,,,,\n";
    let wanted = "id:int64,zip:string,price:double,ok:bool,day:date,ts:timestamp[us],\
                  utc:timestamp[us,UTC],ns:timestamp[ns],text:string,none:string,mixed:string";
    let json = "{\"a\":1,\"b\":[1.5,2],\"c\":{\"d\":\"x\",\"e\":null}}\n{\"a\":2}\n";
    let found = "a:int64,b:list<double>,c:struct<d:string,e:string>";
    for (name, text, wanted) in [("a.csv", csv, wanted), ("a.ndjson", json, found)] {
        let input = folder.path().join(name);
        fs::write(&input, text).unwrap();
        let options = ColumnsOptions {
            input_format: InputFormat::of_name(&input).unwrap(),
            ..ColumnsOptions::new("id".parse().unwrap())
        };
        let columns = Columns::with_options(options, [&input]);
        let resources = xsort::Resources::default();
        let mut job = resources.job([&input], None).unwrap();
        let schema = columns.infer_in(&mut job, &xsort_extsort::Unobserved).unwrap();
        assert_eq!(schema_text(&schema), wanted);
    }
}
