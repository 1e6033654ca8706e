"""The one error for files of an experiment's folder."""


class BadConfig(Exception):
    """A file of this folder says something that cannot be meant."""
