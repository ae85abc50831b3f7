"""Charts of altair that every notebook shows: with their picture, where a notebook draws none itself."""

from __future__ import annotations

from typing import Any

from kanon_milp.system.extras import optional


def altair(what: str, module: str = "altair") -> Any:
    """The module, or the one that makes SVG and PDF of charts. what: is drawn; raises InputError that says how to get
    it where it is missing."""
    return optional(module, "report", what)


def shown(chart: Any) -> Any:
    """A chart that shows as a picture wherever no program draws charts: without a network, and in what is exported."""
    picture = type(type(chart).__name__, (_WithPicture, type(chart)), {})
    object.__setattr__(chart, "__class__", picture)  # altair takes what is set as a part of the specification
    return chart


class _WithPicture:
    """What notebooks are told of a chart: SVG, beside the specification for those that draw it themselves."""

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        chart: Any = self
        try:
            import vl_convert
        except ImportError:
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        from altair import SCHEMA_VERSION

        specification = chart.to_dict()
        return {
            f"application/vnd.vegalite.{SCHEMA_VERSION.partition('.')[0]}+json": specification,
            "image/svg+xml": vl_convert.vegalite_to_svg(specification),
            "text/plain": f"<{type(chart).__name__} of altair>",
        }
