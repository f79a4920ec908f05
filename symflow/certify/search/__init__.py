"""Search for proofs. Nothing here is trusted: a proof counts once its certificate has been replayed."""
