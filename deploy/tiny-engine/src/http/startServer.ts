import { createServer, type RequestListener } from 'node:http';

/** How long vLLM keeps an idle connection. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000;

export interface RunningServer {
  /** Closes every connection at once, which aborts the answers on them. */
  close(): Promise<void>;
}

/** Rejects with one line when the address cannot be listened on. */
export function startServer(
  listener: RequestListener,
  { host, port }: { host: string; port: number },
): Promise<RunningServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, headersTimeout: 10_000 }, listener);
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(`tiny-engine cannot listen on ${host}:${port}: ${error.code}`, { cause: error })),
    );
    server.listen(port, host, () => resolve({ close }));
  });
}
