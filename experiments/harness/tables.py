"""A table, as aligned text, Markdown and HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass, field


@dataclass
class Table:
    """Cells are text; the first `labels` columns are set left, the others right."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    labels: int = 1


def as_text(table: Table) -> str:
    """Columns padded to their widest cell."""
    lines = [table.title]
    cells = [table.header, *table.rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
    for row in cells:
        padded = [
            cell.ljust(width) if i < table.labels else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  " + "  ".join(padded).rstrip())
    lines += [f"  {note}" for note in table.notes]
    return "\n".join(lines)


def as_markdown(table: Table) -> str:
    """A heading, the table, the notes."""
    rule = ["---" if i < table.labels else "---:" for i in range(len(table.header))]
    lines = [f"### {table.title}", ""]
    lines += ["| " + " | ".join(row) + " |" for row in [table.header, rule, *table.rows]]
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines)


def _html_row(row: list[str], tag: str, labels: int) -> str:
    """One row; marks get a colour through their class."""
    cells = []
    for i, cell in enumerate(row):
        classes = ["label"] if i < labels else []
        classes += [cell] if cell in ("ok", "off", "MISSED", "skipped") else []
        cells.append(f'<{tag} class="{" ".join(classes)}">{html.escape(cell)}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"


def as_html(tables: list[Table], title: str, preface: list[str]) -> str:
    """One self-contained page."""
    style = (
        "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
        "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
        "th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}"
        ".label{text-align:left}.ok{color:#17692f}.off{color:#8a5a00}"
        ".MISSED{color:#b00020;font-weight:bold}.skipped{color:#666}p{max-width:50em;margin:.3em 0}"
    )
    parts = ['<!doctype html><html lang="en"><meta charset="utf-8">']
    parts.append(f"<title>{html.escape(title)}</title><style>{style}</style>")
    parts.append(f"<h1>{html.escape(title)}</h1>")
    parts += [f"<p>{html.escape(line)}</p>" for line in preface]
    for table in tables:
        parts.append(f"<h2>{html.escape(table.title)}</h2><table>")
        parts.append(f"<thead>{_html_row(table.header, 'th', table.labels)}</thead><tbody>")
        parts += [_html_row(row, "td", table.labels) for row in table.rows]
        parts.append("</tbody></table>")
        parts += [f"<p>{html.escape(note)}</p>" for note in table.notes]
    return "\n".join(parts) + "</html>\n"
