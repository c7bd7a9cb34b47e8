"""A provider on loopback: real sockets, five vendors' shapes, scripted faults, a journal of what arrived."""
