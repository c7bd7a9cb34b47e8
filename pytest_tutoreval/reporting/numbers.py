"""Numbers as the study prints them; rounding happens here and nowhere below."""

__all__ = ["delta", "interval", "p_value", "signed"]

_LEVEL = 0.05
_MOST_DIGITS = 6


def signed(number: float | None, digits: int = 3) -> str:
    """Return a number with its sign, `-` where there is none."""
    return "-" if number is None else f"{number:+.{digits}f}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval, `-` where there is none."""
    return "-" if low is None and high is None else f"[{signed(low)}, {signed(high)}]"


def delta(number: float | None) -> str:
    """Return Cliff's delta: two decimals without the leading zero."""
    return signed(number, 2).replace("0.", ".", 1)


def p_value(p: float | None) -> str:
    """Return a p-value: three or four decimals without the leading zero, scientific below one in a thousand."""
    if p is None:
        return "-"
    if p < 0.001:
        return f"{p:.1e}"
    digits = 4 if p < 0.02 else 3
    while p < _LEVEL <= round(p, digits) and digits < _MOST_DIGITS:
        digits += 1  # a p below the level never shows as the level
    return f"{p:.{digits}f}".removeprefix("0")
