"""The three bundled datasets from the UCI Machine Learning Repository.

They are gzipped CSV files in ``data/``, created by ``scripts/make_datasets.py``. Only an empty cell
is a missing value; words such as "None" are text.
"""

from __future__ import annotations

import io
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from proxyuse.datasets.optional import require_pandas
from proxyuse.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def load_adult() -> pd.DataFrame:
    """Adult: 1994 census records, with incomes above or below $50,000 per year.

    Returns
    -------
    pandas.DataFrame
        48,842 people. Rows 0 to 32,560 are UCI's training set in UCI's order; the remaining
        16,281 rows are its test set. A ``?`` at UCI is a missing value here, and occurs only in
        `workclass`, `occupation` and `native_country`. 30,162 training rows and 15,060 test rows
        are complete. Numbers are integers; all other values are strings.

    Notes
    -----
    Columns and values are spelled as at UCI, except that ``_`` replaces ``-`` in column names.
    The dot at the end of each `income` in UCI's test file is removed.

    =================  ==========================================================================
    column             meaning
    =================  ==========================================================================
    `age`              years
    `workclass`        kind of employer, such as ``Private`` or ``State-gov``
    `fnlwgt`           the number of people this row represents, by the census bureau
    `education`        highest level reached, such as ``HS-grad`` or ``Bachelors``
    `education_num`    the same level as a number, 1 (``Preschool``) to 16 (``Doctorate``)
    `marital_status`   such as ``Married-civ-spouse`` or ``Never-married``
    `occupation`       such as ``Adm-clerical`` or ``Exec-managerial``
    `relationship`     role in the family, such as ``Husband`` or ``Own-child``
    `race`             one of five categories of the census bureau
    `sex`              ``Female`` or ``Male``
    `capital_gain`     dollars per year
    `capital_loss`     dollars per year
    `hours_per_week`   working hours per week
    `native_country`   country of birth
    `income`           ``<=50K`` or ``>50K`` dollars per year
    =================  ==========================================================================

    License: CC BY 4.0.

    References
    ----------
    Becker, B. and Kohavi, R. (1996). Adult [Dataset]. UCI Machine Learning Repository.
    https://doi.org/10.24432/C5XW20

    Examples
    --------
    >>> from proxyuse.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.shape
    (48842, 15)
    >>> training = adult[:32_561]
    >>> len(training.dropna())
    30162
    >>> training["income"].value_counts().to_dict()
    {'<=50K': 24720, '>50K': 7841}
    """
    return _read("adult.csv.gz")


def load_contraceptive() -> pd.DataFrame:
    """Contraceptive method choice: a survey of married women in Indonesia, 1987.

    Returns
    -------
    pandas.DataFrame
        1,473 women, 10 columns of integers, no missing values.

    Notes
    -----
    The values are UCI's codes. Note that 0 means yes in `wife_working` and good in
    `media_exposure`.

    ====================  =======================================================================
    column                meaning
    ====================  =======================================================================
    `wife_age`            years, 16 to 49
    `wife_education`      1 (low) to 4 (high)
    `husband_education`   1 (low) to 4 (high)
    `children`            number of children ever born, 0 to 16
    `wife_religion`       0 not Islam, 1 Islam
    `wife_working`        0 works now, 1 does not
    `husband_occupation`  one of four categories, 1 to 4, which UCI does not name
    `living_standard`     standard-of-living index, 1 (low) to 4 (high)
    `media_exposure`      0 good, 1 not good
    `method`              1 none (629 women), 2 long-term (333), 3 short-term (511)
    ====================  =======================================================================

    License: CC BY 4.0.

    References
    ----------
    Lim, T.-S. (1999). Contraceptive Method Choice [Dataset]. UCI Machine Learning Repository.
    https://doi.org/10.24432/C59W2D

    Examples
    --------
    >>> from proxyuse.datasets import load_contraceptive
    >>> women = load_contraceptive()
    >>> women.shape
    (1473, 10)
    >>> women["method"].value_counts().sort_index().to_dict()
    {1: 629, 2: 333, 3: 511}
    """
    return _read("contraceptive.csv.gz")


def load_student(course: Literal["por", "mat"]) -> pd.DataFrame:
    """Student performance: grades at two Portuguese secondary schools.

    Parameters
    ----------
    course : {"por", "mat"}
        Portuguese (649 students) or mathematics (395 students).

    Returns
    -------
    pandas.DataFrame
        One row per student, 33 columns, no missing values. Numbers are integers; all other
        values are strings. Many students take both courses; no column identifies them.

    Raises
    ------
    DataError
        If `course` is neither of these.

    Notes
    -----
    Names and values are spelled as at UCI.

    ===================  ========================================================================
    column               meaning
    ===================  ========================================================================
    `school`             ``GP`` (Gabriel Pereira) or ``MS`` (Mousinho da Silveira)
    `sex`                ``F`` or ``M``
    `age`                years, 15 to 22
    `address`            ``U`` urban or ``R`` rural home
    `famsize`            ``LE3`` family of three or fewer, ``GT3`` of more
    `Pstatus`            parents live together ``T`` or apart ``A``
    `Medu`, `Fedu`       education of mother and father: 0 none, 1 fourth grade, 2 fifth to ninth
                         grade, 3 secondary, 4 higher
    `Mjob`, `Fjob`       job of mother and father: ``teacher``, ``health``, ``services``,
                         ``at_home`` or ``other``
    `reason`             why this school: ``home``, ``reputation``, ``course`` or ``other``
    `guardian`           ``mother``, ``father`` or ``other``
    `traveltime`         trip to school: 1 below 15 minutes, 2 to 30, 3 to 60, 4 more
    `studytime`          per week: 1 below 2 hours, 2 to 5, 3 to 10, 4 more
    `failures`           classes failed before, 0 to 3
    `schoolsup`          extra help from the school, ``yes`` or ``no``
    `famsup`             help from the family, ``yes`` or ``no``
    `paid`               paid extra lessons in this course, ``yes`` or ``no``
    `activities`         activities outside lessons, ``yes`` or ``no``
    `nursery`            went to nursery school, ``yes`` or ``no``
    `higher`             wants higher education, ``yes`` or ``no``
    `internet`           internet at home, ``yes`` or ``no``
    `romantic`           in a relationship, ``yes`` or ``no``
    `famrel`             how good family relations are, 1 (very bad) to 5 (excellent)
    `freetime`           free time after school, 1 (very low) to 5 (very high)
    `goout`              going out with friends, 1 (very low) to 5 (very high)
    `Dalc`, `Walc`       alcohol on working days and at weekends, 1 (very low) to 5 (very high)
    `health`             1 (very bad) to 5 (very good)
    `absences`           number of absences
    `G1`, `G2`, `G3`     grade of the first period, of the second, and at the end, 0 to 20
    ===================  ========================================================================

    License: CC BY 4.0.

    References
    ----------
    Cortez, P. (2014). Student Performance [Dataset]. UCI Machine Learning Repository.
    https://doi.org/10.24432/C5TG7T

    Examples
    --------
    >>> from proxyuse.datasets import load_student
    >>> load_student("por").shape, load_student("mat").shape
    ((649, 33), (395, 33))
    """
    if course not in ("por", "mat"):
        raise DataError(
            f'course: expected "por" (Portuguese) or "mat" (mathematics), got {course!r}'
        )
    return _read(f"student-{course}.csv.gz")


def _read(name: str) -> pd.DataFrame:
    pandas = require_pandas()
    packed = files("proxyuse.datasets").joinpath("data", name).read_bytes()
    frame: pd.DataFrame = pandas.read_csv(
        io.BytesIO(packed), compression="gzip", keep_default_na=False, na_values=[""]
    )
    return frame
