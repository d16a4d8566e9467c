"""Worker processes: cases are handed over in batches, and a crash or a hang costs one of them."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.connection
import signal
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wia_conformance._cases import Case
from wia_conformance._outcome import Outcome
from wia_conformance._worker import Answer, Ready, Refused, work

__all__ = ["DeviceError", "Options", "run_cases"]

_START_TIMEOUT = 120.0
_LOG_TAIL = 2000
_BATCH = 128


class DeviceError(Exception):
    """The device can't be opened, so that no case can run."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run. `timeout` is in seconds and for one case.

    `modules` are imported by each worker first, to register drivers that nothing announces.
    `stop_after` ends the run at that many crashes and time-outs together; 0: never.
    """

    device: str
    jobs: int = 1
    seed: int = 0
    timeout: float = 30.0
    modules: tuple[str, ...] = ()
    stop_after: int = 100


class _Worker:
    """A process, and the cases that it has been given, the one that it is at first."""

    def __init__(self, options: Options, folder: Path) -> None:
        self._options = options
        # Started anew and not forked: a driver may have threads, and finds a clean process.
        context = multiprocessing.get_context("spawn")
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as log:
            self._log = Path(log.name)
        self.connection, theirs = context.Pipe()
        arguments = (theirs, options.device, options.modules, options.seed, str(self._log))
        self.process = context.Process(target=work, args=arguments)
        self.process.start()
        theirs.close()
        self.cases: deque[Case] = deque()
        self._printed = 0
        self.deadline = time.monotonic() + _START_TIMEOUT
        self.ready: Ready | None = None

    def give(self, cases: Sequence[Case]) -> None:
        """Hands cases over. A worker that has just died is noticed when its answer is due."""
        self.cases.extend(cases)
        self._begin(self._log.stat().st_size)
        try:
            self.connection.send(cases)
        except OSError:
            return

    def done(self, printed: int) -> Case:
        """The case that it has just answered; from now on it is at the next one."""
        self._begin(printed)
        return self.cases.popleft()

    def _begin(self, printed: int) -> None:
        self._printed = printed
        self.deadline = time.monotonic() + self._options.timeout

    def receive(self) -> object:
        """What it has to say; None when it has died."""
        try:
            return self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            return None

    def describe_death(self) -> str:
        """How the process ended, and the last that it printed."""
        self.process.join(10)
        code = self.process.exitcode
        if code is not None and code < 0:
            name = signal.strsignal(-code) or "without a name"
            end = f"The process was ended by signal {-code} ({name})."
        else:
            end = f"The process ended with exit code {code}."
        printed = self._log.read_bytes()[self._printed :].decode("utf-8", "replace")
        return f"{end}\n{printed[-_LOG_TAIL:].strip()}".strip()

    def stop(self, *, kill: bool) -> None:
        """Ends the process, by force if it doesn't end by itself."""
        if not kill:
            try:
                self.connection.send(None)
            except OSError:
                kill = True
        if not kill:
            self.process.join(10)
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_cases(
    cases: Sequence[Case], options: Options
) -> Generator[Ready | tuple[Case, Outcome], None, None]:
    """Runs cases; yields what the device is, then each case with its outcome as it is done.

    Processes are started with Python's multiprocessing, so that a script that calls this does it
    below `if __name__ == "__main__":`. Closing the generator ends them.

    Raises DeviceError when the device can't be opened at the start.
    """
    with tempfile.TemporaryDirectory(prefix="wia-conformance-") as folder:
        pool = _Pool(cases, options, Path(folder))
        try:
            yield from pool.run()
        except BaseException:
            pool.stop(kill=True)
            raise
        pool.stop(kill=False)


class _Pool:
    """The workers, and the batches that are still to do, the next one last.

    A batch has the cases of one operation and dtype: many of them have inputs and results in
    common, which a worker keeps.
    """

    def __init__(self, cases: Sequence[Case], options: Options, folder: Path) -> None:
        groups = itertools.groupby(cases, lambda case: (case.op, case.dtype))
        found = [list(group) for _, group in groups]
        self._waiting = [
            group[begin : begin + _BATCH]
            for group in reversed(found)
            for begin in reversed(range(0, len(group), _BATCH))
        ]
        self._options = options
        self._folder = folder
        self._workers: list[_Worker] = []
        self._deaths = 0

    def run(self) -> Iterator[Ready | tuple[Case, Outcome]]:
        told = False
        self._workers.append(_Worker(self._options, self._folder))
        while self._workers:
            for worker in self._wait():
                message = worker.receive()
                if isinstance(message, Ready):
                    worker.ready = message
                    if not told:
                        told = True
                        yield message
                        self._fill_up()
                elif isinstance(message, Answer):
                    yield worker.done(message.printed), message.outcome
                else:
                    yield from self._bury(worker, message, told)
                    continue
                if not worker.cases:
                    self._hand_out(worker)

    def _fill_up(self) -> None:
        """Starts as many workers as there may be."""
        while len(self._workers) < min(self._options.jobs, len(self._waiting)):
            self._workers.append(_Worker(self._options, self._folder))

    def _hand_out(self, worker: _Worker) -> None:
        if self._waiting:
            worker.give(self._waiting.pop())
        else:
            worker.stop(kill=False)
            self._workers.remove(worker)

    def _wait(self) -> list[_Worker]:
        """The workers that have something to say, have died, or are too late."""
        first = min(worker.deadline for worker in self._workers)
        handles = [item for w in self._workers for item in (w.connection, w.process.sentinel)]
        found = multiprocessing.connection.wait(handles, max(0.0, first - time.monotonic()))
        now = time.monotonic()
        return [
            worker
            for worker in self._workers
            if worker.connection in found
            or worker.process.sentinel in found
            or worker.deadline <= now
        ]

    def _bury(self, worker: _Worker, message: object, told: bool) -> Iterator[tuple[Case, Outcome]]:
        """A worker that died or is too late: its case has its outcome, and another one starts."""
        late = message is None and worker.process.is_alive() and worker.deadline <= time.monotonic()
        limit = self._options.timeout if worker.cases else _START_TIMEOUT
        if isinstance(message, Refused):
            reason = message.reason
        elif late:
            reason = f"It did not answer within {limit:g} s."
        else:
            reason = worker.describe_death()
        worker.stop(kill=True)
        self._workers.remove(worker)
        if worker.ready is None and not told:
            raise DeviceError(reason)
        if not worker.cases and self._waiting:
            # It died while it started: without the case that it was to get, this could go on
            # for ever.
            worker.cases.extend(self._waiting.pop())
            reason = f"A new process for the case did not start. {reason}"
        if worker.cases:
            case = worker.cases.popleft()
            yield case, Outcome("timeout", reason, limit) if late else Outcome("crash", reason)
        if worker.cases:
            self._waiting.append(list(worker.cases))
        self._deaths += 1
        if 0 < self._options.stop_after <= self._deaths:
            self._waiting.clear()
        if self._waiting:
            self._workers.append(_Worker(self._options, self._folder))

    def stop(self, *, kill: bool) -> None:
        for worker in self._workers:
            worker.stop(kill=kill)
        self._workers.clear()
