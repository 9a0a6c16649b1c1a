"""Networks learned by tests and wrapped by a holdout, on the data sets of Cheng and Greiner. See README.md."""
