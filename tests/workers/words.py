"""Workers that answer a word in small letters with it in capitals; some words misbehave."""

import functools
import json
import os
import subprocess
import sys
import time

from difficulty.workers.pool import Pool
from difficulty.workers.process import WorkerProcess
from difficulty.workers.work import Answers, Ready, Work


def serve(connection, progress):
    connection.send_bytes(b"null")
    number = 0
    while True:
        for word in json.loads(connection.recv_bytes()):
            progress.begin(number, time.monotonic())
            answer = answer_to(word)
            progress.end()
            connection.send_bytes(json.dumps([number, [answer]]).encode())
            number += 1


def answer_to(word):
    if word == "crash":
        os._exit(3)
    if word == "eat":
        try:
            bytearray(2**31)
        except MemoryError:
            return "too much"
    if word == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        return str(child.pid)
    if word == "pid":
        return str(os.getpid())
    for _ in range(int(word.partition("wait")[2] or 0)):
        time.sleep(0.1)  # one long sleep would be over if the machine stood still in it
    return word.upper()


def serve_deaf(connection, progress):
    """Say that all is ready, and take nothing."""
    connection.send_bytes(b"null")
    time.sleep(600)


def read(message):
    found = json.loads(message)
    return Ready() if found is None else Answers(first=found[0], answers=found[1])


def work(target="serve", **more):
    values = {
        "start": functools.partial(
            WorkerProcess, f"tests.workers.words:{target}", memory_bytes=2**30
        ),
        "write": lambda words: json.dumps(words).encode(),
        "read": read,
        "failed": lambda word, reason: f"{word}: {reason}",
        "fault": lambda code: "overdue" if code is None else f"died ({code})",
        "no_start": lambda code: f"workers do not start: {code}",
        "deadline_s": 10.0,
        "start_limit_s": 60.0,
        "message_bytes": 2**20,
        "look_ahead": 100,
        "chunk": (4, 4),
        "workers": 2,
    }
    return Work(**(values | more))


def answers(*words, **more):
    """What a pool answers to each word."""
    with Pool(work(**more)) as pool:
        return [found and found[0] for found in pool.answer_all(words)]
