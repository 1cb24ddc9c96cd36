"""Many quick cases in one test."""

import functools
import inspect

import pytest


def for_each(names, cases):
    """Runs a test once for all cases, and lets it fail with those that fail.

    It stands in place of `pytest.mark.parametrize` where a case takes hardly any time. All cases
    share the fixtures of the test. If no case fails, and some are skipped, the test is skipped,
    after all others have run.

    Args:
        names: of the arguments of a case, a tuple; or of the only one.
        cases: tuples of their values; or the values of the only one.
    """
    several = isinstance(names, tuple)
    names = names if several else (names,)
    given = [case if several else (case,) for case in cases]

    def decorate(test):
        @functools.wraps(test)  # so that it keeps its marks
        def run_all(**fixtures):
            errors = {}
            skipped = []
            for place, case in enumerate(given):
                try:
                    test(**dict(zip(names, case, strict=True)), **fixtures)
                except pytest.skip.Exception as reason:
                    skipped.append(str(reason))
                except (Exception, pytest.fail.Exception) as error:
                    errors[f"case {place}, {case!r}"] = error
            if errors:
                found = [f"{case}: {type(each).__name__}: {each}" for case, each in errors.items()]
                found.insert(0, f"{len(errors)} of {len(given)} cases fail:")
                raise AssertionError("\n".join(found)) from next(iter(errors.values()))
            if skipped:
                pytest.skip(skipped[0])

        parameters = inspect.signature(test).parameters
        fixtures = [each for name, each in parameters.items() if name not in names]
        run_all.__signature__ = inspect.Signature(fixtures)
        return run_all

    return decorate
