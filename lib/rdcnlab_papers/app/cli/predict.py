# SPDX-License-Identifier: Apache-2.0
"""``rdcnlab predict``: ask the trained models."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from rdcnlab.app.cli.tools import Json, show
from rdcnlab.fields import input_file
from rdcnlab.fields.errors import InputError
from rdcnlab.fields.files import unreadable
from rdcnlab.scenario import Scenario

app = typer.Typer(help="Ask the trained models.", no_args_is_help=True)


@app.command("variant")
def predict_variant(
    trace: Annotated[Path, typer.Argument(help="A table (.parquet or .csv) with t_ns, cwnd_B, srtt_us[, flow].")],
    as_json: Json = False,
) -> None:
    """Classify the variant of TCP of flows, from their window and RTT at each ACK."""
    import pandas as pd

    from rdcnlab_papers.models import variant

    readers: dict[str, Callable[[io.BytesIO], pd.DataFrame]] = {".parquet": pd.read_parquet, ".csv": pd.read_csv}
    if trace.suffix not in readers:
        raise InputError.of("TRACE", trace.name, "a file that ends in .parquet or .csv")
    try:
        content = input_file.read(trace, input_file.MEASURED)
    except OSError as error:
        raise InputError.of("TRACE", trace, reason=unreadable(trace, error)) from None
    try:
        acks = readers[trace.suffix](io.BytesIO(content))
    except (OSError, ValueError) as error:
        raise InputError.of("TRACE", trace, f"a readable table ({error})") from None
    show(json.loads(variant.classify(acks).to_json(orient="records")), as_json)


@app.command("prolongation")
def predict_prolongation(
    scenario: Annotated[Path, typer.Argument(help="A YAML file; flows are called main... and migrated...")],
    as_json: Json = False,
) -> None:
    """Predict the time of a scenario's migrated flows divided by that of its main flows, without running it."""
    import pandas as pd

    from rdcnlab_papers.models import general

    inputs = general.inputs(Scenario.load(scenario))
    (row,) = json.loads(general.best().predict(pd.DataFrame([inputs])).to_json(orient="records"))
    show([{**inputs, **row}], as_json)


@app.command("seconds")
def predict_seconds(
    migrated: Annotated[str, typer.Option(help="Variant of the flow that is moved.")],
    main: Annotated[str, typer.Option(help="Variant of the flow that stays.")],
    day: Annotated[float, typer.Option(help="Time for which a circuit is up [ms].")],
    night: Annotated[float, typer.Option(help="Dark time before the next circuit [ms].")] = 0,
    as_json: Json = False,
) -> None:
    """Predict how much longer a migrated flow of 2 GiB takes than the main one, on the testbed of Aykurt et al."""
    import pandas as pd

    from rdcnlab_papers.models import forest

    inputs = {"migrated": migrated, "main": main, "day_ms": day, "night_ms": night}
    (row,) = json.loads(forest.best().predict(pd.DataFrame([inputs])).to_json(orient="records"))
    show([{**inputs, **row}], as_json)
