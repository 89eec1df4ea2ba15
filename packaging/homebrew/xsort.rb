class Xsort < Formula
  desc "Sort anything bigger than memory, at the speed of the drives"
  homepage "@REPOSITORY@"
  url "@REPOSITORY@/archive/refs/tags/v@VERSION@.tar.gz"
  sha256 "@SHA256_SOURCE@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"xsort", "completions")
    system bin/"xsort", "man", man1
  end

  test do
    (testpath/"big.csv").write "b,2\na,10\nc,1\n"
    system bin/"xsort", "lines", "-t,", "-k2,2n", "big.csv", "-o", "sorted.csv"
    assert_equal "c,1\nb,2\na,10\n", (testpath/"sorted.csv").read
  end
end
