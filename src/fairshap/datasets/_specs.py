"""The five tables of the paper: what their columns mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_UCI = "UCI Machine Learning Repository"
_CC_BY = "CC BY 4.0"


@dataclass(frozen=True, slots=True)
class Spec:
    """How one table is read.

    Parameters
    ----------
    target, positive : str, object
        The target column, and its value that is y = 1.
    meaning : str
        What y = 1 says of a person.
    sensitive : mapping of str to object
        The sensitive columns and their privileged values; the first is the default.
    description, source, licence : str
        What the table is, where it comes from, and how it may be used.
    categorical : tuple of str
        Columns of numbers that are codes of categories.
    dropped : tuple of str
        Columns that say nothing of a person.
    order : tuple of str
        The columns of the encoded table, where their order differs from the raw one.
    without : tuple of str
        Columns that the encoded table leaves out unless they are the sensitive one.
    constants : tuple of str
        Columns of one value that the paper's table had; the encoded table has them too.
    distinct : bool
        Whether the encoded table leaves out rows that are there already.
    unknown : str
        A category that the encoded table replaces by the column's most frequent one.
    values : mapping of str to mapping
        Columns whose codes are written as words.
    codes : mapping of str to mapping
        Sensitive columns of several values: the number that each value has in the encoded table.
    """

    target: str
    positive: Any
    meaning: str
    sensitive: Mapping[str, Any]
    description: str
    source: str
    licence: str
    categorical: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    distinct: bool = False
    unknown: str | None = None
    values: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


SPECS: dict[str, Spec] = {
    "german": Spec(
        target="risk",
        positive=0,
        meaning="a bad credit risk",
        sensitive={"sex": "male"},
        description="1,000 people who took a credit from a bank in Germany, with their accounts, the "
        "amount, the purpose, and whether they were a good or a bad risk.",
        source=f"Statlog (German Credit Data), {_UCI}, doi:10.24432/C5NC77",
        licence=_CC_BY,
        categorical=("job",),
        order=(
            "age",
            "sex",
            "credit_amount",
            "duration",
            "job",
            "housing",
            "saving_accounts",
            "checking_account",
            "purpose",
        ),
        unknown="not_known",
    ),
    "compas": Spec(
        target="two_year_recid",
        positive=1,
        meaning="charged with a new crime within two years",
        sensitive={"sex": "Male", "race": "Caucasian"},
        description="7,214 defendants in Broward County, Florida, with their record, the COMPAS score, and "
        "whether they were charged with a new crime within two years. Without names and dates.",
        source="ProPublica, compas-analysis",
        licence="published by ProPublica for analysis; no licence is stated",
        constants=("type_of_assessment",),
        codes={
            "race": {
                "Caucasian": 1,
                "Other": 2,
                "African-American": 3,
                "Hispanic": 4,
                "Native American": 5,
                "Asian": 6,
            }
        },
    ),
    "adult": Spec(
        target="income",
        positive=">50K",
        meaning="an income above 50,000 dollars",
        sensitive={"sex": "Male", "race": "White"},
        description="32,561 people of the 1994 census of the United States, with their work, education and "
        "family, and whether they earn more than 50,000 dollars a year. The sampling weight "
        "fnlwgt is left out; '?' is a category.",
        source=f"Adult, {_UCI}, doi:10.24432/C5XW20",
        licence=_CC_BY,
        dropped=("fnlwgt",),
        codes={
            "race": {
                "White": 1,
                "Black": 2,
                "Asian-Pac-Islander": 3,
                "Amer-Indian-Eskimo": 4,
                "Other": 5,
            }
        },
    ),
    "credit": Spec(
        target="default-payment-next-month",
        positive=1,
        meaning="a default on the next payment",
        sensitive={"SEX": "male"},
        values={"SEX": {0: "male", 1: "female"}},
        description="30,000 holders of credit cards in Taiwan, with six months of bills and payments, and "
        "whether they defaulted in the next. EDUCATION, MARRIAGE and PAY_* are codes.",
        source=f"Default of Credit Card Clients, {_UCI}, doi:10.24432/C55S3H",
        licence=_CC_BY,
        categorical=(
            "PAY_0",
            "PAY_2",
            "PAY_3",
            "PAY_4",
            "PAY_5",
            "PAY_6",
            "EDUCATION",
            "MARRIAGE",
        ),
    ),
    "census_kdd": Spec(
        target="income",
        positive="50000+.",
        meaning="an income above 50,000 dollars",
        sensitive={"sex": "Male", "race": "White"},
        description="299,285 people of the census surveys of 1994 and 1995 of the United States, with 41 "
        "columns on work, family and migration, and whether they earn more than 50,000 dollars a year.",
        source=f"Census-Income (KDD), {_UCI}, doi:10.24432/C5N30T",
        licence=_CC_BY,
        categorical=(
            "industry_code",
            "occupation_code",
            "own_business_or_self_employed",
            "veterans_benefits",
            "year",
        ),
        without=("race",),
        distinct=True,
    ),
}
