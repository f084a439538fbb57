/** A function by its file and place, and how often it ran. */
export type Counts = ReadonlyMap<string, number>;

/** Counts of a process's functions, by V8's precise coverage. */
export interface Coverage {
  /** The calls of each function of services and libs since the last take. */
  take(): Promise<Counts>;
  close(): void;
}

interface Report {
  result: { url: string; functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[] }[];
}
const OURS = /\/((?:services|libs)\/(?!.*node_modules).+)$/;

/** Counts the functions of a process that runs with `--inspect` on this port of the loopback address. */
export async function openCoverage(port: number): Promise<Coverage> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  if (!target) throw new Error('nothing to inspect');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const waiting = new Map<number, (result: unknown) => void>();
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown };
    waiting.get(id)?.(result);
    waiting.delete(id);
  };
  let last = 0;
  const ask = (method: string, params = {}): Promise<unknown> => {
    last += 1;
    const answered = new Promise((resolve) => waiting.set(last, resolve));
    socket.send(JSON.stringify({ id: last, method, params }));
    return answered;
  };
  await ask('Profiler.enable');
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return {
    async take() {
      const { result } = (await ask('Profiler.takePreciseCoverage')) as Report;
      const counts = new Map<string, number>();
      for (const { url, functions } of result) {
        const file = OURS.exec(url)?.[1];
        for (const { functionName, ranges } of functions) {
          const [{ startOffset, count } = { startOffset: 0, count: 0 }] = ranges;
          // The module itself is a function at 0.
          if (file && count > 0 && startOffset > 0) counts.set(`${file} ${functionName} ${startOffset}`, count);
        }
      }
      return counts;
    },
    close: () => socket.close(),
  };
}
