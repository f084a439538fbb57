import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

// Run in the network of a pod: reads addresses from standard input and says of each, in their order, whether a connection opens.

const TIMEOUT_MS = 2_000;
const AT_ONCE = 50;

const targets: { host: string; port: number }[] = JSON.parse(await text(process.stdin));
const opened: boolean[] = [];
let next = 0;

async function work(): Promise<void> {
  while (next < targets.length) {
    const index = next;
    next += 1;
    opened[index] = await opens(targets[index] as { host: string; port: number });
  }
}

const opens = ({ host, port }: { host: string; port: number }): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS });
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });

await Promise.all(Array.from({ length: AT_ONCE }, work));
process.stdout.write(JSON.stringify(opened));
