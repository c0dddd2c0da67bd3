"""What the methods give: a pattern that is proven, and perturbed tables that are checked."""
