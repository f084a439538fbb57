import { createServer } from 'node:net';

/** The first of the ports on which something listens already on this machine, or undefined when all are free. */
export async function findBusyPort<Entry extends { port: number }>(entries: Entry[]): Promise<Entry | undefined> {
  const busy = await Promise.all(entries.map(({ port }) => isBusy(port)));
  return entries.find((_, index) => busy[index]);
}

function isBusy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(true));
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}
