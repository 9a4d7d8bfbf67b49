"""A reading of a question on one table while it is made: which words have a role, and which."""

from dataclasses import dataclass, field

from rag_assets.table_lookup.plans.plan import Condition, PlanValue
from rag_assets.table_lookup.question.linked_columns import LinkedColumn
from rag_assets.table_lookup.question.linking import TableLinks
from rag_assets.table_lookup.question.mentions import ColumnMention
from rag_assets.table_lookup.question.question import AskedQuestion
from rag_assets.table_lookup.words.word_forms import folded

_YES = frozenset(("yes", "true", "ja", "y", "j", "1", "x"))
_NO = frozenset(("no", "false", "nej", "n", "0"))


@dataclass
class Draft:
    """What is known of a reading while it is made."""

    question: AskedQuestion
    table: TableLinks
    explained: set[int] = field(default_factory=set)
    conditions: list[tuple[tuple[Condition, ...], ...]] = field(default_factory=list)
    """For each condition its alternatives, each a tuple that holds together."""
    score: float = 0.0
    shares: list[float] = field(default_factory=list)
    roles: set[ColumnMention] = field(default_factory=set)
    limit: int | None = None
    """How many rows or groups are asked for, where a number of them is."""
    group: str | None = None
    """The column, for each value of which something is computed."""
    compares: bool = False
    """Whether rows are asked for side by side."""
    kind: str = ""
    reason: str = ""

    def fail(self, kind: str, reason: str) -> None:
        """Remember the first thing that is wrong."""
        if not self.kind:
            self.kind, self.reason = kind, reason

    def explain(self, words: tuple[int, ...] | set[int], score: float) -> None:
        """Give words a role."""
        fresh = [each for each in words if each not in self.explained]
        self.score += score * sum(not self.question.is_harmless[each] for each in fresh)
        self.explained |= set(words)


def is_key(draft: Draft, column: LinkedColumn) -> bool:
    """Whether each row has its own value: to count them is to count rows."""
    info = column.info
    if info.is_numeric and not column.is_number:
        return False
    return info.filled == info.distinct == draft.table.info.rows


def flag_values(column: LinkedColumn, rows: int) -> tuple[PlanValue, PlanValue] | None:
    """What stands for yes and for no in a column of either; of one alone if no cell is empty."""
    if column.is_flag:
        return (1, 0)
    values = {folded(value): value for value in column.info.values}
    yes = [value for key, value in values.items() if key in _YES]
    no = [value for key, value in values.items() if key in _NO]
    is_of_both = len(values) == 2 and yes and no
    is_of_one = len(values) == 1 and (yes or no) and column.info.filled == rows
    return ((yes or ["yes"])[0], (no or ["no"])[0]) if is_of_both or is_of_one else None


def _with_zeros(draft: Draft, mention: ColumnMention) -> LinkedColumn | None:
    """The one column of amounts that is filled everywhere, and 0 where there is none."""
    close = mention.close()
    info = close[0].info
    is_full = info.is_numeric and info.unit and info.filled == draft.table.info.rows
    return close[0] if len(close) == 1 and is_full and info.minimum == 0 else None


def select_by_filling(draft: Draft, mention: ColumnMention, op: str) -> None:
    """Rows in which a column is empty, or is not; columns that are filled alike count as one."""
    draft.roles.add(mention)
    columns = mention.close()
    flags = [each for each in columns if flag_values(each, draft.table.info.rows)]
    if flags:
        said = frozenset(
            form for place in mention.words for form in draft.question.words[place].forms
        )
        if not flags[0].says_first(said):
            heading = flags[0].info.heading
            draft.fail("no_column", f"{heading} may be meant, and its first word is not said")
            return
        yes, no = flag_values(flags[0], draft.table.info.rows) or ("", "")
        draft.conditions.append(
            ((Condition(flags[0].info.name, "=", (no if op == "empty" else yes,)),),)
        )
        return
    if op == "empty" and (zeros := _with_zeros(draft, mention)):
        draft.conditions.append(((Condition(zeros.info.name, "=", (0,)),),))
        return
    partly = [each for each in columns if 0 < each.info.filled < draft.table.info.rows]
    alike = {each.info.filled for each in partly}
    if not partly or (len(alike) > 1 and len(mention.close()) > 1):
        draft.fail("no_value", f"{mention.candidates[0][0].info.heading} asks for nothing here")
        return
    draft.conditions.append(((Condition(partly[0].info.name, op),),))  # ty: ignore
