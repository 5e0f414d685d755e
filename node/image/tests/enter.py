"""Becomes a program of an image: `enter.py ROOT FOLDER UID PROGRAM...`, in an unpacked root, as nobody with any rights."""

import ctypes
import os
import sys

PR_SET_NO_NEW_PRIVS = 38

root, folder, user, *program = sys.argv[1:]
os.chroot(root)
os.chdir(folder)
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
if ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
    sys.exit("the kernel does not know no_new_privs")
os.execve(program[0], program, os.environ)
