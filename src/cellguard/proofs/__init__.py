"""What attack and engines compute moves with: problem, reduction, pools, local programs. No verdict and no cost."""
