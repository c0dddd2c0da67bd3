"""Tables protected in one call, from a data frame to a result that shows itself."""
