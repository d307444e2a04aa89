"""Dialects whose ops come from tables in torch's schema grammar."""
