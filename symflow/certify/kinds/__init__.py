"""Kinds of proof object, one module each; scanned by :func:`symflow.certify.recheck.kinds`."""
