"""What every source that is asked on the fly has in common: questions, answers, their register, and limits."""
