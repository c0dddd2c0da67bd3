"""The safe room: outputs that know what was shown before, and one folder for the output checker."""
