"""The module gives what the command line gives: module_test.py PROGRAM CHECKOUT"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import steptime

PROGRAM, CHECKOUT = sys.argv[1], pathlib.Path(sys.argv[2])
QUICKSTART = str(CHECKOUT / "configs/quickstart.json")
SLOW = {"name": "slow", "workload": {"trace": str(CHECKOUT / "traces/k80/googlenet.json")},
        "cluster": {"preset": "k80-10gbe", "nodes": 256}, "run": {"fidelity": "message"}}


def said(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=True).stdout


class Module(unittest.TestCase):
    def test_run_is_the_command_lines(self):
        for config in ("quickstart.json", "examples/ddp-a100.json", "examples/llama3-70b-3d.json"):
            path = str(CHECKOUT / "configs" / config)
            self.assertEqual(steptime._steptime.run(path, "", []), said("run", path, "--format", "json"))

    @unittest.skipUnless("STEPTIME_DRAWN" in os.environ, "no experiments were drawn")
    def test_drawn_experiments_have_the_programs_answer(self):
        lines = pathlib.Path(os.environ["STEPTIME_DRAWN"]).read_text().splitlines()
        self.assertEqual(len(lines), 20)
        for line in lines:
            drawn = json.loads(line)
            self.assertEqual(steptime.run(drawn["config"])["step_time_s"], drawn["step_time_s"], line)

    def test_sweep_is_the_command_lines(self):
        expected = said("sweep", QUICKSTART, "--format", "jsonl")
        for threads in (1, 2):
            self.assertEqual(steptime._steptime.sweep(QUICKSTART, "", [], threads), expected)
        rows = steptime.sweep(QUICKSTART, {"/sweep/~1cluster~1nodes": [4]})
        self.assertEqual([row["params"]["/cluster/nodes"] for row in rows], [4] * 4)

    def test_explain_and_advise_are_the_command_lines(self):
        sets = ["/cluster/nodes=16"]
        for verb in ("explain", "advise"):
            self.assertEqual(getattr(steptime._steptime, verb)(QUICKSTART, "", sets),
                             said(verb, QUICKSTART, "--set", sets[0], "--format", "json"))

    def test_an_experiment_of_keywords_is_the_config(self):
        config = json.loads((CHECKOUT / "configs/examples/ddp-a100.json").read_text())
        rows = steptime.sweep(steptime.Experiment(**config))
        self.assertEqual(rows, steptime.sweep(CHECKOUT / "configs/examples/ddp-a100.json"))

    def test_errors_are_exceptions_with_their_place(self):
        with self.assertRaises(steptime.InputError) as caught:
            steptime.run(QUICKSTART, {"/cluster/nodes": 0})
        self.assertEqual((caught.exception.file, caught.exception.pointer), (QUICKSTART, "/cluster/nodes"))
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(steptime.InputError) as caught:
            steptime.run({"name": "x", "workload": {}, "cluster": {}})
        self.assertEqual(caught.exception.file, "config")

    def test_names_and_schema_are_the_programs(self):
        # All catalogues have registered themselves in the module, too.
        self.assertEqual(steptime._steptime.names(), said("list", "--format", "json"))
        self.assertEqual(steptime._steptime.schema(), said("schema"))
        self.assertIn("mg-wfbp", steptime.names("schedule"))
        with self.assertRaisesRegex(ValueError, "kind: unknown 'nothing'; known: "):
            steptime.names("nothing")

    def test_a_collective_is_the_command_lines_and_kept(self):
        table = json.loads(said("collective", "--preset", "dgx-a100", "--gpus", "8", "--collective", "nccl",
                                "-b", "1M", "-e", "1M", "--format", "json"))
        ask = dict(preset="dgx-a100", gpus=8, operation="all-reduce", bytes=2**20)
        self.assertAlmostEqual(steptime.collective_time(**ask) * 1e6, table[0]["time_us"], places=6)
        start = time.perf_counter()
        for _ in range(10_000):
            steptime.collective_time(**ask)
        # 2 us a call are asked for; a loaded machine may take ten times as long.
        self.assertLess(time.perf_counter() - start, 0.2)

    def test_the_lock_is_released(self):
        done = []
        worker = threading.Thread(target=lambda: done.append(steptime.run(SLOW)["step_time_s"]))
        worker.start()
        ticks = 0
        while worker.is_alive():
            time.sleep(0.001)
            ticks += 1
        self.assertEqual(len(done), 1)
        self.assertGreater(ticks, 1)

    def test_signals_are_pythons(self):
        class Stopped(Exception):
            pass

        def stop(*_):
            raise Stopped

        before = signal.signal(signal.SIGALRM, stop)
        interrupts = signal.getsignal(signal.SIGINT)
        try:
            endless = {"/run/seed": {"from": 1, "to": 1_000_000, "plus": 1}}
            for call in (lambda: steptime.sweep({**SLOW, "sweep": endless}),
                         lambda: steptime.sweep({**SLOW, "sweep": endless}, threads=2)):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                with self.assertRaises(Stopped):
                    call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertIs(signal.getsignal(signal.SIGINT), interrupts)

    def test_says_nothing_by_itself(self):
        code = ("import steptime, sys\n"
                "steptime.run(sys.argv[1]); steptime.sweep(sys.argv[1], threads=2); steptime.explain(sys.argv[1])\n"
                "try: steptime.run(sys.argv[1], {'/cluster/nodes': 0})\n"
                "except steptime.InputError: pass\n")
        ran = subprocess.run([sys.executable, "-c", code, QUICKSTART], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
