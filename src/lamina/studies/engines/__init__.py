"""Where a search runs: in this process, in processes of this machine, on a Dask cluster, on SLURM nodes.

An engine takes chunks of trials and gives back what came of them. It writes nothing: the journal of the study is
written by the process that asked for the search, and by nobody else.
"""
