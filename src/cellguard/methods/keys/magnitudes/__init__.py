"""Cell keys for sums: noise in proportion to the largest contributors, by a key that the records give a cell.

Thompson, Broadfoot and Elazar (2013), *Methodology for the automatic confidentialisation of statistical outputs from
remote servers at the Australian Bureau of Statistics*; Giessing and Tent (2019), *Concepts for generalising tools
implementing the cell key method to the case of continuous variables*.
"""
