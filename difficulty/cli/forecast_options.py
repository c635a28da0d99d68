"""Options of ``difficulty forecast``: the training run and the reward that it is for."""

from __future__ import annotations

from typing import Annotated

import typer

ForTrainerOption = Annotated[
    str | None,
    typer.Option(
        "--trainer",
        metavar="NAME",
        help="Say whether this trainer's steps fill: ms-swift, ms-swift-ray, verl, verl-v1, "
        "nemo-rl, skyrl, open-instruct, trl, openrlhf, slime, areal, prime-rl; none takes it back.",
    ),
]
TrainGroupsOption = Annotated[
    int | None, typer.Option(help="Usable groups a step trains on. (default: 96; verl 512)")
]
GenGroupsOption = Annotated[
    int | None,
    typer.Option(help="Groups in a generation batch. (default: as trained on; verl three times)"),
]
MaxRoundsOption = Annotated[
    int | None,
    typer.Option(help="Generation batches that a step looks at. (default: the trainer's own)"),
]
StepsOption = Annotated[int | None, typer.Option(help="Steps of the run. (default: 100)")]
RedrawOption = Annotated[
    str | None,
    typer.Option(
        help="Which batches of a step hold the same questions: fresh (none), resamples (all but "
        "the first) or all. (default: ms-swift resamples, else fresh)"
    ),
]
LengthPenaltyOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="soft_overlong on top of correctness, as the trainer has it; or none."
    ),
]
MaxLengthOption = Annotated[
    int | None, typer.Option(help="Tokens of the longest answer, for the length penalty.")
]
BufferOption = Annotated[
    int | None, typer.Option(help="Tokens before --max-length over which the penalty grows.")
]
PenaltyWeightOption = Annotated[
    float | None, typer.Option(help="Weight of the penalty in the reward. (default: 1.0)")
]
SpreadOption = Annotated[
    float | None,
    typer.Option(help="Also say how many groups have rewards with a smaller deviation than this."),
]
