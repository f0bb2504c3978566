"""XGBoost: translate, load and write back."""
