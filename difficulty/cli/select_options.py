"""Options of ``difficulty select`` and ``difficulty export``, and how they become settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from difficulty.cli.options import as_tuple, stated

PassRateOption = Annotated[
    str | None, typer.Option(metavar="LOW-HIGH", help="Keep this band of pass rates only.")
]
AboveChanceOption = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Keep a question with options only if its pass rate beats guessing with at least this "
        "probability, as 0.9 (uniform prior). Off by default: with k = 5 and 4 options 0.9 drops "
        "all of L4 and L5; but a pure guesser on 4 options lands in L2-L5 76 % of the time.",
    ),
]
MaxCollapseOption = Annotated[
    float | None,
    typer.Option(metavar="P", help="Drop questions whose groups collapse with more than this."),
]
AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Drop questions that this evaluation set asks too (see overlaps.parquet); repeat.",
    ),
]
NearDuplicatesOption = Annotated[
    bool | None,
    typer.Option(
        "--drop-near-duplicates/--keep-near-duplicates",
        help="Of near duplicates with one gold keep one. They are always listed in "
        "near_duplicates.parquet. (default: keep)",
    ),
]
QuotaOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SOURCE=N", help="At most N of a source; repeat for more."),
]
MaxQuestionsOption = Annotated[int | None, typer.Option(help="At most so many questions.")]
OrderOption = Annotated[
    str | None,
    typer.Option(
        help="easy-to-hard, hard-to-easy, shuffled, mix or gaussian. (default: easy-to-hard)"
    ),
]
MixOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=SHARE,...",
        help="Each batch holds these shares of levels or of sources, as L2=0.2,L3=0.3,L4=0.5.",
    ),
]
BatchSizeOption = Annotated[
    int | None, typer.Option(help="Questions a batch of the mix. (default: 64)")
]
GaussianMeanOption = Annotated[
    str | None,
    typer.Option(
        metavar="START-END",
        help="Pass rate that --order gaussian favours first and last. (default: 0.8-0.2)",
    ),
]
GaussianWidthOption = Annotated[
    float | None, typer.Option(help="How widely it does so. (default: 0.2)")
]
SelectSeedOption = Annotated[
    int | None, typer.Option("--seed", help="Seed of shuffles, caps and draws. (default: 0)")
]
ResetOption = Annotated[bool, typer.Option("--reset", help="Forget all earlier rules first.")]
ExplainOption = Annotated[
    str | None,
    typer.Option(
        metavar="QUESTION_ID",
        help="Tell this question's story instead; the start of its id is enough, or the dataset's "
        "own id.",
    ),
]


HoldoutOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Hold out this share of the kept questions, alike from every level, as 0.02; 0: none.",
    ),
]
ControlOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="random: beside TRAINER also write TRAINER-control, as many questions of each source "
        "drawn from everything profiled; none: no longer.",
    ),
]
CopiesOption = Annotated[
    bool | None,
    typer.Option(
        "--copies/--no-copies",
        help="Repeat a question as often as it stands in the dataset. (default: no)",
    ),
]
ShardRowsOption = Annotated[
    int | None, typer.Option(help="Rows of a training file. (default: 500000)")
]
CarryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Write this column of the dataset into the files, for your reward; repeat, or all, or "
        "none. (default: all with --reward, else none)",
    ),
]
PushOption = Annotated[
    str | None,
    typer.Option(
        metavar="OWNER/NAME",
        help="Upload the files as this private dataset; the token is HF_TOKEN of the environment.",
    ),
]
PublicOption = Annotated[bool, typer.Option("--public", help="Make that dataset public.")]


def ordering(
    order: str | None,
    mix: str | None,
    batch_size: int | None,
    gaussian_mean: str | None,
    gaussian_width: float | None,
) -> dict[str, Any]:
    """Settings of the order; what belongs to an order asks for it.

    Raises:
        typer.BadParameter: an option of another order than the one that is stated.
    """
    wanted = {
        "mix": stated(mix=mix, batch_size=batch_size),
        "gaussian": stated(gaussian_mean=gaussian_mean, gaussian_width=gaussian_width),
    }
    implied = [name for name, values in wanted.items() if values]
    if len(implied) > 1 or (order is not None and implied not in ([], [order])):
        options = ", ".join(f"--{key.replace('_', '-')}" for key in wanted[implied[0]])
        raise typer.BadParameter(f"{options} goes with --order {implied[0]}")
    return stated(order=order or next(iter(implied), None)) | wanted["mix"] | wanted["gaussian"]


def evaluation_sets(against: list[str] | None) -> tuple[str, ...] | None:
    """Evaluation sets by paths that hold from any folder.

    Raises:
        InputError: one that is no file.
    """
    from pathlib import Path

    from difficulty.errors import InputError
    from difficulty.settings.selection import settled_file

    for name in against or ():
        if not Path(name).expanduser().is_file():
            raise InputError(
                f"evaluation set is missing: {name}. Check the path given to --against"
            )
    return as_tuple(None if against is None else [settled_file(name) for name in against])
