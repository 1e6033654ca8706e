"""What happens when the leader is killed, suspended, or has to start again elsewhere.

    holder.py          the process that stays when the leader dies
    page.py            the numbers that holder, leader and copy share
    sleeping_copy.py   a fork of the leader that goes on in its place
    safety.py          why no such fork can be made
    shared_memory.py   saves what a fork does not have for itself
    open_files.py      positions of open files
    file_journal.py    what other files were like when the copy was made
    output.py          what was printed already
    loader_workers.py  worker processes of data loaders, started again

Without a copy the script starts again, from a snapshot if there is one:

    recorder.py        writes down what a script does, or takes it through that again
    reads.py           the values of tensors that a script reads
    clocks.py          the times that it reads
    object_graph.py    its tensors and values by name
    saved_state.py     tensors, optimizers and random numbers as bytes
    snapshot.py        all of it
    snapshot_writer.py when snapshots are written
    job_files.py       the files that the job has written
    own_checkpoint.py  whether a script resumes by itself
    starting_again.py  which way is tried
"""
