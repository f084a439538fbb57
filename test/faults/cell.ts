import type { CellContext } from './cellContext.ts';
import type { FaultStackOptions } from './stack/startFaultStack.ts';

/** One fault and what must hold while and after it: a file in `cells/`, which exports it as `cell`. */
export interface Cell {
  /** What it is called on the command line and in the table. */
  name: string;
  /** What it belongs to: the part that is broken, or the race that is run. */
  group: string;
  /** What is done to the stack, in a line. */
  breaks: string;
  /** What must hold beside the books, in a line. */
  holds: string;
  /** Which event log the stack has. */
  eventLog: FaultStackOptions['eventLog'];
  /** Settings of services that only this cell wants: it gets a stack of its own. */
  serviceSettings?: FaultStackOptions['serviceSettings'];
  /** How many processes each service has, where it is not one: beside `serviceSettings`, as that stack is its own too. */
  replicas?: number;
  /** Breaks the stack under load and mends it. The books are checked afterwards, whatever it asserts itself. */
  run(context: CellContext): Promise<void>;
}
