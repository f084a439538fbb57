import type { StackOptions } from '@turnpike/local-stack/startStack';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import type { LinkBehaviour } from '@turnpike/test-support/faultProxyBehaviour';

/** A way from one part of a stack to another. */
export interface Link {
  from: string;
  to: string;
  proxy: FaultProxy;
}

export const toPart = (to: string) => (link: Link) => link.to === to;
export const between = (from: string, to: string) => (link: Link) => link.from === from && link.to === to;

const AWAY: LinkBehaviour = { refuse: true };

/** The ways between the parts of one stack, which a test spoils. */
export interface Links {
  openLink: NonNullable<StackOptions['openLink']>;
  /** Spoils every way that `matches` while `act` runs. By default connections are refused, and open ones reset. */
  during<Result>(
    matches: (link: Link) => boolean,
    act: () => Promise<Result>,
    behaviour?: LinkBehaviour,
  ): Promise<Result>;
  close(): Promise<void>;
}

export function createLinks(): Links {
  const links: Link[] = [];
  return {
    async openLink({ from, to, port }) {
      const proxy = await openFaultProxy(port);
      links.push({ from, to, proxy });
      return proxy.port;
    },
    async during(matches, act, behaviour = AWAY) {
      const spoilt = links.filter(matches);
      if (spoilt.length === 0) throw new Error('no such way between parts');
      await Promise.all(spoilt.map(({ proxy }) => proxy.become(behaviour)));
      if (behaviour === AWAY) for (const { proxy } of spoilt) proxy.reset();
      try {
        return await act();
      } finally {
        await Promise.all(spoilt.map(({ proxy }) => proxy.become({})));
        for (const { proxy } of spoilt) proxy.reset();
      }
    },
    async close() {
      await Promise.all(links.map(({ proxy }) => proxy.close()));
    },
  };
}
