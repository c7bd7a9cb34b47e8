"""The report as one page that needs nothing but itself."""

from pytest_tutoreval.reporting.html.page import REPORT, render_page, render_transcript_page, write_html

__all__ = ["REPORT", "render_page", "render_transcript_page", "write_html"]
