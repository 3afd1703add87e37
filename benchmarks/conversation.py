"""A peer that stays: where its start takes much longer than what is asked of it."""

import json
import select
import subprocess


class Conversation:
    """A process that answers each line of JSON with one. While it is asked nothing it waits, and uses no processor."""

    def __init__(self, command, environment, folder, log):
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen(list(map(str, command)), env=environment, cwd=folder, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True)

    def ask(self, question, timeout_s):
        """Its answer. Throws TimeoutError, and EOFError with what it complained of if it has ended."""
        try:
            print(json.dumps(question), file=self.process.stdin, flush=True)
            if not select.select([self.process.stdout], [], [], timeout_s)[0]:
                raise TimeoutError(f"no answer within {timeout_s} s")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise EOFError(f"it ended with {self.process.wait()}:\n{self.log.read_text()}")
        return json.loads(line)

    def close(self):
        self.process.kill()
        self.process.communicate()
