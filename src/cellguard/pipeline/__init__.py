"""The one pipeline that every face uses: from a job to its outcome, and from an output folder back."""

from cellguard.pipeline.folders import (
    audit_folder,
    compare_folders,
    diff_folders,
    explain_cell,
    infer_releases,
    verify,
    verify_inputs,
)
from cellguard.pipeline.jobs import assess_job, audit_job, run
from cellguard.pipeline.third_party_audit import audit_third_party, inferred_summary

__all__ = [
    "assess_job",
    "audit_folder",
    "audit_job",
    "audit_third_party",
    "compare_folders",
    "diff_folders",
    "explain_cell",
    "infer_releases",
    "inferred_summary",
    "run",
    "verify",
    "verify_inputs",
]
