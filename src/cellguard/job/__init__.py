"""The job: a frozen, validated description of what to protect and how."""
