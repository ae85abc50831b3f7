"""HTML pages that are complete in one file: no network, no server, nothing that runs but the script of the page."""
