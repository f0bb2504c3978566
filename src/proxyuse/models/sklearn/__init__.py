"""scikit-learn: translate, load and write back."""
