"""`t1 serve`: the same engine in a browser and over HTTP.

A job is (input file, options) -> (output files). `store.py` remembers jobs, `scheduler.py` hands them to
executors, `worker.py` is the process that does the work, `app.py` the HTTP interface over all of it.
"""
