# SPDX-License-Identifier: Apache-2.0
"""The rows of table 2: what each model is trained on, what its score is of, and which rows the paper's claims count."""

from __future__ import annotations

from rdcnlab_papers.analysis import sharing
from rdcnlab_papers.models.buffers_records import Exam
from rdcnlab_papers.vargas import conditions

#: Share of the settings of several conditions for training, as in Table 2.
FIVE = 0.05
#: Number of settings of a single condition for training, if 1 % is of those that the paper has under one of nine.
OF_ONE = 11
#: Number of settings that the paper trains on, of its 10 000 (Sec. 7.2.3). Our data set has fewer settings.
AS_MANY = 400
#: 1 % of all settings of the paper.
OF_ALL = 100
_SUFFIX = "-as-many"
#: Claims of the paper that are judged with as many settings as it trained on, by case: the case that counts. Shares are
#: of its 10 000 settings (Sec. 7.2.3); of shallow models under one condition it names no drops (Sec. 7.2.4).
COUNTED = {
    "shallow-single": "shallow-single-of-all-no-drops",
    "deep-single": "deep-single-of-all",
    **{name: name + _SUFFIX for name in ("shallow-several-no-drops", "deep-several", "deep-several-no-drops")},
}
#: Rows of Table 2 by case.
ROWS = {
    "shallow-single": Exam("shallow", "single", OF_ONE, sharing.OUTCOMES),
    "shallow-several-no-drops": Exam("shallow", "several", FIVE, sharing.NO_DROPS),
    "deep-single": Exam("deep", "single", OF_ONE, sharing.OUTCOMES),
    "deep-several": Exam("deep", "several", FIVE, sharing.OUTCOMES),
    "deep-several-no-drops": Exam("deep", "several", FIVE, sharing.NO_DROPS),
}
#: Beyond the table. Sec. 7.2.4 says of shallow models under one condition what they do for share and occupancy only.
MORE = {
    "shallow-single-no-drops": Exam("shallow", "single", OF_ONE, sharing.NO_DROPS),
    "fluid-single": Exam("fluid", "single", OF_ONE, sharing.OUTCOMES),
    "fluid-single-no-drops": Exam("fluid", "single", OF_ONE, sharing.NO_DROPS),
    "fluid-several": Exam("fluid", "several", FIVE, sharing.OUTCOMES),
    "fluid-several-no-drops": Exam("fluid", "several", FIVE, sharing.NO_DROPS),
    "better-single": Exam("better", "single", OF_ONE, sharing.OUTCOMES),
    "better-several": Exam("better", "several", FIVE, sharing.OUTCOMES, "later"),
    "better-several-no-drops": Exam("better", "several", FIVE, sharing.NO_DROPS, "later"),
    "shallow-several-no-drops-as-many": Exam("shallow", "several", AS_MANY, sharing.NO_DROPS),
    "deep-several-as-many": Exam("deep", "several", AS_MANY, sharing.OUTCOMES),
    "deep-several-no-drops-as-many": Exam("deep", "several", AS_MANY, sharing.NO_DROPS),
    "better-several-as-many": Exam("better", "several", AS_MANY, sharing.OUTCOMES, "later"),
    "better-several-no-drops-as-many": Exam("better", "several", AS_MANY, sharing.NO_DROPS, "later"),
}
#: Readings of the table: 1 % of all settings of the paper, drops or none, and a shallow model that is a linear one.
READINGS = {
    "linear-several-no-drops-as-many": Exam("linear", "several", AS_MANY, sharing.NO_DROPS),
    "shallow-single-of-all": Exam("shallow", "single", OF_ALL, sharing.OUTCOMES),
    "shallow-single-of-all-no-drops": Exam("shallow", "single", OF_ALL, sharing.NO_DROPS),
    "deep-single-of-all": Exam("deep", "single", OF_ALL, sharing.OUTCOMES),
}
KERAS = {"keras-several": Exam("keras", "several", FIVE, sharing.OUTCOMES)}
#: Conditions that are held out whole begin so.
HELD_OUT = "held out: "
EVERY = {**ROWS, **MORE, **READINGS, **KERAS, **{HELD_OUT + name: exam for name, exam in conditions.LEFT_OUT.items()}}


def claim_of(case: str) -> str:
    """Return the name of the measurement of a row of the table.

    The paper's claims are judged with as many settings for training as the paper has. Before, they were judged with a
    share of ours, which are fewer, or of those under one condition.
    """
    if case in COUNTED:
        return f"r2-{case} was"
    return f"r2-{next((claim for claim, counted in COUNTED.items() if counted == case), case)}"


#: Kinds of models in words.
KINDS = {
    "shallow": "shallow model", "linear": "linear model", "deep": "deep model", "fluid": "fluid model, not trained",
    "better": "our better model", "carried": "our model for new conditions", "keras": "deep model of Keras",
}  # fmt: skip


def in_words(case: str) -> str:
    """Return a row of the table in words: the model, what it was trained on, and what its score is of."""
    exam = EVERY[case]
    condition = "one condition" if exam.rows == "single" else "nine conditions"
    if case.startswith(HELD_OUT):
        condition = "a condition held out"
    amount = f"{exam.train:g} settings" if exam.train > 1 else f"{100 * exam.train:g} % of the settings"
    trained = condition if exam.kind == "fluid" or case.startswith(HELD_OUT) else f"{amount} of {condition}"
    return f"{KINDS[exam.kind]}: {trained}" + (", without drops" if exam.outcomes == sharing.NO_DROPS else "")
