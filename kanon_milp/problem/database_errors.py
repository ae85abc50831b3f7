"""What went wrong in a database, in words of our own: the texts of drivers may hold passwords and cells."""

from __future__ import annotations

import re

MORE = "; cast it in the query"

# SQLSTATE, or how it begins → what to say
STATES = {
    "28": "the user or the password is refused",
    "3D": "there is no such database on the server",
    "42P01": "the query names a table that is not there",
    "42P07": "there is a table of that name already; choose another name",
    "42703": "the query names a column that is not there",
    "42601": "the query is not one statement of valid SQL",
    "42702": "two columns of the query have the same name; rename one of them (as ...)",
    "42701": "two columns have the same name; rename one of them",
    "42501": "the user has no permission to do that",
    "42": "the query is not valid",
    "25006": "the query would change the database; it may only read",
    "22": "the database cannot compute the query, or hold a value",
    "08": "the connection broke off",
    "57014": "the query was cancelled",
    "53": "the server has no room, memory or connections left",
}
# what a text holds → what to say; libpq and the drivers have no codes for these
TEXTS = (
    (r"password authentication failed|no password supplied|authentication failed", STATES["28"]),
    (r"could not translate host name|name or service not known|nodename nor servname", "there is no such host"),
    (r"connection refused|is the server running|could not connect", "no server answers there"),
    (r"timeout expired|timed out", "no server answers there in time"),
    (r"invalid uri|invalid percent|missing \"=\" after|invalid port|invalid connection option", "the address is wrong"),
    (r"no pg_hba\.conf entry", STATES["28"]),
    (r"database \"[^\"]*\" does not exist", STATES["3D"]),
    (r"role \"[^\"]*\" does not exist", STATES["28"]),
    (r"ssl", "the server and this machine do not agree on encryption (sslmode)"),
    (r"already exists", STATES["42P07"]),
    (r"no such table|table with name .* does not exist", STATES["42P01"]),
    (r"no such column|referenced column|referenced table", STATES["42703"]),
    (r"duplicate column", STATES["42701"]),
    (r"syntax error|parser error|incomplete input|one statement at a time|unrecognized token", STATES["42601"]),
    (r"not authorized|authorization denied|prohibited|readonly database|read-only|read only", STATES["25006"]),
    (r"not a database|not a valid duckdb database|file is encrypted", "the file is no database of that kind"),
    (
        r"permission error.*configuration|cannot change configuration|external access",
        "the query reaches beyond the database (files, other databases, extensions, settings); it may only read tables",
    ),
    (r"unable to open database file|cannot open|no such file", "the file cannot be opened"),
    (r"database is locked|could not set lock|conflicting lock", "another program holds the database; wait for its end"),
    (r"binder error|catalog error", STATES["42"]),
    (r"conversion error|out of range", STATES["22"]),
    (r"disk is full|no space left", "there is no room left"),
    (r"decode to utf-8", f"a text is not UTF-8{MORE}"),
    (r"month_day_nano_interval", f"a column holds intervals{MORE}"),
    (r"duplicate", STATES["42701"]),
)


def reason(error: BaseException) -> str:
    """What an error of a driver means; its own text is looked at, and never shown."""
    state = str(getattr(error, "sqlstate", None) or "")
    for length in (5, 2):
        if state and state[:length] in STATES:
            return STATES[state[:length]]
    said = f"{type(error).__name__} {error}".lower()
    known = next((words for pattern, words in TEXTS if re.search(pattern, said)), None)
    kind = type(error).__name__ + (f", SQLSTATE {state}" if re.fullmatch(r"[0-9A-Z]{5}", state) else "")
    return known or f"the database answers with an error ({kind})"
