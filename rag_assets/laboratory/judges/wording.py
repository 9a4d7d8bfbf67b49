"""What judges say, for people: Markdown tables with both bounds of each mean."""

from collections.abc import Iterator, Mapping, Sequence

from rag_assets.laboratory.judges.judged_means import BoundedMean, JudgedMean
from rag_assets.reports.text_tables import markdown_table

LEGEND = (
    "What judges say: the mean of what was scored; where a judge failed, the means with its "
    "failures as the worst and as the best score; then the 95 % interval of both, and how many "
    "were asked about."
)


def judged_lines(
    columns: Mapping[str, Sequence[JudgedMean]], *, signed: bool = False
) -> Iterator[str]:
    """A line for each judge, rubric and dimension; then what has to be known of them.

    `signed` shows differences.
    """
    every = {each.name: each for means in columns.values() for each in means}
    if not every:
        return
    rows = []
    for name, each in every.items():
        about = {"judge": each.judge, "rubric": each.rubric, "dimension": each.dimension}
        scale = {"scale": "{:g} to {:g}".format(*each.scale)}
        found = {arm: [one for one in means if one.name == name] for arm, means in columns.items()}
        said = {arm: mean_text(one[0], signed=signed) if one else "-" for arm, one in found.items()}
        rows.append(about | scale | said)
    yield from ("", *markdown_table(rows))
    if not signed:
        yield from (f"\n{note}" for note in notes_of([*every.values()]))


def notes_of(means: Sequence[JudgedMean]) -> Iterator[str]:
    """What has to be known of them: which decide nothing, and whose orders disagree."""
    for why in dict.fromkeys(each.refusal for each in means):
        if why:
            names = (f"{each.rubric}/{each.dimension}" for each in means if each.refusal == why)
            yield f"**Decides nothing**: {', '.join(dict.fromkeys(names))}, as {why}."
    for each in means:
        if each.disagreeing:
            yield (
                f"{each.judge} says another thing of {each.disagreeing} pairs when the answers "
                "change places: these count as ties."
            )


def mean_text(mean: JudgedMean, *, signed: bool = False) -> str:
    """What a judge says, and what people would; of a difference what that decides.

    `4.12 (3.90 to 4.30, n 20); people 3.85 (3.52 to 4.18, 60 labels)`.
    """
    said, people, sign = shown(mean.of, signed=signed), mean.people, "+" if signed else ""
    if people is None:
        return said
    verdict = f": {mean.verdict}" if signed and not mean.refusal else ""
    return (
        f"{said}; people {people.estimate:{sign}.2f} ({people.low:{sign}.2f} to "
        f"{people.high:{sign}.2f}, {people.labels} labels){verdict}"
    )


def shown(mean: BoundedMean, *, signed: bool = False) -> str:
    """`4.12, bounds 3.90 to 4.30 (3.61 to 4.55, n 20, failed 2)`."""
    sign = "+" if signed else ""
    told = "-" if mean.mean is None else f"{mean.mean:{sign}.2f}"
    if mean.failed:
        told += f", bounds {mean.worst:{sign}.2f} to {mean.best:{sign}.2f}"
    drawn = [] if mean.low is None else [f"{mean.low:{sign}.2f} to {mean.high:{sign}.2f}"]
    failed = [f"failed {mean.failed}"] if mean.failed else []
    return f"{told} ({', '.join([*drawn, f'n {mean.items}', *failed])})"
