"""The methods as jobs, files and pages know them: each module binds one folder of `protect` to the pipeline."""
