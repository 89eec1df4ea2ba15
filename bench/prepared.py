"""What becomes of a text before programs get it: parts that are sorted, a sorted whole, or a
compressed file.
"""

import shutil
import subprocess


def inputs(case, source):
    """The files that programs are given in the place of the text."""
    if case.task != "sort":
        suffix = "-".join((case.task, case.locale, *case.options))
        return [
            source.with_name(f"{source.name}-{suffix}-{number:03}-of-{case.parts}")
            for number in range(case.parts)
        ]
    if "gzip" in case.reader:
        return [source.with_name(f"{source.name}.gz")]
    return [source]


def prepare(case, source, environment):
    """Makes those of them that aren't there yet."""
    files = inputs(case, source)
    if all(file.exists() for file in files):
        return files
    if case.task == "sort":
        with open(files[0], "wb") as target:
            subprocess.run(["gzip", "-1", "-c", source], stdout=target, check=True)
        return files
    with open(source, "rb") as text:
        parts = [open(file, "wb") for file in files]
        try:
            # Each has lines from everywhere.
            for number, line in enumerate(text):
                parts[number % len(parts)].write(line)
        finally:
            for part in parts:
                part.close()
    order = [option for option in case.options if option not in ("-m", "-c", "-u")]
    for file in files:
        subprocess.run(
            [shutil.which("sort"), *order, "-o", file, file], env=environment, check=True
        )
    return files
