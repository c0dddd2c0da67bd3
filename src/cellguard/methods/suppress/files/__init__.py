"""What a suppressed set writes into the internal half of its output folder."""
