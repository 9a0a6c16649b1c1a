"""Models that leave home: a fitted classifier as an ONNX graph or as a SQL query, which run without tanager.

``columns`` says how raw cells become slots, ``tables`` reads the probabilities of a view, and ``answers`` puts them
together as a few kinds of answers, whatever the classifier. ``onnx`` and ``sql`` write these down in their language.
"""
