"""TF-Agents is written for Keras 2, which later TensorFlows have under another name."""

import importlib.util
import os

if importlib.util.find_spec("tf_keras"):
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
