import type { LinkReplica, StackLink } from '@turnpike/local-stack/stackLinks';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import type { LinkBehaviour } from '@turnpike/test-support/faultProxyBehaviour';
import { startBalancers } from '@turnpike/test-support/startBalancers';

/** Which links are meant: all those that have what is named. `to: 'engines'` is every engine. */
export interface LinkChoice {
  from?: StackLink['from'];
  to?: StackLink['to'] | 'engines';
}

/** A proxy on every connection between two processes of a stack. */
export class Links {
  readonly #links: { link: StackLink; proxy: FaultProxy }[] = [];
  readonly #balancers = startBalancers();

  /** Opens the proxy of one link, and a load balancer behind it where it leads to several processes. */
  async open(link: StackLink): Promise<number> {
    const proxy = await openFaultProxy(link.replicas ? await this.#balancers.open(link.replicas) : link.port);
    this.#links.push({ link, proxy });
    return proxy.port;
  }

  /** Opens one port for clients of several edges: a load balancer, and no proxy. */
  openClients(edges: readonly LinkReplica[]): Promise<number> {
    return this.#balancers.open(edges);
  }

  /** Sets the behavior of the chosen links from now on. */
  async become(choice: LinkChoice, behaviour: LinkBehaviour): Promise<void> {
    await Promise.all(this.#chosen(choice).map((proxy) => proxy.become(behaviour)));
  }

  /** Resets every open connection of the chosen links. */
  reset(choice: LinkChoice): void {
    for (const proxy of this.#chosen(choice)) proxy.reset();
  }

  /** Loses every open connection of the chosen links for good, without a word to either side. New ones are as before. */
  lose(choice: LinkChoice): void {
    for (const proxy of this.#chosen(choice)) proxy.lose();
  }

  /** New connections of the chosen links lead to another port from now on; open ones stay where they are. */
  redirect(choice: LinkChoice, port: number): void {
    for (const proxy of this.#chosen(choice)) proxy.redirect(port);
  }

  /** The ports by which the chosen links are reached. */
  portsOf(choice: LinkChoice): number[] {
    return this.#chosen(choice).map(({ port }) => port);
  }

  /** Returns the listener of the part behind the chosen links. */
  targetOf(choice: LinkChoice): number {
    const [link] = this.#listChosen(choice);
    if (!link) throw new Error(`there is no link to ${choice.to}`);
    return link.link.port;
  }

  /** All links pass everything on. */
  async mend(): Promise<void> {
    await Promise.all(this.#links.map(({ proxy }) => proxy.become({})));
  }

  async close(): Promise<void> {
    await Promise.all([this.#balancers.close(), ...this.#links.map(({ proxy }) => proxy.close())]);
  }

  #chosen(choice: LinkChoice): FaultProxy[] {
    return this.#listChosen(choice).map(({ proxy }) => proxy);
  }

  #listChosen({ from, to }: LinkChoice): { link: StackLink; proxy: FaultProxy }[] {
    const matches = ({ link }: { link: StackLink }) =>
      (from === undefined || link.from === from) &&
      (to === undefined || link.to === to || (to === 'engines' && link.to.startsWith('engines-')));
    const chosen = this.#links.filter(matches);
    if (chosen.length === 0) throw new Error(`there is no link from ${from ?? 'anybody'} to ${to ?? 'anybody'}`);
    return chosen;
  }
}
