"""Run a command with nothing but the loopback interface: `python tools/offline.py COMMAND ...`.

The command sees `LAMINA_OFFLINE=1`. Where the system does not allow a network of one's own, a sentence says so and the
command runs as it is, without that variable.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x1 | 0x40


def alone() -> bool:
    """Leave all networks behind, as the superuser or, where that is allowed, as anybody."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_NETWORK) != 0:
        if libc.unshare(NEW_USER | NEW_NETWORK) != 0:
            return False
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))
    return True


def main() -> None:
    """Become the command."""
    try:
        cut = alone()
    except (OSError, AttributeError):  # not allowed, or not Linux
        cut = False
    if cut:
        os.environ["LAMINA_OFFLINE"] = "1"
    else:
        print("This system allows no network namespace: the command runs with the network as it is.", file=sys.stderr)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
