"""The settings of a report fit each other."""

import pytest
from pydantic import ValidationError

from rag_assets.config import ReportSettings


def test_no_more_units_are_taken_than_are_looked_at():
    with pytest.raises(ValidationError, match="units_each = 9 is more than candidates = 5"):
        ReportSettings(units_each=9, candidates=5)
    assert ReportSettings(units_each=5, candidates=5).units_each == 5
