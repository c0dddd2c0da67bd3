"""Confidential maps: cells with too few records are filled up with records from cells nearby.

H. Lee, J. Choi, C. M. O'Keefe, *Confidentialising Count and Magnitude Data* (CSIRO, 2012).
"""
