//! Sorts of lines of CSV files whose rows have line ends in quotes.

use crate::sandbox::Sandbox;

/// README's first example once tore rows apart without a message.
#[test]
fn rows_of_csv_that_are_torn_are_said_and_never_written_over() {
    let sandbox = Sandbox::new();
    let torn = "id,note\n2,\"two\nlines\"\n1,x\n";
    let many =
        format!("id,note\n{}2,\"two\nlines\"\n", "1,a longer note without quotes\n".repeat(99_999));
    for text in [torn, &many] {
        sandbox.write("a.csv", text);
        for line in [
            "lines -t, -k1,1n --header a.csv -o a.csv",
            "lines -t, -k1,1n a.csv -o a.csv",
            "lines a.csv -o ./a.csv",
            "lines -u a.csv a.csv -o a.csv",
            "lines -m a.csv -o a.csv",
        ] {
            let ended = sandbox.run(line);
            assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
            let what = "a.csv: it is the output, too, and nothing is written: ";
            assert!(ended.stderr.contains(what), "{line}: {}", ended.stderr);
            assert!(ended.stderr.contains("'xsort table' keeps rows whole"), "{line}");
            assert_eq!(sandbox.read("a.csv"), text.as_bytes(), "{line}");
        }
        for line in
            ["lines -t, -k1,1n a.csv -o out.csv", "lines a.csv -o out.csv", "lines -m a.csv -o out"]
        {
            let ended = sandbox.run(line);
            assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
            let said = "xsort lines: a.csv: a line ends within quotes";
            assert!(ended.stderr.starts_with(said), "{line}: {}", ended.stderr);
        }
        for line in [
            "lines -q -t, -k1,1n a.csv -o out.csv",
            "lines --no-quotes -t, -k1,1n a.csv -o out.csv",
            "lines -z a.csv -o out.csv",
        ] {
            assert_eq!(sandbox.ok(line), "", "{line}");
        }
        sandbox.ok("lines --no-quotes -t, -k1,1n a.csv -o a.csv");
    }
    sandbox.write("b.txt", torn);
    sandbox.write("c.csv", "id,note\n2,\"a \"\"b\"\"\"\n1,5\" pipe\n");
    for line in ["lines b.txt -o b.txt", "lines -t, -k1,1 c.csv -o c.csv", "lines -t; c.csv -o out"]
    {
        assert_eq!(sandbox.ok(line), "", "{line}");
    }
}
