import type { Client } from '../client.ts';
import { seenSchema } from '../order.ts';
import { type PythonProcess, startPython } from './startPython.ts';

interface PythonClient extends Omit<Client, 'open' | 'obey' | 'close'> {
  /** The program that does the orders. */
  script: string;
}

/** A client that runs in a Python process of its own. One that did not answer an order is given no other: the next is new. */
export function createPythonClient({ script, ...client }: PythonClient): Client {
  const started: PythonProcess[] = [];
  let idle: PythonProcess | undefined;

  function start(): PythonProcess {
    const python = startPython(script);
    started.push(python);
    return python;
  }
  return {
    ...client,
    async open() {
      idle = start();
      await idle.ready;
    },
    async obey(order, access) {
      const python = idle ?? start();
      idle = undefined;
      const answer = await python.ask({ order, access });
      idle = python;
      const { crash, ...seen } = JSON.parse(answer);
      if (crash) throw new Error(crash);
      return seenSchema.parse(seen);
    },
    async close() {
      await Promise.all(started.map((python) => python.close()));
    },
  };
}
