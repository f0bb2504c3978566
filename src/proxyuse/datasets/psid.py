"""Read a family extract of the Panel Study of Income Dynamics that the user has obtained.

The study's data may not be passed on, so the package holds none of it: only the names of the
columns it expects. Their values are taken as they are.
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

    The study gives its data to registered users, who may not pass it on. Register with the
    study, make an extract with the columns below, and save it as CSV or Parquet.

    Parameters
    ----------
    path : str or path-like
        A local file. It is read as Parquet if its name ends in ``.parquet``, else as CSV in
        UTF-8 with commas and the column names in the first line.

    Returns
    -------
    pandas.DataFrame
        One row a family, with the columns below in this order; others in the file are left
        out. In CSV an empty cell, ``NA`` and ``NaN`` are missing values.

    Raises
    ------
    DataError
        If there is no such file, it cannot be read, has no rows, or lacks some of the columns.

    Notes
    -----
    The study asks about most of these in several ways and codings. The meanings below are as
    wide as that; the values of your extract are kept as they are.

    =================  ==========================================================================
    column             meaning
    =================  ==========================================================================
    `credit_card`      credit cards: whether there are any, or the debt
    `stud_loan`        student loans: whether there are any, or the debt
    `medical_exp`      medical expenses
    `employment`       employment status
    `income`           income
    `marital_status`   marital status
    `auto_insurance`   car insurance: whether there is any, or its cost
    `children`         number of children
    `age`              age in years
    `gender`           gender
    `housing`          housing, such as owned or rented
    `health_status`    state of health
    `work_hours`       hours of work
    =================  ==========================================================================

    References
    ----------
    Panel Study of Income Dynamics, public use dataset. Produced and distributed by the Survey
    Research Center, Institute for Social Research, University of Michigan, Ann Arbor, MI.

    Examples
    --------
    Two invented families stand in for an extract.

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
            f"{path}: there is no such file; the study's data may not be passed on, so register "
            "with the Panel Study of Income Dynamics, save an extract and give its path"
        )
    if path.suffix.lower() == ".parquet":
        frame = _read_parquet(pandas, path)
    else:
        frame = _read_csv(pandas, path)

    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(
            f"{path}: no column named {', '.join(missing)}; "
            f"add or rename columns so that all of these are there: {', '.join(COLUMNS)}"
        )
    if frame.empty:
        raise DataError(f"{path}: the file has column names and no rows; save the extract again")
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
            f"{path}: cannot be read as CSV ({str(error).strip()}); "
            "save it as plain CSV in UTF-8 with commas, or as Parquet in a file named *.parquet"
        ) from error
    if not isinstance(frame.index, pandas.RangeIndex):
        # pandas takes the surplus for row labels, which would shift every value by one column.
        raise DataError(
            f"{path}: the rows have more cells than the first line has names; "
            "save it again without row labels and without a comma at the end of lines"
        )
    return frame


def _read_parquet(pandas: ModuleType, path: Path) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pandas.read_parquet(path)
    except ImportError as error:
        raise DataError(
            f"{path}: reading Parquet needs pyarrow; run: pip install pyarrow, or save it as CSV"
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: cannot be read as Parquet ({str(error).strip()}); save it again, or as CSV"
        ) from error
    return frame
