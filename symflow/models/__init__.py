"""What a paper's definition section says: one class per model, one file per class."""
