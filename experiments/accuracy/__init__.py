"""The most accurate classifiers here beside forests and boosting of scikit-learn, on all data sets."""
