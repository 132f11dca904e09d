#!/usr/bin/env python3
"""How long the decode device waits between steps, on the built-in model in three processes.

usage: idle_share.py PENSTOCK [--rounds 5] [--tokens 200] [--asks 4]
Starts a gateway, a prefill and a decode node on free ports, and runs 1, 4 and 16 clients in turns,
each of which asks `--asks` times, one after the other. idle share = idle / (idle + steps), from
the decode node's /metrics; idle counts only while rows are running. Prints the median round (and
the range) per number of clients. Exits 1 if an answer failed or was short.
"""
import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

CLIENTS = (1, 4, 16)
STEPS = "penstock_decode_steps_total"
IDLE = "penstock_decode_idle_seconds_total"
BUSY = "penstock_decode_step_time_seconds_sum"
ROWS = "penstock_decode_batch_rows_sum"


def free_ports(count):
    """Ports that were free a moment ago."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def cluster_file(ports):
    """The default cluster, but for its ports."""
    out = ""
    for i, (name, role) in enumerate([("g0", "gateway"), ("p0", "prefill"), ("d0", "decode")]):
        out += f'[[node]]\nname = "{name}"\nroles = ["{role}"]\n'
        out += f'listen = "127.0.0.1:{ports[i]}"\n'
        if role == "gateway":
            out += f'rpc = "127.0.0.1:{ports[3]}"\n'
        if role == "decode":
            out += f'metrics = "127.0.0.1:{ports[4]}"\n'
    return out + '[log]\nlevel = "error"\n'


def metrics(port):
    """The decode node's samples without labels, by name."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        text = page.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text, re.M)}


def ask(args, rpc, number, failures):
    """One client: its asks, one after the other."""
    for i in range(args.asks):
        command = [args.penstock, "ask", "--address", f"127.0.0.1:{rpc}", "--json", "--ignore-end",
                   "--max-tokens", str(args.tokens), "--", f"It was evening {number} {i} when"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0 or len(json.loads(done.stdout)["token_ids"]) != args.tokens:
            failures.append(done.stderr or done.stdout)


def one_round(args, ports, clients):
    """@returns what the decode node's counters grew by, and the seconds it took."""
    failures = []
    before, start = metrics(ports[4]), time.monotonic()
    threads = [threading.Thread(target=ask, args=(args, ports[3], n, failures))
               for n in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    took, after = time.monotonic() - start, metrics(ports[4])
    if failures:
        sys.exit(f"idle_share: an ask failed: {failures[0]}")
    return {name: after[name] - before[name] for name in (STEPS, IDLE, BUSY, ROWS)} | {"took": took}


def report(rounds):
    """Prints a line per number of clients."""
    print("clients  idle share (range)      idle us/step  step us  rows/step  tokens/s  load")
    for clients, all_of in rounds.items():
        share = [r[IDLE] / (r[IDLE] + r[BUSY]) for r in all_of]
        middle = statistics.median
        print(f"{clients:7}  {middle(share):6.1%} ({min(share):.1%}..{max(share):.1%})"
              f"{middle(r[IDLE] / r[STEPS] * 1e6 for r in all_of):17.0f}"
              f"{middle(r[BUSY] / r[STEPS] * 1e6 for r in all_of):9.0f}"
              f"{middle(r[ROWS] / r[STEPS] for r in all_of):11.1f}"
              f"{middle(r[ROWS] / r['took'] for r in all_of):10.0f}"
              f"{middle(r['load'] for r in all_of):6.1f}")


def main():
    """Starts the cluster, measures, stops it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("penstock")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--asks", type=int, default=4)
    args = parser.parse_args()
    ports = free_ports(5)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(cluster_file(ports))
        file.flush()
        up = subprocess.Popen([args.penstock, "up", file.name], stdout=subprocess.PIPE, text=True)
        try:
            if not up.stdout.readline().startswith("ready"):
                sys.exit("idle_share: the cluster did not start")
            one_round(args, ports, 1)  # Warms up.
            rounds = {clients: [] for clients in CLIENTS}
            for _ in range(args.rounds):
                for clients, all_of in rounds.items():
                    all_of.append(one_round(args, ports, clients) | {"load": os.getloadavg()[0]})
            report(rounds)
        finally:
            up.send_signal(signal.SIGINT)
            up.wait(timeout=30)


main()
