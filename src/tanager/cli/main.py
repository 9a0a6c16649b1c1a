"""The ``tanager`` command itself: finds the sub-command, and turns errors into one line."""

from __future__ import annotations

import click


@click.group()
@click.version_option(package_name="tanager")
def main() -> None:
    """Bayesian network classifiers: from a file to an answer."""
