"""Shares an unmodified script's model calls over several processes.

The script runs in one process, the leader, as written. Only the call of a root module (a module
that is not called by another one) is replaced: its batch is cut into parts by sample, the leader
computes the first, replicas compute the others, and what comes back is one autograd function of
inputs and parameters. Replicas are forks of the leader and never run the script.

    install.py      what of torch is replaced
    controller.py   the one object of a leader: roots, replicas, steps, connection
    roots.py        a root module, and whether and how a call of it is shared
    rehearsal.py    the check, in a forked child, that a kind of call can be cut into parts
    call.py         one shared call: forward, backward, and computing it again after a loss
    group.py        the replicas: made, resized, stopped
    replica.py      the life of a replica
    fingerprint.py  what a forward may read and the leader may have changed
    values_read.py  what else it reads: environment, closures, global names
    batch_norm.py   statistics over all parts
    worth.py        whether sharing pays, by measurement
    steps.py        what counts as a step of the script
"""
