"""How a judge is asked, and what is read of its reply; a failure is a judgment without a score.

A reply counts only if it ended by itself and follows the schema. One that was cut, is empty or does
not follow the schema is asked for once more, with twice the length. Answers to one question are
ranked twice, the second time in reverse order: one of a pair is better only if both say so.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from string import ascii_uppercase

from rag_assets.config import Config
from rag_assets.identity import canonical_json, fingerprint
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.calls import Completion, Message, Outcome, Request
from rag_assets.models.language.client import LanguageModelClient
from rag_assets.models.language.opening import open_language_model
from rag_assets.questions.judging.labels import NOBODY_LABELLED, LabelFile, read_labels, task_of
from rag_assets.questions.judging.rubrics import Rubric, ranking_schema, read_rubric
from rag_assets.questions.judging.verdicts import (
    ANSWER,
    JudgedItem,
    Judgment,
    Order,
    ParseState,
    pair_of,
)
from rag_assets.workers import Json

ASKED_AGAIN: frozenset[Outcome] = frozenset({"cut", "empty", "malformed"})
"""Outcomes after which the judge is asked once more."""
PASSING: frozenset[Outcome] = frozenset({"unavailable", "over_budget"})
"""Outcomes that another run may not have."""
LOGGED_EVERY = 100


@dataclass(frozen=True, slots=True)
class _Reply:
    """What came of asking for one judgment."""

    last: Completion
    attempts: int
    seconds: float

    @property
    def state(self) -> ParseState:
        """How it was parsed."""
        if self.last.outcome != "done":
            return "failed"
        return "parsed" if self.attempts == 1 else "repaired"


@dataclass(frozen=True, slots=True)
class RubricJudge:
    """A language model that judges by rubrics."""

    model: LanguageModelClient
    rubrics: Sequence[Rubric]
    most: int
    """Questions of each rubric, by chance."""
    labels: LabelFile = NOBODY_LABELLED
    """What people said of such items."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that its judgments, and their worth, depend on beside the items."""
        hashes = [rubric.hash for rubric in self.rubrics]
        names = {rubric.name for rubric in self.rubrics}
        own = [each.key for each in self.labels.labels if task_of(each.of).rubric in names]
        return fingerprint(self.model.identity, self._parameters, hashes, self.most, own)

    def judge_all(
        self, rows: Sequence[Sequence[JudgedItem]], *, log: Callable[[str], None]
    ) -> list[Judgment]:
        """The judgments of what was made of each question, by each rubric that applies to it.

        Several are asked for at once, of `most` questions for each rubric; equal items once. The
        questions come in an order of chance, so that another answer to one changes no other.
        """
        by_chance = sorted(filter(None, rows), key=lambda row: fingerprint(_question(row[0])))
        once: dict[tuple[str, str], tuple[Rubric, JudgedItem]] = {}
        for rubric in self.rubrics:
            fitting = [[item for item in row if rubric.applies_to(item)] for row in by_chance]
            for row in [row for row in fitting if row][: self.most]:
                once |= {(rubric.name, item.item_id): (rubric, item) for item in row}
        asked = list(once.values())
        found: list[Judgment] = []
        at_once = self.model.settings.concurrency
        for number, judgments in enumerate(
            asked_side_by_side(lambda each: self.judge(*each), asked, at_once=at_once)
        ):
            if number % LOGGED_EVERY == 0:
                log(f"{self.model.name}: judging {number + 1:,} to {len(asked):,}")
            found += judgments
        return found

    def judge(self, rubric: Rubric, item: JudgedItem) -> list[Judgment]:
        """One judgment for each dimension; of answers side by side, two for each pair of them."""
        if not rubric.is_ranking:
            return list(self._scored(rubric, item))
        answers = [text for name, text in item.parts.items() if name.startswith(ANSWER)]
        forward, back = [*range(len(answers))], [*reversed(range(len(answers)))]
        orders: tuple[tuple[Order, list[int]], ...] = (("ab", forward), ("ba", back))
        return [
            judgment
            for order, places in orders
            for judgment in self._ranked(rubric, item, answers, order=order, places=places)
        ]

    def _scored(self, rubric: Rubric, item: JudgedItem) -> Iterator[Judgment]:
        shown = {name: item.parts[name] for name in rubric.parts if item.parts.get(name)}
        first = _messages(rubric, shown, fence=item.item_id)
        request = Request(first, rubric.tokens, rubric.scores_schema(), item.sources)
        reply = self._asked(request)
        for dimension in rubric.dimensions:
            judgment = self._judgment(rubric, item, request, reply, dimension=dimension)
            if isinstance(parsed := reply.last.parsed, Mapping):
                one = parsed[dimension]
                assert isinstance(one, Mapping), "it follows the schema"
                score = rubric.read_score(one["score"])
                judgment = replace(judgment, score=score, evidence=_readable(one["evidence"]))
            yield judgment

    def _ranked(
        self,
        rubric: Rubric,
        item: JudgedItem,
        answers: Sequence[str],
        *,
        order: Order,
        places: Sequence[int],
    ) -> Iterator[Judgment]:
        letters = ascii_uppercase[: len(answers)]
        shared = {name: item.parts[name] for name in rubric.parts if item.parts.get(name)}
        lettered = {
            f"answer {letter}": answers[place]
            for letter, place in zip(letters, places, strict=True)
        }
        first = _messages(rubric, {**shared, **lettered}, fence=item.item_id)
        tokens = rubric.tokens + 10 * len(answers)
        request = Request(first, tokens, ranking_schema(letters), item.sources)
        reply = self._asked(request)
        ranks, evidence, state = {}, "", reply.state
        if isinstance(parsed := reply.last.parsed, Mapping):
            given = parsed["ranks"]
            assert isinstance(given, Mapping), "it follows the schema"
            ranks = dict(zip(places, counted_ranks([given[one] for one in letters]), strict=True))
            evidence = _readable(parsed["evidence"])
            if [ranks[place] for place in places] != [given[one] for one in letters]:
                state = "repaired"
        [dimension] = rubric.dimensions
        for one, other in combinations(range(len(answers)), 2):
            pair = replace(item, parts={**shared, **pair_of(answers[one], answers[other])})
            judgment = self._judgment(rubric, pair, request, reply, dimension=dimension)
            score = _preference(ranks[one], ranks[other]) if ranks else None
            yield replace(judgment, score=score, evidence=evidence, order=order, parse_state=state)

    def _judgment(
        self, rubric: Rubric, item: JudgedItem, request: Request, reply: _Reply, *, dimension: str
    ) -> Judgment:
        """A judgment without its score."""
        return Judgment(
            item_id=item.item_id,
            kind=item.kind,
            rubric=rubric.name,
            rubric_hash=rubric.hash,
            judge=self.model.name,
            judge_identity=self.model.identity,
            prompt_hash=fingerprint([[each.role, each.content] for each in request.messages]),
            parameters=self._parameters,
            dimension=dimension,
            score=None,
            parse_state=reply.state,
            attempts=reply.attempts,
            raw=reply.last.text,
            reason=reply.last.reason,
            is_generator=self.model.identity in item.writers,
            seconds=reply.seconds,
            may_pass=reply.last.outcome in PASSING,
        )

    def _asked(self, request: Request) -> _Reply:
        """The reply: the second one if the first is of no use. What was not sent took no time."""
        first = self.model.complete(request)
        if first.outcome not in ASKED_AGAIN:
            return _Reply(first, int(first.milliseconds > 0), first.milliseconds / 1_000)
        more: tuple[Message, ...] = ()
        if first.outcome == "malformed":
            wrong = f"This is of no use: {first.reason}. Answer again, with JSON alone."
            said = Message("assistant", first.text) if first.text else None
            more = (*((said,) if said else ()), Message("user", wrong))
        messages = (*request.messages, *more)
        second = self.model.complete(
            replace(request, messages=messages, max_tokens=2 * request.max_tokens)
        )
        return _Reply(second, 2, (first.milliseconds + second.milliseconds) / 1_000)

    @property
    def _parameters(self) -> str:
        settings = self.model.settings
        sent: dict[str, Json] = {
            "temperature": settings.temperature,
            "seed": settings.seed,
            "structured_output": settings.structured_output,
        }
        return canonical_json(sent)


@contextmanager
def open_judges(config: Config) -> Generator[list[RubricJudge]]:
    """The judges of `evaluation.judges`; none where it names none. Nobody is contacted yet.

    Raises:
        MissingExtraError: One is the embedded model, and its extra is not installed.
        QuestionsError: The file of labels cannot be read.
    """
    with ExitStack() as stack:
        labels = read_labels(config.questions.labels_file)
        yield [
            RubricJudge(
                stack.enter_context(open_language_model(config, each.model)),
                [read_rubric(name) for name in each.rubrics],
                each.most,
                labels,
            )
            for each in config.evaluation.judges
        ]


def counted_ranks(given: Sequence[Json]) -> list[int]:
    """Ranks where equal ones count: 1, 2, 2, 4 of 1, 2, 2, 3 (P1, figure 15)."""
    ranks = [int(rank) for rank in given if isinstance(rank, int | float)]
    return [1 + sum(other < rank for other in ranks) for rank in ranks]


def _question(item: JudgedItem) -> str:
    return item.parts.get("question", item.parts.get("prompt", ""))


def _readable(evidence: Json) -> str:
    """The evidence without halves of characters, which no table holds."""
    return str(evidence).encode(errors="replace").decode()


def _preference(one: int, other: int) -> float:
    """1 if the first of a pair has the better rank, 0 if the second has, .5 if both are equal."""
    return 0.5 if one == other else float(one < other)


def _messages(rubric: Rubric, shown: Mapping[str, str], *, fence: str) -> tuple[Message, ...]:
    """What is sent; the tags hold a hash of the texts, so that none of these can end its own."""
    tags = ((name, f"{name.replace(' ', '_')}-{fence[:12]}") for name in shown)
    quoted = (f"<{tag}>\n{shown[name]}\n</{tag}>" for name, tag in tags)
    return Message("system", rubric.system), Message("user", "\n\n".join(quoted))
