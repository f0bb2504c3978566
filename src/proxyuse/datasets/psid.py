"""Read a family extract of the Panel Study of Income Dynamics from the user's own file.

The data may not be redistributed, so the package contains only the names of the expected columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proxyuse.datasets.optional import require_pandas
from proxyuse.errors import DataError

if TYPE_CHECKING:
    from os import PathLike
    from types import ModuleType

    import pandas as pd

COLUMNS = (
    "credit_card",
    "stud_loan",
    "medical_exp",
    "employment",
    "income",
    "marital_status",
    "auto_insurance",
    "children",
    "age",
    "gender",
    "housing",
    "health_status",
    "work_hours",
)


def load_psid(path: str | PathLike[str]) -> pd.DataFrame:
    r"""Read a family extract of the Panel Study of Income Dynamics from your own file.

    The study provides its data to registered users, who may not redistribute it. Register with
    the study, create an extract with the columns below, and save it as CSV or Parquet.

    Parameters
    ----------
    path : str or path-like
        A local file: Parquet if its name ends in ``.parquet``, otherwise CSV in UTF-8 with commas
        and a header line.

    Returns
    -------
    pandas.DataFrame
        One row per family, with the columns below in this order; other columns are dropped. In
        CSV files, an empty cell, ``NA`` and ``NaN`` are missing values.

    Raises
    ------
    DataError
        If the file does not exist, cannot be read, has no rows, or misses columns.

    Notes
    -----
    The study records most of these in several ways and codings, so the meanings below are broad.
    The values of your extract do not change.

    =================  ==========================================================================
    column             meaning
    =================  ==========================================================================
    `credit_card`      credit cards: yes or no, or the debt
    `stud_loan`        student loans: yes or no, or the debt
    `medical_exp`      medical expenses
    `employment`       employment status
    `income`           income
    `marital_status`   marital status
    `auto_insurance`   car insurance: yes or no, or its cost
    `children`         number of children
    `age`              age in years
    `gender`           gender
    `housing`          housing, such as owned or rented
    `health_status`    health
    `work_hours`       working hours
    =================  ==========================================================================

    References
    ----------
    Panel Study of Income Dynamics, public use dataset. Produced and distributed by the Survey
    Research Center, Institute for Social Research, University of Michigan, Ann Arbor, MI.

    Examples
    --------
    An extract of two invented families.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from proxyuse.datasets import load_psid
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "families.csv")
    ...     _ = path.write_text(
    ...         "family,credit_card,stud_loan,medical_exp,employment,income,marital_status,"
    ...         "auto_insurance,children,age,gender,housing,health_status,work_hours\n"
    ...         "1,900,0,350,working,52000,married,700,2,41,female,own,good,38\n"
    ...         "2,,12000,80,student,9000,single,0,0,23,male,rent,very good,12\n"
    ...     )
    ...     families = load_psid(path)
    >>> families.shape
    (2, 13)
    """
    pandas = require_pandas()
    path = Path(path)
    if not path.is_file():
        raise DataError(
            f"{path} does not exist; register with the Panel Study of Income Dynamics, save an "
            "extract and pass its path (the data may not be redistributed)"
        )
    if path.suffix.lower() == ".parquet":
        frame = _read_parquet(pandas, path)
    else:
        frame = _read_csv(pandas, path)

    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(
            f"{path}: missing columns: {', '.join(missing)}; add or rename columns to get all of "
            f"{', '.join(COLUMNS)}"
        )
    if frame.empty:
        raise DataError(f"{path} has column names but no rows; save the extract again")
    return frame[list(COLUMNS)].reset_index(drop=True)


def _read_csv(pandas: ModuleType, path: Path) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pandas.read_csv(
            path,
            encoding="utf-8-sig",
            compression=None,
            keep_default_na=False,
            na_values=["", "NA", "NaN"],
            low_memory=False,
        )
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} cannot be read as CSV ({str(error).strip()}); save it as uncompressed CSV in "
            "UTF-8 with commas, or as *.parquet"
        ) from error
    if not isinstance(frame.index, pandas.RangeIndex):
        # pandas uses extra cells as row labels, which would shift every value by one column.
        raise DataError(
            f"{path}: rows have more cells than the header; save it without row labels and without "
            "a comma at the end of lines"
        )
    return frame


def _read_parquet(pandas: ModuleType, path: Path) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pandas.read_parquet(path)
    except ImportError as error:
        raise DataError(
            f"{path}: reading Parquet needs pyarrow; run pip install pyarrow, or save it as CSV"
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} cannot be read as Parquet ({str(error).strip()}); save it again, or as CSV"
        ) from error
    return frame
