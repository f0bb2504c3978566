"""The three datasets of the UCI Machine Learning Repository that come with the package.

They are gzipped CSV files in ``data/``, made by ``scripts/make_datasets.py``.
An empty cell is a missing value and nothing else is: words such as "None" stay words.
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
    """Census incomes of 1994: who earns more than 50,000 dollars a year.

    Returns
    -------
    pandas.DataFrame
        48,842 people. Rows 0 to 32,560 are UCI's training part in UCI's order, the 16,281 rows
        after them its test part. What UCI writes as ``?`` is missing here; that happens in
        `workclass`, `occupation` and `native_country` only. 30,162 training rows and 15,060
        test rows are complete. Numbers are integers, all else strings.

    Notes
    -----
    The columns have UCI's names, with ``_`` for ``-``, and the values UCI's spelling. The dot
    that ends each `income` in UCI's test file is left out.

    =================  ==========================================================================
    column             meaning
    =================  ==========================================================================
    `age`              years
    `workclass`        kind of employer, such as ``Private`` or ``State-gov``
    `fnlwgt`           how many people the census bureau takes this row to stand for
    `education`        highest level reached, such as ``HS-grad`` or ``Bachelors``
    `education_num`    the same level as a number, 1 (``Preschool``) to 16 (``Doctorate``)
    `marital_status`   such as ``Married-civ-spouse`` or ``Never-married``
    `occupation`       such as ``Adm-clerical`` or ``Exec-managerial``
    `relationship`     place in the family, such as ``Husband`` or ``Own-child``
    `race`             one of five categories of the census bureau
    `sex`              ``Female`` or ``Male``
    `capital_gain`     dollars in the year
    `capital_loss`     dollars in the year
    `hours_per_week`   hours of work
    `native_country`   country of birth
    `income`           ``<=50K`` or ``>50K`` dollars a year
    =================  ==========================================================================

    Licence: CC BY 4.0.

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
    """Answers of married women in Indonesia, 1987: which contraceptive method they use.

    Returns
    -------
    pandas.DataFrame
        1,473 women in 10 columns of integers; nothing is missing.

    Notes
    -----
    The values are UCI's codes; mind that 0 means yes in `wife_working` and good in
    `media_exposure`.

    ====================  =======================================================================
    column                meaning
    ====================  =======================================================================
    `wife_age`            years, 16 to 49
    `wife_education`      1 (low) to 4 (high)
    `husband_education`   1 (low) to 4 (high)
    `children`            number of children ever born, 0 to 16
    `wife_religion`       0 not Islam, 1 Islam
    `wife_working`        0 she works now, 1 she does not
    `husband_occupation`  one of four categories, 1 to 4, that UCI leaves without a name
    `living_standard`     standard-of-living index, 1 (low) to 4 (high)
    `media_exposure`      0 good, 1 not good
    `method`              1 none (629 women), 2 long-term (333), 3 short-term (511)
    ====================  =======================================================================

    Licence: CC BY 4.0.

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
    """Grades of pupils of two Portuguese secondary schools, with their families and habits.

    Parameters
    ----------
    course : {"por", "mat"}
        The Portuguese lessons (649 pupils) or the mathematics lessons (395 pupils).

    Returns
    -------
    pandas.DataFrame
        One row a pupil in 33 columns; nothing is missing. Numbers are integers, all else
        strings. Many pupils are in both courses, and no column says who.

    Raises
    ------
    DataError
        If `course` is neither of the two.

    Notes
    -----
    Names and values are UCI's.

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
    `traveltime`         way to school: 1 below 15 minutes, 2 to 30, 3 to 60, 4 more
    `studytime`          a week: 1 below 2 hours, 2 to 5, 3 to 10, 4 more
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
    `absences`           number of absences from school
    `G1`, `G2`, `G3`     grade of the first period, of the second, and at the end, 0 to 20
    ===================  ========================================================================

    Licence: CC BY 4.0.

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
            f"there is no student course {course!r}; "
            'choose "por" (Portuguese) or "mat" (mathematics)'
        )
    return _read(f"student-{course}.csv.gz")


def _read(name: str) -> pd.DataFrame:
    pandas = require_pandas()
    packed = files("proxyuse.datasets").joinpath("data", name).read_bytes()
    frame: pd.DataFrame = pandas.read_csv(
        io.BytesIO(packed), compression="gzip", keep_default_na=False, na_values=[""]
    )
    return frame
