import type { LinkBehaviour } from '@turnpike/test-support/faultProxyBehaviour';
import type { CellContext } from './cellContext.ts';
import type { LinkChoice } from './stack/links.ts';

/** A way to break a stack, and to mend it. */
export interface Fault {
  strike(context: CellContext): Promise<void>;
  repair(context: CellContext): Promise<void>;
}

/** SIGKILL; then it is started again with the settings and the data it had. */
export function kill(part: string): Fault {
  return {
    strike: ({ stack }) => stack.parts.kill(part),
    repair: ({ stack }) => stack.parts.restart(part),
  };
}

/** SIGTERM, as a deployment does; then it is started again. */
export function end(part: string): Fault {
  return {
    strike: ({ stack }) => stack.parts.end(part),
    repair: ({ stack }) => stack.parts.restart(part),
  };
}

/** SIGSTOP: connections stay open and nothing is answered. */
export function freeze(part: string): Fault {
  return {
    strike: ({ stack }) => stack.parts.freeze(part),
    repair: async ({ stack }) => stack.parts.thaw(part),
  };
}

/** Lets connections pass on otherwise what they carry. Those from which something is lost are reset in the end. */
export function disturb(link: LinkChoice, behaviour: LinkBehaviour): Fault {
  return {
    strike: ({ stack }) => stack.links.become(link, behaviour),
    async repair({ stack: { links } }) {
      if (behaviour.blackHole || behaviour.holdReplies) links.reset(link);
      await links.become(link, {});
    },
  };
}

/** Resets every open connection; new ones are as before. */
export function reset(link: LinkChoice): Fault {
  return { strike: async ({ stack }) => stack.links.reset(link), repair: async () => undefined };
}
