"""The corridor: strings data, models and sensitivity together; what a user holds."""

from fairstress.audit.reported import Audit

__all__ = ["Audit"]
