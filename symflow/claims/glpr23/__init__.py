"""Geshkovski, Letrouit, Polyanskiy, Rigollet: A mathematical perspective on Transformers (GLPR23)."""
